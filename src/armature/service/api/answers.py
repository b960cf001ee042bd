"""Answers: JSON that never fails to be written, and refusals with a sentence."""

from __future__ import annotations

import json
import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from armature.errors import ArmatureError
from armature.service.db.sqlite import Moved
from armature.service.limits import Refused

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
log = logging.getLogger("armature.service")


class Answer(Response):
    """JSON, in ASCII: any text can be written, whatever was sent."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return _ENCODER.encode(content).encode("ascii")


def refusal(code: int, detail: str) -> Answer:
    """A refusal, with what a client should know of when and how to try again."""
    headers = {}
    if code == 503:
        headers["Retry-After"] = "1"
    elif code == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Answer({"detail": detail}, code, headers)


def add_handlers(app: FastAPI) -> None:
    """Answer every error with a code and a sentence."""

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Answer:
        return refusal(error.code, error.detail)

    @app.exception_handler(ArmatureError)
    async def wrong(request: Request, error: ArmatureError) -> Answer:
        return refusal(422, str(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> Answer:
        return refusal(422, "; ".join(_sentence(found) for found in error.errors()[:5]))

    @app.exception_handler(HTTPException)
    async def impossible(request: Request, error: HTTPException) -> Answer:
        answer = refusal(error.status_code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Answer:
        return refusal(408, "the request ended before it had arrived.")

    @app.exception_handler(SQLAlchemyError)
    async def database(request: Request, error: SQLAlchemyError) -> Answer:
        log.warning("the database failed: %s", error)
        moved = isinstance(error, Moved)
        return refusal(
            503, f"{error}." if moved else "the database can't be reached now: try again."
        )


def _sentence(found: Any) -> str:
    """What is wrong with one part of a request."""
    place = ".".join(str(part) for part in found["loc"] if part != "body")
    message = found["msg"][:1].lower() + found["msg"][1:]
    return f"{place[:200]}: {message}" if place else f"the body: {message}"
