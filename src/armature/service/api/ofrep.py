"""OFREP, OpenFeature's remote evaluation protocol: an experiment is a flag, its arms are variants.

An evaluation is a decision. The context's `targetingKey` is the unit; other attributes say the
segment and the visit, as the spec's `ofrep` maps them. The same flag, unit, segment and visit get
the same decision, however often it is evaluated: so a reward can be told by these, too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

from fastapi import Request
from starlette.responses import Response

from armature.service.api.router import Answer, Routes, json_of
from armature.service.domain import reading
from armature.service.domain.backend import Backend
from armature.service.domain.commands import Decide, DecisionOfRequest
from armature.service.domain.values import Attributes
from armature.service.limits import IDENTIFIER, Refused

LONG = "targetingKey must be a text of 1 to 200 printable characters."

table = Routes()


class UnevaluatedError(Exception):
    """An evaluation that is refused, in the protocol's words."""

    def __init__(self, code: str, detail: str, status: int = 400) -> None:
        super().__init__(detail)
        self.code, self.detail, self.status = code, detail, status

    def answer(self, key: str | None = None) -> Answer:
        """The same as an answer about a flag, or about all."""
        said = {"errorCode": self.code, "errorDetails": self.detail}
        return Answer(said if key is None else {"key": key, **said}, self.status)


@table.route("POST", "/ofrep/v1/evaluate/flags/{key}", "decide")
async def evaluate(request: Request, key: str) -> Response:
    """Evaluate one flag: decide for the unit."""
    try:
        context = _context_of(request, await request.body())
        return Answer(await _evaluated(request.app.state.backend, key, context))
    except UnevaluatedError as problem:
        return problem.answer(key)


@table.route("POST", "/ofrep/v1/evaluate/flags", "decide")
async def evaluate_all(request: Request) -> Response:
    """Evaluate all running experiments whose spec has `ofrep`; 304 if nothing is new."""
    backend: Backend = request.app.state.backend
    try:
        context = _context_of(request, await request.body())
        _unit_of(context)
        keys = await backend.read(reading.flags)
    except UnevaluatedError as problem:
        return problem.answer()
    flags = await asyncio.gather(*(_flag(backend, key, context) for key in keys))
    body = Answer({"flags": flags})
    etag = f'"{hashlib.sha256(body.body).hexdigest()[:32]}"'
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers={"ETag": etag})
    body.headers["ETag"] = etag
    return body


@table.route("POST", "/ofrep/v1/rewards", "reward")
async def reward(request: Request) -> Response:
    """The reward of the decision that was made for a flag and a context."""
    backend: Backend = request.app.state.backend
    body = json_of(request, await request.body())
    given = body if isinstance(body, dict) else {}
    key, value = given.get("flag"), given.get("value", "")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (set(given) == {"flag", "context", "value"} and isinstance(key, str) and number):
        raise Refused(422, 'give "flag", "context" as in the evaluation, and "value", a number.')
    try:
        context = _checked_context(given["context"])
        *_, request_id = await _meant(backend, key, context)
        decision = await backend.run(key, DecisionOfRequest(request_id))
    except UnevaluatedError as problem:
        raise Refused(422, problem.detail) from None
    (result,) = await backend.reward([(decision, float(value))])
    if result.code >= 400:
        raise Refused(result.code, result.detail or result.status)
    answer = {"status": result.status, "detail": result.detail, "decision": decision}
    return Answer(answer, result.code)


async def _flag(backend: Backend, key: str, context: dict[str, Any]) -> dict[str, Any]:
    """One flag of several; an error is its own."""
    try:
        return await _evaluated(backend, key, context)
    except UnevaluatedError as problem:
        return {"key": key, "errorCode": problem.code, "errorDetails": problem.detail}


async def _evaluated(backend: Backend, key: str, context: dict[str, Any]) -> dict[str, Any]:
    try:
        unit, segment, request_id = await _meant(backend, key, context)
        (made,) = await backend.run(key, Decide(1, unit, request_id, segment))
    except Refused as refused:
        if refused.code == 409:  # it makes no decisions now: the caller's own default counts
            return {"key": key, "reason": "DISABLED", "variant": None, "metadata": {}}
        raise _in_words(refused) from None
    said = {"decision": made["id"], "probability": made["probability"]}
    said["segment"] = made.get("segment")
    return {
        "key": key,
        "reason": "SPLIT",
        "variant": str(made["arm"]),
        "value": made["arm"],
        "metadata": {name: value for name, value in said.items() if value is not None},
    }


def _in_words(refused: Refused) -> UnevaluatedError:
    """A refusal of the service in the protocol's codes."""
    if refused.code == 404:
        return UnevaluatedError("FLAG_NOT_FOUND", refused.detail, 404)
    if refused.code == 422:
        return UnevaluatedError("INVALID_CONTEXT", refused.detail)
    return UnevaluatedError("GENERAL", refused.detail, refused.code)


async def _meant(backend: Backend, key: str, context: dict[str, Any]) -> tuple[str, Any, str]:
    """The unit, the segment, and the id of the request that such an evaluation makes."""
    unit = _unit_of(context)
    try:
        attributes: Attributes = await backend.attributes_of(key)
    except Refused as refused:
        raise _in_words(refused) from None
    segment = _attribute(context, attributes.segment)
    visit = _attribute(context, attributes.visit)
    told = json.dumps([unit, segment, visit])
    return unit, segment, f"ofrep {hashlib.sha256(told.encode()).hexdigest()[:40]}"


def _attribute(context: dict[str, Any], name: str | None) -> Any:
    value = None if name is None else context.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (str, int, float))):
        raise UnevaluatedError(
            "INVALID_CONTEXT", f"the attribute {name!r} must be a text or a number."
        )
    return value


def _unit_of(context: dict[str, Any]) -> str:
    unit = context.get("targetingKey")
    if unit is None or unit == "":
        raise UnevaluatedError(
            "TARGETING_KEY_MISSING", "the context needs a targetingKey: whom it is for."
        )
    if not (isinstance(unit, str) and len(unit) <= IDENTIFIER and unit.isprintable()):
        raise UnevaluatedError("INVALID_CONTEXT", LONG)
    return unit


def _context_of(request: Request, body: bytes) -> dict[str, Any]:
    try:
        parsed = json_of(request, body)
    except Refused as refused:
        raise UnevaluatedError("PARSE_ERROR", refused.detail) from None
    return _checked_context(parsed.get("context") if isinstance(parsed, dict) else None)


def _checked_context(context: Any) -> dict[str, Any]:
    if not isinstance(context, dict):
        raise UnevaluatedError("INVALID_CONTEXT", 'send {"context": {"targetingKey": ...}}.')
    return context
