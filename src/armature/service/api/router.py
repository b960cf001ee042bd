"""The one way in: a request is matched with a route of one table, admitted, parsed and answered.

FastAPI describes the endpoints for OpenAPI, from their signatures. It does not serve them: what it
would do for a request (middleware, dependencies, forms, files) takes longer than a decision.

Programs send a key in a header; the page also takes one from a cookie, which counts there only,
never under /v1.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, get_type_hints

from fastapi import FastAPI, Request
from pydantic import ValidationError
from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from armature.errors import ArmatureError
from armature.service import metrics
from armature.service.db.keys import Key, hash_of, read_keys
from armature.service.db.sqlite import Moved, passing
from armature.service.limits import LOOPBACK, Refused, ServiceLimits

Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])
Refuse = Callable[[Request, Refused], Awaitable[Response]]
Admit = Callable[[Request, str], Awaitable[None]]
FRESH = 2.0  # seconds for which the keys that were read count: a revoked one ends within them
CLOSED = (
    "the last key was revoked, so this server refuses everything. Make a key with "
    "`armature keys create`, or restart the server on the loopback address, where it needs none."
)
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


class Guard:
    """Whether a token is good for a scope, from keys that are read again every few seconds."""

    def __init__(self, engine: Engine, open_without_keys: bool) -> None:
        self._engine, self._open = engine, open_without_keys
        self._had_keys = False  # then it stays closed, also when the last one is revoked
        self._keys: dict[str, Key] = {}
        self._ahead = 0.0  # of the database's clock over the seconds that pass here
        self._read_at = -FRESH

    @property
    def is_stale(self) -> bool:
        """Whether the keys must be read again before they are asked about."""
        return time.monotonic() - self._read_at > FRESH

    def refresh(self) -> None:
        """Read the keys."""
        before = self._keys
        self._keys, now = read_keys(self._engine)
        if before and not self._keys:
            log.warning("%s", CLOSED)
        self._had_keys = self._had_keys or bool(self._keys)
        self._ahead = now - passing()
        self._read_at = time.monotonic()

    @property
    def is_open(self) -> bool:
        """Whether everything is allowed: no API keys exist and the server listens on loopback."""
        return self._open and not self._had_keys

    def check(self, token: str | None, scope: str) -> None:
        """Refuse a token that is not good for a scope."""
        if not self._keys:
            raise Refused(401, CLOSED)
        if token is None:
            raise Refused(401, "a key is needed: send the header Authorization: Bearer <key>.")
        key = self._keys.get(hash_of(token))
        if key is None:
            raise Refused(401, "the key is not known.")
        if key.expires_at is not None and key.expires_at <= passing() + self._ahead:
            raise Refused(401, "the key has expired.")
        if not key.may(scope):
            raise Refused(403, f"this needs a key with the scope {scope!r}, which yours lacks.")


async def admit(request: Request, scope: str, key: str | None = None) -> None:
    """Refuse a request without a key for the scope: the one that is given, or that it sends."""
    guard: Guard = request.app.state.guard
    if guard.is_stale:
        await asyncio.to_thread(guard.refresh)
    if guard.is_open:
        check_host(request)
    else:
        guard.check(key or bearer_of(request), scope)


def bearer_of(request: Request) -> str | None:
    """The key that a program sends."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def check_host(request: Request) -> None:
    """Without keys, refuse what a page of another site makes a browser send under its own name."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if name.strip("[]") not in LOOPBACK:
        raise Refused(
            403, "this server has no keys, so it answers only at localhost: make a key first."
        )
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise Refused(403, "requests from pages of another site are refused.")


class Route:
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
            content = json_of(request, await request.body())
            arguments["body"] = self._body.model_validate(content)
        return await self.endpoint(request, **arguments)


class Routes(list[Route]):
    """Routes, in the order in which they are tried, and how requests to them are admitted."""

    def __init__(self, admit: Admit = admit) -> None:
        super().__init__()
        self._admit = admit

    def route(
        self, method: str, path: str, scope: str | None = None, **described: Any
    ) -> Callable[[Endpoint], Endpoint]:
        """Add an endpoint. With keywords, FastAPI describes it, and they are for FastAPI."""

        def add(endpoint: Endpoint) -> Endpoint:
            self.append(Route(method, path, endpoint, scope, self._admit, described or None))
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

    def __init__(
        self, tables: list[Routes], limits: ServiceLimits, refuse: Refuse, **options: Any
    ) -> None:
        super().__init__(openapi_url=None, docs_url=None, redoc_url=None, **options)
        self.limits, self._refuse = limits, refuse
        self._table = [route for table in tables for route in table]
        for route in self._table:
            if route.described is not None:
                scope = {} if route.scope is None else {"x-scope": route.scope}
                self.add_api_route(
                    route.path,
                    route.endpoint,
                    methods=[route.method],
                    openapi_extra=scope,
                    **route.described,
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
                route = self._find(scope)
                path = route.path
                answer = await route.answer(request)
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

    def _find(self, scope: Scope) -> Route:
        """The route of a request; what stands in the path's place of names goes to the scope."""
        path = scope["path"].removeprefix(scope["root_path"])
        others = []
        for route in self._table:
            match = route.pattern.fullmatch(path)
            if match is not None:
                if route.method == scope["method"]:
                    scope["path_params"] = match.groupdict()
                    return route
                others.append(route.method)
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
    """A sentence on the error in one part of a request."""
    place = ".".join(str(part) for part in found["loc"])
    message = found["msg"][:1].lower() + found["msg"][1:]
    if found["type"] == "predicate_failed":
        message = "only printable characters"
    return f"{place[:200]}: {message}" if place else f"the body: {message}"


def json_of(request: Request, text: bytes) -> Any:
    """The JSON in a body, or a refusal."""
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
