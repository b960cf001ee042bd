"""Many runs on the panels: which stay with another arm, and whether they come loose.

In few of very many runs the first rewards of the best arm are so bad that it is looked into again
only when the leader has had more pulls than the horizon has rounds. (Evidence of ln T by chance has
a probability of about 1 / T, and a policy that looks again before that explores more than the lower
bound asks for.) Such runs are not lost, but late: each is played on, with the same rewards, up to
the longest horizon.
"""

from __future__ import annotations

import numpy as np

from armature import Challenger, Results
from armature.experiments.markdown import markdown_table
from armature.simulation.engine import make_run
from studies.challenger.search import stuck_runs


def still_stuck(results: Results, repetition: int, horizon: int) -> bool:
    """Whether a run that is played on is stuck at a longer horizon."""
    ends = np.array([horizon // 10, horizon], dtype=np.int64)
    run = make_run(Challenger(), results.instance, results.seed, repetition, ends)
    run.advance(horizon)
    before, after = run.record.pulls[:, results.instance.best_arm]
    return bool(after - before < 0.5 * (ends[1] - ends[0]))


def stuck_table(panels: dict[str, Results], horizon: int) -> str:
    """How many runs of each panel are stuck, and how many of these up to a longer horizon."""
    rows, total = [], np.zeros(3, dtype=np.int64)
    for name, results in panels.items():
        stuck = stuck_runs(results, "Challenger")
        late = sum(still_stuck(results, int(r), horizon) for r in stuck)
        regret = results.regret("Challenger")[:, -1]
        counts = np.array([results.repetitions, stuck.size, late])
        cells = [f"{regret.mean():.1f}", f"{np.quantile(regret, 0.999):.0f}", f"{regret.max():.0f}"]
        rows.append([name.rpartition("-")[0], *(f"{n:,}" for n in counts), *cells])
        total += counts
    rows.append(["**all**", *(f"**{n:,}**" for n in total), "", "", ""])
    titles = [
        "panel",
        "runs",
        "stuck",
        f"of these at {horizon:,} rounds",
        "mean",
        "99.9 %",
        "worst",
    ]
    return markdown_table(titles, rows)
