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
from pathlib import Path
from typing import Any

import httpx
from load import Measured, load

from armature.client import Client

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
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


def rates() -> None:
    """Requests a second and latencies."""
    with ExitStack() as stack:
        nothing, _ = stack.enter_context(server("-c", NOTHING, "PORT"))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sqlite, _ = stack.enter_context(serve(sqlite_in(Path(folder))))
        postgres = Postgres(durable=True)
        stack.callback(postgres.stop)
        shared = postgres.database()
        ports = [stack.enter_context(serve(shared))[0] for _ in range(2)]
        for port in (sqlite, ports[0]):
            with Client(f"http://127.0.0.1:{port}", timeout=300.0) as client:
                client.create("prices", SPEC)
                for decision in client.decide_many("prices", 100):
                    client.reward(decision.id, 0.0)
        path = "/v1/experiments/prices/decisions"
        rows: dict[str, tuple[list[int], str, bytes, int]] = {
            "nothing": ([nothing], "/nothing", b"{}", 1),
            "SQLite, one decision": ([sqlite], path, b"{}", 1),
            "SQLite, batches of 100": ([sqlite], path, b'{"n": 100}', 100),
            "PostgreSQL, one decision": (ports[:1], path, b"{}", 1),
            "PostgreSQL, batches of 100": (ports[:1], path, b'{"n": 100}', 100),
            "PostgreSQL, two processes, one decision": (ports, path, b"{}", 1),
            "PostgreSQL, two processes, batches of 100": (ports, path, b'{"n": 100}', 100),
        }
        for where, what, body, _ in rows.values():  # everything once, so that it is loaded
            load(where, what, body, CLIENTS, 0.5)
        measured: dict[str, list[Measured]] = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, (where, what, body, _) in rows.items():
                measured[name].append(load(where, what, body, CLIENTS, SECONDS))
        print(f"{CLIENTS} clients; load average {os.getloadavg()[0]:.1f}\n")
        print("| | requests/s | of nothing | decisions/s | half load: median | 99 % |")
        print("|---|---|---|---|---|---|")
        base = statistics.median(m.rate for m in measured["nothing"])
        for name, (where, what, body, n) in rows.items():
            assert not any(m.failures for m in measured[name]), name
            rate = statistics.median(m.rate for m in measured[name])
            half = load(where, what, body, CLIENTS, SECONDS, rate / 2)
            decisions = f"{rate * n:,.0f}" if name != "nothing" else ""
            print(
                f"| {name} | {rate:,.0f} | {rate / base:.0%} | {decisions} | "
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
