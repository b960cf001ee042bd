"""How fast the service is, beside an endpoint that does nothing, in one run.

python benchmarks/service.py             everything; a few minutes
python benchmarks/service.py rates       requests a second, and latency at half that load
python benchmarks/service.py thousand    a thousand experiments in one server
python benchmarks/service.py million     a restart with a log of a million events

Servers and the load generator are processes of their own. PostgreSQL is one in a temporary folder.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from load import Measured, load

from armature.client import Client

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "helpers"))
from serving import Postgres, free_port, sqlite_in

CLIENTS = 16
SECONDS = 3.0
ROUNDS = 3  # each row is the median of so many, taken in turns
SPEC = {
    "structure": {"kind": "unimodal", "n_arms": 5},
    "family": {"kind": "bernoulli"},
    "policy": "challenger",
    "rewards": {"window": 3600, "default": 0},
}
NOTHING = """
import sys, uvicorn, fastapi
app = fastapi.FastAPI()
@app.post("/nothing")
async def nothing() -> dict[str, str]:
    return {}
uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="warning")
"""


@contextmanager
def server(*command: str) -> Iterator[tuple[int, Any]]:
    """A process that answers on a port."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *(word.replace("PORT", str(port)) for word in command)],
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30.0)
                break
            except httpx.TransportError:
                time.sleep(0.02)
        yield port, process
    finally:
        process.kill()
        process.wait()


def serve(storage: str) -> Any:
    """The service."""
    return server("-m", "armature", "serve", "--port", "PORT", "--storage", storage)


@dataclass
class Row:
    """What is sent where, and what was measured."""

    servers: list[tuple[int, Any]]  # their ports and processes
    path: str
    body: bytes
    decisions: int  # in one request
    measured: list[Measured] = field(default_factory=list)
    used: list[float] = field(default_factory=list)  # seconds of processor time for a request

    def load(self, seconds: float, rate: float = 0.0) -> Measured:
        """Load the servers."""
        ports = [port for port, _ in self.servers]
        return load(ports, self.path, self.body, CLIENTS, seconds, rate)

    def measure(self) -> None:
        """Load them as much as they take."""
        before = sum(_processor(process) for _, process in self.servers)
        self.measured.append(self.load(SECONDS))
        after = sum(_processor(process) for _, process in self.servers)
        self.used.append((after - before) / len(self.measured[-1].latencies))

    @property
    def rate(self) -> float:
        """Requests a second."""
        return statistics.median(measured.rate for measured in self.measured)


def rates() -> None:
    """Requests a second and latencies."""
    with ExitStack() as stack:
        nothing = stack.enter_context(server("-c", NOTHING, "PORT"))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sqlite = stack.enter_context(serve(sqlite_in(Path(folder))))
        postgres = Postgres(durable=True)
        stack.callback(postgres.stop)
        shared = postgres.database()
        both = [stack.enter_context(serve(shared)) for _ in range(2)]
        for port, _ in (sqlite, both[0]):
            with Client(f"http://127.0.0.1:{port}", timeout=300.0) as client:
                client.create("prices", SPEC)
                for decision in client.decide_many("prices", 100):
                    client.reward(decision.id, 0.0)
        path, batch = "/v1/experiments/prices/decisions", b'{"n": 100}'
        rows = {
            "nothing": Row([nothing], "/nothing", b"{}", 1),
            "SQLite, one decision": Row([sqlite], path, b"{}", 1),
            "SQLite, batches of 100": Row([sqlite], path, batch, 100),
            "PostgreSQL, one decision": Row(both[:1], path, b"{}", 1),
            "PostgreSQL, batches of 100": Row(both[:1], path, batch, 100),
            "PostgreSQL, two processes, one decision": Row(both, path, b"{}", 1),
            "PostgreSQL, two processes, batches of 100": Row(both, path, batch, 100),
        }
        for row in rows.values():  # everything once, so that it is loaded
            row.load(0.5)
        for _ in range(ROUNDS):
            for row in rows.values():
                row.measure()
        _print_rates(rows)


def _print_rates(rows: dict[str, Row]) -> None:
    print(f"{CLIENTS} clients; load average {os.getloadavg()[0]:.1f}\n")
    print(
        "| | requests/s | of nothing | decisions/s | processor time per request | "
        "half load: median | 99 % |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        assert not any(measured.failures for measured in row.measured), name
        half = row.load(SECONDS, row.rate / 2)
        decisions = f"{row.rate * row.decisions:,.0f}" if name != "nothing" else ""
        print(
            f"| {name} | {row.rate:,.0f} | {row.rate / rows['nothing'].rate:.0%} | {decisions} | "
            f"{1e6 * statistics.median(row.used):,.0f} µs | "
            f"{1e3 * half.quantile(0.5):.1f} ms | {1e3 * half.quantile(0.99):.1f} ms |",
            flush=True,
        )


def _memory(process: Any) -> float:
    """Megabytes in memory."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _processor(process: Any) -> float:
    """Seconds of processor time so far: what a busy machine does not change."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def thousand(n: int = 1_000) -> None:
    """Memory and start-up with a thousand experiments, all of them used."""
    with tempfile.TemporaryDirectory() as folder:
        storage = sqlite_in(Path(folder))
        with serve(storage) as (port, process), Client(f"http://127.0.0.1:{port}") as client:
            empty = _memory(process)
            for k in range(n):
                client.create(f"prices {k}", SPEC)
                client.decide(f"prices {k}")
            full = _memory(process)
        start = time.perf_counter()
        with serve(storage) as (port, process), Client(f"http://127.0.0.1:{port}") as client:
            ready = time.perf_counter() - start
            client.decide("prices 0")
            first = time.perf_counter() - start
            used = _processor(process)
            for k in range(1, n):
                client.decide(f"prices {k}")
            every = time.perf_counter() - start
        print(
            f"{n} experiments: {empty:.0f} MB without, {full:.0f} MB with all of them in memory; "
            f"a restart answers after {ready:.1f} s, with a decision after {first:.1f} s "
            f"({used:.1f} s of processor time; load average {os.getloadavg()[0]:.1f}), and has "
            f"decided in each of them, one after the other, after {every:.1f} s"
        )


def million(events: int = 1_000_000) -> None:
    """A restart with a long log."""
    with tempfile.TemporaryDirectory() as folder:
        storage = sqlite_in(Path(folder))
        with serve(storage) as (port, _), Client(f"http://127.0.0.1:{port}") as client:
            client.create("prices", SPEC)
            done = 1
            while done < events:
                made = client.decide_many("prices", 1_000)
                client.rewards([(d.id, float(d.arm == 2)) for d in made])
                done += 2 * len(made)
        size = (Path(folder) / "armature.db").stat().st_size / 1e6
        start = time.perf_counter()
        with serve(storage) as (port, process), Client(f"http://127.0.0.1:{port}") as client:
            ready = time.perf_counter() - start
            client.decide("prices")
            first = time.perf_counter() - start
            memory, used = _memory(process), _processor(process)
            shown = time.perf_counter()
            httpx.get(
                f"http://127.0.0.1:{port}/experiments/prices", timeout=60.0
            ).raise_for_status()
            shown = time.perf_counter() - shown
        print(
            f"a log of {done:,} events ({size:.0f} MB): a restart answers after {ready:.1f} s and "
            f"decides after {first:.1f} s ({used:.1f} s of processor time; load average "
            f"{os.getloadavg()[0]:.1f}; {memory:.0f} MB); its page comes after {shown:.1f} s"
        )


def main() -> None:
    """Run what was asked for."""
    parts = {"rates": rates, "thousand": thousand, "million": million}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
