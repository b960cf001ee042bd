"""Who may do what, and how much one may send."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable

from fastapi import Request
from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from armature.service import metrics
from armature.service.api.answers import refusal
from armature.service.db.keys import Guard
from armature.service.limits import Refused

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


async def admit(request: Request, scope: str) -> None:
    """Refuse whoever has no key for the scope."""
    guard: Guard = request.app.state.guard
    if guard.is_stale:
        await asyncio.to_thread(guard.refresh)
    if guard.is_open:
        check_host(request)
        return
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    objection = guard.objection(token.strip() if kind.lower() == "bearer" else None, scope)
    if objection is not None:
        raise Refused(*objection)


def check_host(request: Request) -> None:
    """Without keys, refuse what a page of another site makes a browser send under its own name."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if name not in LOOPBACK:
        raise Refused(
            403, "without keys this server answers to localhost only: make a key to use a name."
        )
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise Refused(403, "requests from pages of another site are refused.")


class Doorman:
    """Refuses bodies that are too large, however they come, and counts requests."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        code = 500

        async def sending(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)

        length, chunked = body_length(scope)
        try:
            if length > self.most:
                await refusal(413, self._sentence)(scope, receive, sending)
            elif chunked:
                await self._pass_on_chunks(scope, receive, sending)
            else:
                await self.app(scope, receive, sending)
        finally:
            count(getattr(scope.get("route"), "path", "other"), code)

    @property
    def _sentence(self) -> str:
        return f"a request may have {self.most} bytes at most."

    async def _pass_on_chunks(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read a body of unknown length first, as far as it may go."""
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self.most:
                await refusal(413, self._sentence)(scope, receive, send)
                return
            if not message.get("more_body", False):
                break
        await self.app(scope, _replayed(b"".join(chunks), receive), send)


def body_length(scope: Scope) -> tuple[int, bool]:
    """How long a body is said to be, and whether it comes in pieces of which nobody knows."""
    length, chunked = 0, False
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            length = int(value[:20])
        elif name == b"transfer-encoding":
            chunked = True
    return length, chunked


def count(path: str, code: int) -> None:
    """Count a request to an endpoint, and how it was answered."""
    _counter(path, code).inc()


@functools.cache
def _counter(path: str, code: int) -> Counter:
    return metrics.REQUESTS.labels(path, code)


def _replayed(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The body in one message, and then whatever comes after it."""
    waiting = [body]

    async def next_message() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return next_message
