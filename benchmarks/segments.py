"""How long a round of Challenger takes on tables of segments, beside one row.

    python benchmarks/segments.py [--rounds 2000]

Rows have one peak among 12 arms, rewards are Gaussian. Take the ratios: other programs share the
machine. Each time is the least of five runs. A row "at the same stage" has as many rounds as each
segment of the table has: early rounds explore, and take longer.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import armature as am
from armature.rounds.run import make_run

WORTH = 1.0 - 0.1 * np.abs(np.arange(12) - 6.0)
RUNS = 5


def microseconds(structure: am.Structure, rounds: int) -> float:
    """Of a round, after as many rounds as are measured."""
    segments = len(structure.segments)
    means = WORTH + np.linspace(0.0, 1.0, segments)[:, None] if structure.is_table else WORTH
    instance = am.Instance(structure, means)
    least = np.inf
    for repetition in range(RUNS):
        run = make_run(am.Challenger(), instance, 0, repetition, np.array([2 * rounds]))
        run.advance(rounds)
        start = time.perf_counter()
        run.advance(rounds)
        least = min(least, time.perf_counter() - start)
    return 1e6 * least / rounds


def main() -> None:
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2000)
    rounds = parser.parse_args().rounds
    row = am.Unimodal(12)
    one = microseconds(row, rounds)
    sys.stdout.write(f"one row: {one:.2f} us\n")
    for coupling in (None, am.Additive()):
        for segments in (5, 20):
            table = am.Segments(range(segments), each=row, coupling=coupling)
            found, early = microseconds(table, rounds), microseconds(row, rounds // segments)
            sys.stdout.write(
                f"{segments} segments, {coupling}: {found:.2f} us, {found / one:.1f} of one row, "
                f"{found / early:.1f} of one at the same stage\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
