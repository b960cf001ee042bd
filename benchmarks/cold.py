"""What a first use costs, with an empty cache: in multiples of compiling one small function.

    python benchmarks/cold.py                       # this tree
    python benchmarks/cold.py ../armature-before    # and another one beside it

The unit is a process that imports Numba and compiles `lambda x: x + 1` with it, measured between
the examples. Each example runs in a process of its own with a cache of its own. Time by the clock,
the least of three: on a busy machine, compare ratios only. Or measure processor time there, of the
examples that have a multiple to reach:

    python benchmarks/cold.py processor

`python benchmarks/cold.py change` shows the change of gear instead: 100,000 asks in one process,
with an empty cache, and what the slowest of them took while machine code was made and loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CLOCK, PROCESSOR = "time.perf_counter", "time.process_time"
ROOT = Path(__file__).parent.parent
BEGIN = """
import time
start = time.perf_counter()
"""
IMPORT = """
import armature as am
prices = am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
def asked(policy, structure, times=8):
    bandit = am.Bandit(policy, structure)
    for _ in range(times):
        bandit.tell(bandit.ask(), 0.5)
"""
END = """
print(time.perf_counter() - start)
"""
UNIT = "import numba; numba.njit(lambda x: x + 1)(1)"
SERVICE = """
import tempfile, threading
from pathlib import Path
from armature.client import Client
from armature.service.api.app import make_app
from armature.service.api.server import Server, config_of
from armature.service.db.database import open_database
folder, ready = tempfile.mkdtemp(), threading.Event()
app = make_app(open_database(f"sqlite:///{folder}/a.db"), open_without_keys=True)
server = Server(config_of(app, "127.0.0.1", 8765), ready.set)
threading.Thread(target=server.run, daemon=True).start()
ready.wait()
client = Client("http://127.0.0.1:8765", timeout=600.0)
client.experiments()
spec = {"structure": {"kind": "unimodal"}, "labels": [1, 2, 3, 4, 5]}
start = time.perf_counter()
client.create("prices", spec)
client.decide("prices")
"""
PANEL = """
title = "one peak"
means = [0.2, 0.4, 0.9, 0.7, 0.1]
horizon = 2000
repetitions = 4
policies = ["spk", "splambda", "ucb", "ossb", "challenger"]
[structure]
kind = "unimodal"
"""
# (what, its code, the multiple to reach)
EXAMPLES: dict[str, tuple[str, float | None]] = {
    "import armature": ("import armature", 0.6),
    "import and the first name": ("import armature as am; am.Unimodal(5)", 0.6),
    "8 asks, Challenger, unimodal": (IMPORT + "asked(am.Challenger(), am.Unimodal(5))", 1.0),
    "8 asks, Challenger, linear": (
        IMPORT + "asked(am.Challenger(), am.Linear([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))",
        1.0,
    ),
    "8 asks, Guarded, Lipschitz": (
        IMPORT + "asked(am.Guarded(am.Challenger()), am.Lipschitz(6, 0.3))",
        1.0,
    ),
    "lower_bound, unimodal": (IMPORT + "am.lower_bound(prices)", 1.0),
    "lower_bound, Lipschitz(12)": (
        IMPORT + "am.lower_bound(am.Instance(am.Lipschitz(12, 0.3), [0.1 * k for k in range(12)]))",
        None,
    ),
    "an experiment and a decision": (SERVICE, 0.5),
    "simulate, unimodal": (
        IMPORT
        + "policies = [am.Challenger(), am.SPk(), am.UCB()]\n"
        + "am.simulate(prices, policies, horizon=2000, repetitions=50)",
        None,
    ),
    "a panel": (
        f"PANEL = {PANEL!r}"
        + """
import contextlib, io, tempfile
from armature.cli.program import app
from pathlib import Path
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    spec = Path(folder, "panel.toml")
    spec.write_text(PANEL)
    app(["run", str(spec), "--out", folder + "/out"], standalone_mode=False)
""",
        None,
    ),
    "the figure": (
        """
import contextlib, io, tempfile
from armature.cli.program import app
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    app(["reproduce", "--horizon", "100", "--repetitions", "2", "--workers", "1", "--out", folder],
        standalone_mode=False)
""",
        None,
    ),
}
CHANGE = """
import numpy as np
import armature as am
from armature.kernels import gears
bandit, rng = am.Bandit(am.Challenger(), am.Unimodal(5)), np.random.default_rng(0)
took, changed = [], 0
end = time.perf_counter() + 300
while len(took) < 100_000 and time.perf_counter() < end:
    begin = time.perf_counter()
    arm = bandit.ask()
    took.append(time.perf_counter() - begin)
    if not changed and gears.changed:
        changed = len(took)
    bandit.tell(arm, rng.normal() + 0.2 * arm)
took = np.array(took) * 1e3
print(f"changed at ask {changed} of {took.size}; the slowest took {took.max():.1f} ms, "
      f"{(took > 20).sum()} more than 20 ms; the usual one {np.median(took[:changed]):.3f} ms "
      f"before, {np.median(took[changed:]):.3f} ms after")
"""


def output_of(tree: Path, code: str, busy: bool = False) -> str:
    """What code prints in a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "PYTHONPATH": str(tree / "src"),
            "ARMATURE_CACHE_DIR": cache,
            "ARMATURE_QUIET": "1",
        }
        whole = BEGIN + code + END
        whole = whole.replace(CLOCK, PROCESSOR) if busy else whole
        command = [sys.executable, "-c", whole]
        done = subprocess.run(command, env=environment, check=True, text=True, capture_output=True)
        return done.stdout


def seconds(tree: Path, code: str, busy: bool) -> float:
    """How long it takes; the least of three, or of one where it takes long."""
    found: list[float] = []
    while not found or (len(found) < 3 and found[0] < 5.0):
        found.append(float(output_of(tree, code, busy).split()[-1]))
    return min(found)


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["change"]:
        print(output_of(ROOT, CHANGE).splitlines()[0])
        return
    busy = sys.argv[1:2] == ["processor"]
    trees = [ROOT, *(Path(argument).resolve() for argument in sys.argv[1:2] if not busy)]
    print(
        "multiples of compiling one function", *(tree.name for tree in trees), "to reach", sep="   "
    )
    for name, (code, most) in EXAMPLES.items():
        if busy and most is None:
            continue
        unit = seconds(ROOT, UNIT, busy)
        cells = (f"{seconds(tree, code, busy) / unit:6.2f}" for tree in trees)
        print(f"{name:32}", *cells, most or "", f"   (unit {unit:.2f} s)", sep="  ", flush=True)


if __name__ == "__main__":
    main()
