"""Connections that don't send: a request has so much time to arrive, and some make way for others.

What ASGI servers leave open: headers that never end, and bodies that stop half-way, would hold a
connection for ever, and enough of them would shut out everybody else.
"""

from __future__ import annotations

import asyncio
import json
import time
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

ARRIVAL = 30.0  # seconds for a whole request, headers and body
MOST = 800  # connections at a time


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection of uvicorn, with a limit in time, and one on how many there are."""

    def connection_made(self, transport: Any) -> None:
        """Somebody has come."""
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = None
        self._has_sent = False
        self._wait()
        if len(self.connections) > MOST:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """A piece of a request, or several requests."""
        self._has_sent = True
        super().data_received(data)
        if self._is_answering:
            self._stop_waiting()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
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
        """Close the connection that has kept us waiting for longest; this one if none has."""
        waiting = [other for other in self.connections if not other._is_answering]
        oldest = min(waiting, key=lambda other: other._since)
        oldest._close(503, f"there are more than {MOST} connections: try again in a while.")

    def _close(self, code: int, detail: str) -> None:
        """Say why, if somebody waits for an answer, and hang up."""
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
