"""A load generator that costs little: raw requests on open connections, answers read by length.

Each client sends its next request when the answer to the last has come.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Request = Callable[[int], tuple[str, bytes]]  # the path and body of a client's next request


@dataclass(frozen=True)
class Measured:
    """What came of a load: requests a second, and how long each took, in seconds."""

    rate: float
    latencies: list[float]
    failures: int

    def quantile(self, q: float) -> float:
        """A quantile of the latencies."""
        ranked = sorted(self.latencies)
        return ranked[min(len(ranked) - 1, int(q * len(ranked)))]


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[tuple[int, bytes]] | None = None
        self.buffer = b""

    def connection_made(self, transport: Any) -> None:
        """Remember where to write."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Collect an answer."""
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0 or self.answer is None:
            return
        at = self.buffer.lower().find(b"content-length:")
        length = int(self.buffer[at + 15 : self.buffer.index(b"\r", at)])
        if len(self.buffer) >= head + 4 + length:
            body = self.buffer[head + 4 : head + 4 + length]
            code = int(self.buffer[9:12])
            self.buffer = b""
            self.answer.set_result((code, body))

    def connection_lost(self, error: Exception | None) -> None:
        """Whoever waits waits in vain."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error or ConnectionError("the server has gone"))

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request and wait for its answer."""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(
            b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body)
        )
        return await self.answer


async def _client(
    port: int, path: str, body: bytes, until: float, pause: float, latencies: list[float]
) -> int:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
    failures = 0
    due = time.perf_counter()
    while (now := time.perf_counter()) < until:
        if pause and now < due:
            await asyncio.sleep(due - now)
        start = due if pause else now  # with a schedule, waiting behind it counts
        code, _ = await connection.post(path, body)
        latencies.append(time.perf_counter() - start)
        failures += code >= 400
        due += pause
    connection.transport.close()
    return failures


async def _load(
    ports: list[int], path: str, body: bytes, clients: int, seconds: float, rate: float
) -> Measured:
    latencies: list[float] = []
    start = time.perf_counter()
    pause = clients / rate if rate else 0.0
    runs = [
        _client(ports[k % len(ports)], path, body, start + seconds, pause, latencies)
        for k in range(clients)
    ]
    failures = sum(await asyncio.gather(*runs))
    return Measured(len(latencies) / (time.perf_counter() - start), latencies, failures)


def _main(pipe: Any, arguments: tuple[Any, ...]) -> None:
    import uvloop

    pipe.send(uvloop.run(_load(*arguments)))


def load(
    ports: list[int], path: str, body: bytes, clients: int, seconds: float, rate: float = 0.0
) -> Measured:
    """Load servers from another process, at so many requests a second, or as many as it takes."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_main, args=(there, (ports, path, body, clients, seconds, rate))
    )
    process.start()
    there.close()  # so that it is noticed if the other end dies
    measured: Measured = here.recv()
    process.join()
    return measured
