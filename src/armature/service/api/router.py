"""The one way in: a request is matched with an entry of one table, admitted, parsed and answered.

FastAPI describes the endpoints for OpenAPI, from their signatures. It does not serve them: what it
would do for a request (middleware, dependencies, forms, files) takes longer than a decision.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, get_type_hints

from fastapi import FastAPI, Request
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from armature.errors import ArmatureError
from armature.service import metrics
from armature.service.api.access import admit
from armature.service.db.sqlite import Moved
from armature.service.limits import Limits, Refused

Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])
Refuse = Callable[[Request, Refused], Awaitable[Response]]
Admit = Callable[[Request, str], Awaitable[None]]
REFUSAL_HEADERS = {503: {"Retry-After": "1"}, 401: {"WWW-Authenticate": "Bearer"}}

log = logging.getLogger("armature.service")


class Answer(Response):
    """JSON, in ASCII: any text can be written, whatever was sent."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return _ENCODER.encode(content).encode("ascii")


async def refuse(request: Request, refused: Refused) -> Response:
    """A refusal as JSON."""
    return Answer({"detail": refused.detail}, refused.code)


class Entry:
    """A method and an address, and the endpoint f(request, names in the path, query, body).

    `scope` is what a key must be good for, which `admit` checks; None: any key or none will do.
    `described` are FastAPI's words for the description; None: the description leaves it out.
    """

    def __init__(
        self,
        method: str,
        path: str,
        endpoint: Callable[..., Awaitable[Response]],
        scope: str | None,
        admit: Admit,
        described: dict[str, Any] | None,
    ) -> None:
        self.method, self.path, self.endpoint = method, path, endpoint
        self.scope, self._admit, self.described = scope, admit, described
        self.pattern, _, _ = compile_path(path)
        models = get_type_hints(endpoint)
        self._query, self._body = models.get("query"), models.get("body")

    async def answer(self, request: Request) -> Response:
        """Admit a request, parse it, and call the endpoint."""
        if self.scope is not None:
            await self._admit(request, self.scope)
        arguments: dict[str, Any] = dict(request.path_params)
        if self._query is not None:
            arguments["query"] = self._query.model_validate(dict(request.query_params))
        if self._body is not None:
            content = _json_of(request, await request.body())
            arguments["body"] = self._body.model_validate(content)
        return await self.endpoint(request, **arguments)


class Table(list[Entry]):
    """Entries, in the order in which they are tried, and how requests to them are admitted."""

    def __init__(self, admit: Admit = admit) -> None:
        super().__init__()
        self._admit = admit

    def entry(
        self, method: str, path: str, scope: str | None = None, **described: Any
    ) -> Callable[[Endpoint], Endpoint]:
        """Add an endpoint. With keywords, FastAPI describes it, and they are for FastAPI."""

        def add(endpoint: Endpoint) -> Endpoint:
            self.append(Entry(method, path, endpoint, scope, self._admit, described or None))
            return endpoint

        return add


class _Incoming(Request):
    """A request whose body is read as far as it may go."""

    async def body(self) -> bytes:
        """The whole body."""
        if not hasattr(self, "_body"):
            most: int = self.app.limits.body
            length = self.headers.get("content-length", "")
            size = int(length[:20]) if length.isdigit() else 0
            chunks: list[bytes] = []
            if size <= most:
                size = 0
                async for chunk in self.stream():
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > most:
                        break
            if size > most:
                raise Refused(413, f"a request may have {most} bytes at most.")
            self._body = b"".join(chunks)
        return self._body


class Service(FastAPI):
    """An application that answers from its own table; FastAPI describes it."""

    def __init__(self, tables: list[Table], limits: Limits, refuse: Refuse, **options: Any) -> None:
        super().__init__(openapi_url=None, docs_url=None, redoc_url=None, **options)
        self.limits, self._refuse = limits, refuse
        self._entries = [entry for table in tables for entry in table]
        for entry in self._entries:
            if entry.described is not None:
                scope = {} if entry.scope is None else {"x-scope": entry.scope}
                self.add_api_route(
                    entry.path,
                    entry.endpoint,
                    methods=[entry.method],
                    openapi_extra=scope,
                    **entry.described,
                )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count it."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        request = _Incoming(scope, receive, send)
        path, code = "other", 500
        try:
            try:
                entry = self._find(scope)
                path = entry.path
                answer = await entry.answer(request)
            except Exception as error:
                refused = _refusal_of(error)
                answer = await self._refuse(request, refused)
                answer.headers.update({**REFUSAL_HEADERS.get(refused.code, {}), **refused.headers})
            code = answer.status_code
            if scope["method"] == "HEAD":
                answer.body = b""  # the headers say how long it would be
            await answer(scope, receive, send)
        finally:
            _counter(path, code).inc()

    def _find(self, scope: Scope) -> Entry:
        """The entry of a request; what stands in the path's place of names goes to the scope."""
        path = scope["path"].removeprefix(scope["root_path"])
        others = []
        for entry in self._entries:
            match = entry.pattern.fullmatch(path)
            if match is not None:
                if entry.method == scope["method"]:
                    scope["path_params"] = match.groupdict()
                    return entry
                others.append(entry.method)
        if others:
            known = ", ".join(others)
            sentence = f"this address takes {known}, not {scope['method']}."
            raise Refused(405, sentence, {"Allow": known})
        raise Refused(404, "there is nothing at this address.")


@functools.cache
def _counter(path: str, code: int) -> Any:
    return metrics.REQUESTS.labels(path, code)


def _refusal_of(error: Exception) -> Refused:
    """How an error is answered; raised again if it is one of the program itself."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, ArmatureError):
        return Refused(422, str(error))
    if isinstance(error, ValidationError):
        return Refused(422, "; ".join(_sentence(found) for found in error.errors()[:5]))
    if isinstance(error, ClientDisconnect):
        return Refused(408, "the request ended before it had arrived.")
    if isinstance(error, SQLAlchemyError):
        log.warning("the database failed: %s", error)
        moved = isinstance(error, Moved)
        return Refused(
            503, f"{error}." if moved else "the database can't be reached now: try again."
        )
    raise error


def _sentence(found: Any) -> str:
    """What is wrong with one part of a request."""
    place = ".".join(str(part) for part in found["loc"])
    message = found["msg"][:1].lower() + found["msg"][1:]
    if found["type"] == "predicate_failed":
        message = "only printable characters"
    return f"{place[:200]}: {message}" if place else f"the body: {message}"


def _json_of(request: Request, text: bytes) -> Any:
    """What a body says, or a refusal."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(422, "the body must be JSON: send the header Content-Type: application/json.")
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON that can be read: {error}.") from None


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is none of JSON's values")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
