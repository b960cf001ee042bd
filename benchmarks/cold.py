"""What a first use costs, with an empty cache: processor time and time by the clock, in seconds.

    python benchmarks/cold.py                       # this tree
    python benchmarks/cold.py ../armature-before    # and another one beside it

Each example runs in a process of its own with a cache of its own; processor time is what to
compare, as it hardly depends on what else the machine does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BEGIN = """
import resource, time
start = time.perf_counter()
import armature as am
prices = am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
"""
END = """
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, time.perf_counter() - start)
"""
EXAMPLES = {
    "import": "",
    "bound, unimodal": "am.lower_bound(prices)",
    "bound, linear": """
features = [[1.0, 0.1], [0.9, 0.3], [0.5, 0.7], [0.2, 1.0]]
am.lower_bound(am.Instance(am.Linear(features), [0.1, 0.3, 0.7, 1.0]))
""",
    "bound, Lipschitz": "am.lower_bound(am.Instance(am.Lipschitz(3, 0.5), [0.2, 0.4, 0.9]))",
    "simulate, unimodal": """
am.simulate(prices, [am.Challenger(), am.SPk(), am.UCB()], horizon=2000, repetitions=50)
""",
    "ask, Challenger, unimodal": """
bandit = am.Bandit(am.Challenger(), am.Unimodal(5))
bandit.tell([0, 1, 2, 3, 4], [0.3, 0.4, 1.1, 0.6, -0.2])
bandit.ask()
""",
    "ask, Challenger, linear": """
bandit = am.Bandit(am.Challenger(), am.Linear([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
bandit.tell([0, 1, 2], [0.1, 0.2, 0.3])
bandit.ask()
""",
    "the figure": """
import contextlib, io, tempfile
from armature.cli.program import app
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    app(["reproduce", "--horizon", "100", "--repetitions", "2", "--workers", "1", "--out", folder],
        standalone_mode=False)
""",
}


def first_use(tree: Path, example: str) -> tuple[float, float]:
    """Processor time and time by the clock."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "PYTHONPATH": str(tree / "src"),
            "ARMATURE_CACHE_DIR": cache,
            "ARMATURE_QUIET": "1",
        }
        command = [sys.executable, "-c", BEGIN + example + END]
        output = subprocess.run(
            command, env=environment, check=True, text=True, stdout=subprocess.PIPE
        ).stdout
    processor, clock = output.split()[-2:]
    return float(processor), float(clock)


def main() -> None:
    """Print the table."""
    trees = [ROOT, *(Path(argument).resolve() for argument in sys.argv[1:2])]
    print("processor seconds (by the clock)", *(tree.name for tree in trees), sep="   ")
    for name, example in EXAMPLES.items():
        cells = ("{:5.1f} ({:5.1f})".format(*first_use(tree, example)) for tree in trees)
        print(f"{name:28}", *cells, sep="   ", flush=True)


if __name__ == "__main__":
    main()
