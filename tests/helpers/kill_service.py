"""Kill servers under load, many times, and check that nothing was lost or doubled.

python tests/helpers/kill_service.py --kills 1000
python tests/helpers/kill_service.py --kills 100 --storage postgresql --servers 2
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from killing import kill_under_load, verify
from serving import Postgres, sqlite_in


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="in each setting")
    parser.add_argument("--storage", choices=["sqlite", "postgresql"], default=None)
    parser.add_argument("--servers", type=int, choices=[1, 2], default=None)
    parser.add_argument("--customers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    postgres = Postgres() if options.storage != "sqlite" else None
    try:
        for storage in [options.storage] if options.storage else ["sqlite", "postgresql"]:
            for servers in [options.servers] if options.servers else [1, 2]:
                with tempfile.TemporaryDirectory() as folder:
                    where = sqlite_in(Path(folder))
                    if storage == "postgresql":
                        assert postgres is not None
                        where = postgres.database()
                    _one(where, f"{storage}, servers: {servers}", servers, options)
    finally:
        if postgres is not None:
            postgres.stop()


def _one(where: str, title: str, servers: int, options: argparse.Namespace) -> None:
    start = time.monotonic()

    def progress(done: int) -> None:
        if done % 10 == 0:
            print(f"\r{title}: {done} kills", end="", file=sys.stderr, flush=True)

    notes = kill_under_load(
        where,
        options.kills,
        servers,
        options.customers,
        options.seed,
        snapshot_every=2_000,
        progress=progress,
    )
    killed = time.monotonic() - start
    totals = verify(where, notes)
    print(file=sys.stderr)
    counts = ", ".join(f"{what}: {count:,}" for what, count in totals.items())
    print(f"{title}: {options.kills} kills in {killed:.0f} s; {counts}; all verified", flush=True)


if __name__ == "__main__":
    main()
