"""Groups that a short study leaves in doubt, again: more instances and runs, fewer policies.

In doubt is a group in which, at the short size, the interval of the difference to the best other
policy reaches above 0, or the 99th percentile is above SPk's. Who takes part is SPk, for its worst
runs, and who came close in any of these groups, that is, lost least in any instance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from armature import Results
from armature.views.chart import markdown_table
from studies.challenger.cases import Case, random_cases
from studies.challenger.narrowed import NARROWED

CLOSE = (  # first those lost at the short size, then those with worst runs above SPk's
    "unimodal-10-sigmas", "linear-20-5", "linear-20-4-stretched", "linear-100-5",
    "sparse-10-1", "categorised-10-2", "unimodal-10-untold", "unimodal-15-poisson",
    "linear-10-2", "linear-6-2-tied", "simplex-8", "unconstrained-10-bernoulli", "lipschitz-8",
    "linear-10-2-untold", "unimodal-20", "unimodal-20-tied", "unimodal-15-bernoulli",
    "unimodal-10-prices-bernoulli", "concave-8", "intersection-8-concave-lipschitz",
    "intersection-6-unimodal-lipschitz", "unimodal-100",
)  # fmt: skip
RIVALS = (
    "Challenger", "SPk", "ThompsonSampling", "ProjectedThompson", "OSUB", "IMEDUB",
    "UnimodalThompson", *NARROWED,
)  # fmt: skip
ON_SPARSE = ("SPLambda",)  # which is slow, and comes close on sparse structures alone


def close_cases(per_group: int, groups: Sequence[str] = CLOSE) -> list[Case]:
    """So many instances of each of these groups, in this order."""
    cases = []
    for group in groups:
        names = (*RIVALS, *ON_SPARSE) if group.startswith("sparse") else RIVALS
        for case in random_cases(per_group, (group,)):
            policies = tuple(p for p in case.policies if p.name in names)
            cases.append(dataclasses.replace(case, policies=policies))
    return cases


@dataclasses.dataclass(frozen=True)
class Close:
    """What the runs of a group show of Challenger and one other policy."""

    rival: str
    above: float  # how far Challenger is above it, in parts of its regret
    error: float  # of that, 95 %

    @property
    def clearly(self) -> bool:
        """Whether it is clearly above."""
        return self.above > self.error


def finals(cases: Sequence[Results], policy: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Final regrets of all runs of a group."""
    return np.concatenate([r.regret(policy)[:, -1] for r in cases])


def against_the_best(cases: Sequence[Results], others: Sequence[str]) -> Close:
    """Challenger and the one of the others that loses least in the group: paired."""
    rival = min(others, key=lambda name: float(finals(cases, name).mean()))
    theirs = finals(cases, rival)
    above = finals(cases, "Challenger") - theirs
    error = 1.96 * above.std(ddof=1) / np.sqrt(above.size)
    return Close(rival, float(above.mean() / theirs.mean()), float(error / theirs.mean()))


def ratio_to_best(cases: Sequence[Results], others: Sequence[str]) -> float:
    """To the best other policy of each instance, chosen after the fact: a geometric mean."""
    means = {name: [r.regret(name)[:, -1].mean() for r in cases] for name in others}
    mine = [r.regret("Challenger")[:, -1].mean() for r in cases]
    best = np.min([*means.values()], axis=0)
    return float(np.exp(np.mean(np.log(np.array(mine) / best))))


def tail_chance(cases: Sequence[Results], seed: int = 0) -> float:
    """How often Challenger's 99th percentile is above SPk's if runs are drawn again, together."""
    rng = np.random.default_rng(seed)
    mine, theirs = finals(cases, "Challenger"), finals(cases, "SPk")
    above = 0
    for _ in range(400):
        again = rng.integers(mine.size, size=mine.size)
        above += int(np.quantile(mine[again], 0.99) > np.quantile(theirs[again], 0.99))
    return above / 400.0


def close_table(groups: dict[str, list[Results]]) -> str:
    """A row for each group."""
    rows = []
    for group, cases in groups.items():
        others = [name for name in cases[0].names if name != "Challenger"]
        cells = []
        for names in (others, [name for name in others if name not in NARROWED]):
            found = against_the_best(cases, names)
            word = "**no**" if found.clearly else "yes"
            cells += [
                f"{ratio_to_best(cases, names):.2f}; {found.rival}, {found.above:+.0%} ± "
                f"{found.error:.0%}; {word}"
            ]
        if cells[0] == cells[1]:
            cells[1] = "the same"
        tails = [f"{np.quantile(finals(cases, p), 0.99):.0f}" for p in ("Challenger", "SPk")]
        chance = f"{tail_chance(cases):.0%}"
        runs = f"{len(cases)} \N{MULTIPLICATION SIGN} {cases[0].repetitions}"
        mean = f"{finals(cases, 'Challenger').mean():.1f}"
        rows.append([group, runs, mean, *cells, *tails, chance])
    titles = ["group", "runs", "mean", "to the best other; against the group's best; at or below"]
    titles += ["the same without narrowed ones", "99 %", "SPk's 99 %", "chance that it is above"]
    return markdown_table(titles, rows)
