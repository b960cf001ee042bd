"""Running the service: `armature serve`, and connections that end if nothing comes.

ASGI servers leave open that headers never end and bodies stop half-way. Such a connection would be
held for ever, and enough of them would shut out everybody else. So a request has a limited time to
arrive, and when there are too many connections, the one that has been silent longest is closed.
"""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import uvicorn
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from armature.errors import ArmatureError
from armature.service.api.app import make_app
from armature.service.db.database import open_database, reason_of
from armature.service.db.keys import read_keys
from armature.service.db.maintenance import migrate
from armature.service.limits import LOOPBACK
from armature.storage.registry import Allowed

ARRIVAL = 30.0  # seconds for a whole request, headers and body
MOST = 800  # connections at a time


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection of uvicorn, with a limit in time, and one on how many there are."""

    def connection_made(self, transport: Any) -> None:
        """Start the timer of a new connection; close one if there are too many."""
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = None
        self._has_sent = False
        self._wait()
        if len(self.connections) > MOST:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request, or several requests."""
        self._has_sent = True
        super().data_received(data)
        if self._is_answering:
            self._stop_waiting()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_answering(self) -> bool:
        """Whether a request is all there, and its answer is not."""
        cycle = self.cycle
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    def _wait(self) -> None:
        """Wait for the rest of a request, from its first byte on."""
        if self._timer is None:
            self._since = time.monotonic()
            self._timer = self.loop.call_later(ARRIVAL, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._close(408, f"the request had not arrived after {ARRIVAL:g} seconds.")

    def _make_room(self) -> None:
        """Close the connection that has been silent for longest."""
        waiting = [other for other in self.connections if not other._is_answering]
        oldest = min(waiting, key=lambda other: other._since)
        oldest._close(503, f"there are more than {MOST} connections: try again in a while.")

    def _close(self, code: int, detail: str) -> None:
        """Answer with the reason, if a request has begun, and close the connection."""
        self._stop_waiting()
        if self.transport.is_closing():
            return
        begun = self.cycle is not None and self.cycle.more_body and self.cycle.response_started
        if (self._has_sent or code == 503) and not begun:
            self.transport.write(_answer(code, detail))
        self.transport.close()


def _answer(code: int, detail: str) -> bytes:
    """An answer of the server itself, as the application would give it."""
    body = json.dumps({"detail": detail})
    again = "retry-after: 1\r\n" if code == 503 else ""
    return (
        f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\ncontent-type: application/json\r\n{again}"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n{body}"
    ).encode("ascii")


class Server(uvicorn.Server):
    """A server that says when it can be reached."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def config_of(app: FastAPI, host: str, port: int) -> uvicorn.Config:
    """How the service is served, wherever it is."""
    return uvicorn.Config(
        app, host=host, port=port, http=Connection, access_log=False, log_level="warning"
    )


def serve(
    storage: str,
    host: str,
    port: int,
    allow: Allowed = (),
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until interrupted. Without any key, on the loopback address alone.

    `ready` is called when requests are taken.
    """
    engine = open_database(storage)
    try:
        migrate(engine)
        keys, _ = read_keys(engine)
    except SQLAlchemyError as error:
        raise ArmatureError(f"the storage can't be used: {reason_of(error)}.") from None
    if not keys and host not in LOOPBACK:
        raise ArmatureError(
            f"no key exists, so anybody who reaches {host} could use this server: make a key with "
            "`armature keys create NAME --scope admin`, or serve on 127.0.0.1."
        )
    sockets = listen(host, port)
    app = make_app(engine, allow=allow, open_without_keys=host in LOOPBACK)
    gc.collect()
    gc.freeze()  # what was imported stays: the collector would pause decisions to look through it
    Server(config_of(app, host, port), ready).run(sockets)


def listen(host: str, port: int) -> list[socket.socket]:
    """A listening socket for each address of the host, or an error that says why not."""
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in sorted({(family, address) for family, *_, address in found}):
            made = socket.socket(family)
            sockets.append(made)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            made.bind(address)
    except OSError as error:
        for made in sockets:
            made.close()
        reason = error.strerror or str(error)
        raise ArmatureError(
            f"port {port} of {host} can't be used ({reason}): choose another port or host."
        ) from None
    return sockets
