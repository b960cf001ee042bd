"""A million rows of log: how long `armature assess` takes, and how much memory.

`python benchmarks/assess.py [ROWS]` writes a log of that many rows, of twelve prices with one peak,
as CSV and as Parquet, and runs the program on them, first once to fill the kernel cache. Each line
has seconds, seconds of processor time, and peak memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

SPEC = """title = "A million rows"
arms = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
[structure]
kind = "unimodal"
"""


def write_logs(folder: Path, rows: int) -> None:
    """Rewards at twelve prices, each shown with the same probability."""
    rng = np.random.default_rng(0)
    prices = np.arange(8, 20)
    buys = 0.6 - 0.028 * (prices - 8.0)
    shown = rng.integers(0, 12, rows)
    margin = (prices[shown] - 5.0) * (rng.random(rows) < buys[shown]) + rng.normal(0, 1, rows)
    log = pd.DataFrame({"arm": prices[shown], "reward": margin.round(4), "probability": 1 / 12})
    log.to_csv(folder / "log.csv", index=False)
    log.to_parquet(folder / "log.parquet", index=False)
    (folder / "spec.toml").write_text(SPEC)


def run(folder: Path, name: str) -> tuple[float, float, float]:
    """Seconds, processor seconds and megabytes of one run of the program."""
    arguments = [sys.executable, "-m", "armature", "assess", str(folder / name)]
    arguments += ["--spec", str(folder / "spec.toml"), "--out", str(folder / "out"), "--quiet"]
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        sys.exit(f"{name}: the program failed")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    busy = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - start, busy, usage.ru_maxrss / unit


def main() -> None:
    """Measure both files."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_logs(folder, rows)
        size = (folder / "log.csv").stat().st_size / 2**20
        print(f"{rows:,} rows, {size:.0f} MB of CSV")
        for file in ("log.csv", "log.csv", "log.parquet"):
            seconds, busy, memory = run(folder, file)
            print(f"{file}: {seconds:.1f} s ({busy:.1f} s busy), {memory:.0f} MB")


if __name__ == "__main__":
    main()
