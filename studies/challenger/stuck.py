"""Many runs on the panels: which stay with another arm, and whether they come loose.

In few of very many runs the first rewards of the best arm are so bad that it is looked into again
only when the leader has had more pulls than the horizon has rounds. (Evidence of ln T by chance has
a probability of about 1 / T, and a policy that looks again before that explores more than the lower
bound asks for.) Such runs are not lost, but late: each is played on, with the same rewards, up to
the longest horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armature import Challenger, Results
from armature.rounds.run import make_run
from armature.views.chart import markdown_table
from studies.challenger.search import stuck_runs


@dataclass(frozen=True)
class Stuck:
    """What many runs of a panel show."""

    panel: str
    runs: int
    horizon: int
    stuck: int  # of them
    longest: int  # a longer horizon
    late: int  # of those that are stuck, how many are so there
    mean: float  # regret
    rare: float  # 99.9 % of the runs have less
    worst: float


def still_stuck(results: Results, repetition: int, horizon: int) -> bool:
    """Whether a run that is played on is stuck at a longer horizon."""
    ends = np.array([horizon // 10, horizon], dtype=np.int64)
    run = make_run(Challenger(), results.instance, results.seed, repetition, ends)
    run.advance(horizon)
    before, after = run.record.pulls[:, results.instance.best_arm]
    return bool(after - before < 0.5 * (ends[1] - ends[0]))


def count_stuck(panel: str, results: Results, longest: int) -> Stuck:
    """Count those that are stuck, play them on, and count again."""
    stuck = stuck_runs(results, "Challenger")
    late = sum(still_stuck(results, int(r), longest) for r in stuck)
    regret = results.regret("Challenger")[:, -1]
    rare, worst = np.quantile(regret, [0.999, 1.0])
    ends = results.horizon, int(stuck.size), longest
    return Stuck(
        panel, results.repetitions, *ends, late, float(regret.mean()), float(rare), float(worst)
    )


def stuck_table(panels: Sequence[Stuck]) -> str:
    """A row for each panel."""
    rows = [
        [
            p.panel,
            *(f"{n:,}" for n in (p.runs, p.stuck, p.late)),
            f"{p.mean:.1f}",
            f"{p.rare:.0f}",
            f"{p.worst:.0f}",
        ]
        for p in panels
    ]
    sums = [
        sum(column) for column in zip(*((p.runs, p.stuck, p.late) for p in panels), strict=True)
    ]
    rows.append(["**all**", *(f"**{n:,}**" for n in sums), "", "", ""])
    ends = [f"stuck at T = {T:,}" for T in (panels[0].horizon, panels[0].longest)]
    return markdown_table(["panel", "runs", *ends, "mean regret", "99.9 %", "worst"], rows)
