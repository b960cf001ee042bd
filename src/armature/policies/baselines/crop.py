"""CROP (Jun and Zhang, 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.policies.policy import Belief, History, Problem, PythonPolicy
from armature.structures import Finite, Structure
from armature.words import Arm, Sentence

Indices = npt.NDArray[np.int64]
SAME = 1e-6  # allocations whose shares differ by less differ in size alone
ENOUGH = 1.0 - 1e-9  # of the information that is asked for: what a linear program leaves of it


class Scenarios(NamedTuple):
    """The rows, what is best in each, and the variances, relative to the largest."""

    rows: Floats  # (N, K)
    best: Indices  # (N,): the best arm
    top: Floats  # (N,): its mean
    noise: Floats  # (K,)

    def told(self, f: int, others: Indices) -> Floats:
        """The divergence per pull of each arm between row f and each of some others."""
        return np.asarray((self.rows[others] - self.rows[f]) ** 2 / (2.0 * self.noise))

    def competing(self, f: int) -> Indices:
        """Rows that agree with f on its best arm's mean, and have another best arm."""
        a = self.best[f]
        return np.flatnonzero((self.rows[:, a] == self.top[f]) & (self.best != a))

    def equivalent(self, f: int) -> Indices:
        """Rows with the same best arm, of the same mean; f is one of them."""
        return np.flatnonzero((self.best == self.best[f]) & (self.top == self.top[f]))

    def no_worse(self, f: int) -> Indices:
        """All other rows whose best arm is at least as good."""
        agree = (self.best == self.best[f]) & (self.top == self.top[f])
        return np.flatnonzero((self.top >= self.top[f]) & ~agree)


class Allocations:
    """The pulls of each arm (per logarithm) that a row asks for; computed on demand.

    They are kept in the policy's state: a linear program each.
    """

    def __init__(self, known: dict[str, list[float]], scenarios: Scenarios) -> None:
        self.known, self.scenarios = known, scenarios

    def informative(self, f: int) -> Floats:
        """The least regret that tells f from its competing rows, but by its best arm."""
        return self._found("informative", f, lambda: self.scenarios.competing(f))

    def agreeing(self, f: int) -> Floats:
        """The least regret that tells f from equivalent rows that ask for other shares."""
        return self._found("agreeing", f, lambda: self._conflicting(f))

    def fallback(self, f: int) -> Floats:
        """The least that tells f from all rows whose best arm is as good, and that has both."""
        return self._found("fallback", f, lambda: self.scenarios.no_worse(f))

    def conflict(self, f: int, g: int) -> bool:
        """True if two rows ask for different shares of the arms."""
        one, other = self.informative(f), self.informative(g)
        sizes = one.sum(), other.sum()
        if min(sizes) == 0.0:
            return bool(max(sizes) > 0.0)
        return bool(np.abs(one / sizes[0] - other / sizes[1]).max() > SAME)

    def _conflicting(self, f: int) -> Indices:
        same = self.scenarios.equivalent(f)
        return np.array([g for g in same.tolist() if self.conflict(f, g)], dtype=np.int64)

    def _found(self, name: str, f: int, others: Any) -> Floats:
        key = f"{name} {f}"
        if key not in self.known:
            self.known[key] = self._solved(name == "fallback", f, others()).tolist()
        return np.array(self.known[key])

    def _solved(self, falls_back: bool, f: int, others: Indices) -> Floats:
        """The cheapest pulls that tell f from some others; the best arm's, too, to fall back on."""
        from scipy.optimize import linprog  # when it is needed: importing the package is quick

        _, best, top, _ = self.scenarios
        gaps = top[f] - self.scenarios.rows[f]
        least = np.zeros(gaps.size)
        most: list[float | None] = [None] * gaps.size
        if falls_back:
            least = np.maximum(self.informative(f), self.agreeing(f))
            gaps[best[f]] = np.delete(gaps, best[f]).min()
        else:
            most[best[f]] = 0.0
        if not len(others):
            return least
        told = self.scenarios.told(f, others)
        size = told.max(axis=1, keepdims=True)  # rows of a like size
        bounds = list(zip(least.tolist(), most, strict=True))
        result = linprog(gaps, -told / size, -1.0 / size[:, 0], bounds=bounds)
        return np.asarray(np.maximum(result.x, 0.0))


class Step(NamedTuple):
    """A round: its kind, the arm, and the pessimistic row."""

    kind: str
    arm: int
    row: int


def next_step(
    known: dict[str, list[float]], scenarios: Scenarios, history: History, variance: float
) -> Step:
    """Exploit where all plausible rows agree; else follow the pessimistic one.

    `variance` is the largest of the arms'.
    """
    rows, best, top, noise = scenarios
    t = history.clock[0] + 1.0
    loss = ((rows - history.means) ** 2 / (noise * variance)) @ history.pulls
    plausible = np.flatnonzero(loss <= loss.min() + 2.0 * math.log(len(rows) * t * t))
    # Of several with the same highest mean, the one with the least loss.
    f = int(plausible[np.lexsort((loss[plausible], top[plausible]))[0]])
    if (best[plausible] == best[f]).all():
        return Step("exploit", int(best[f]), f)
    asked = Allocations(known, scenarios)
    partner = (best[plausible] == best[f]) & (top[plausible] == top[f])
    width = 2.0 * math.log(len(rows) * max(1.0, math.log(t)))
    close = plausible[partner & (loss[plausible] <= loss[f] + width)]
    kind, pulls = "fallback", None
    if any(asked.conflict(f, g) for g in close.tolist()):
        kind, pulls = "conflict", asked.agreeing(f)
    else:
        h = int(plausible[np.lexsort((loss[plausible], -top[plausible]))[0]])
        hopeful = plausible[(best[plausible] == best[h]) & (top[plausible] == top[h])]
        pulls = asked.informative(f)
        if (scenarios.told(f, hopeful) @ pulls >= ENOUGH).all():
            kind = "feasible"
        else:
            pulls = asked.fallback(f)
    waited = np.divide(history.pulls, pulls, out=np.full(pulls.size, math.inf), where=pulls > 0.0)
    return Step(kind, int(waited.argmin()), f)


@dataclass(frozen=True)
class CROP(PythonPolicy):
    """Crush optimism with pessimism: for finitely many mean vectors.

    A row is plausible if its squared loss exceeds the least by at most 2 ln(N t^2), N being the
    number of rows (all in units of the rewards' variance). If all plausible rows have the same best
    arm, pull it. Else the *pessimistic* row f is the plausible one whose best arm has the lowest
    mean (of several the one with the least loss). It says in which proportions to pull:

    * *conflict*: some plausible row with the same best arm and mean, whose loss exceeds that of f
      by at most 2 ln(N ln t), asks for other proportions than f: those that tell f from such rows;
    * *feasible*: the pulls per ln T that f's lower bound asks for also tell f from all plausible
      rows with the best arm and mean of the most optimistic one: these pulls;
    * *fallback*: else the cheapest pulls, those of f's best arm included (at its least gap), that
      tell f from all rows whose best arm is at least as good, and no fewer than either of these.

    The next arm has the fewest pulls for what is asked of it. So optimistic rows are ruled out, or
    f itself is. Each allocation is a linear program, and solved once.

    It has no parameters.

    Guarantee
    ---------
    The authors prove a regret of the lower bound's order, bounded where the bound is 0, and that it
    grows with the arms that some row wants pulled instead of all arms. The steps are those of their
    talk on it, which gives the size of both sets of plausible rows up to a constant. The constants
    here are what a martingale bound gives for errors of 1 / t^2 and 1 / ln t.

    >>> import armature as am
    >>> bandit = am.Bandit(am.CROP(), am.Finite([[0.9, 0.5], [0.5, 0.6]]), am.Gaussian(0.1))
    >>> for _ in range(50):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, [0.9, 0.5][arm])
    >>> bandit.pulls.tolist()
    [50, 0]

    Limits
    ------
    For `Finite` alone, with one best arm in each row. In plain Python: each round looks at all
    rows, and a row needs a linear program with as many constraints as there are rows.

    References
    ----------
    Jun and Zhang (2020), "Crush Optimism with Pessimism: Structured Bandits Beyond Asymptotic
    Optimality"; their slides of 2020.
    """

    structures: ClassVar = (Finite,)
    needs_sub_gaussian: ClassVar[bool] = True
    starts_with_each_arm: ClassVar[bool] = False

    def _objection(self, structure: Structure, family: Family) -> str | None:
        objection = super()._objection(structure, family)
        if objection is None and isinstance(structure, Finite):
            rows = structure.rows
            several = np.flatnonzero((rows == rows.max(axis=1)[:, None]).sum(axis=1) > 1)
            if several.size:
                return (
                    f"CROP needs one best arm in each row, and rows[{several[0]}] has several: "
                    "choose another policy (such as Challenger)."
                )
        return objection

    def init(self, structure: Structure, family: Family) -> dict[str, Any]:
        return {"allocations": {}}

    def choose(
        self, state: dict[str, Any], problem: Problem, history: History, rng: np.random.Generator
    ) -> int:
        return self._step(state, problem, history).arm

    def _step(self, state: dict[str, Any], problem: Problem, history: History) -> Step:
        structure, family = problem
        if not isinstance(structure, Finite):
            raise ArmatureError("CROP is for Finite structures.")
        arms = [family.for_arm(k).sub_gaussian_variance for k in range(structure.n_arms)]
        variance = max(arms)
        rows = structure.rows
        scenarios = Scenarios(
            rows, rows.argmax(axis=1), rows.max(axis=1), np.array(arms) / variance
        )
        return next_step(state["allocations"], scenarios, history, variance)

    def explain(self, belief: Belief) -> Sentence:
        state = {"allocations": dict(belief.state["allocations"])}
        step = self._step(state, Problem(belief.structure, belief.family), belief.history)
        if step.kind == "exploit":
            return Sentence(
                "{arm} is best in every plausible row, and is pulled.", arm=Arm(step.arm)
            )
        return Sentence(
            "Several rows are plausible; {arm} is pulled to find out whether row {row}, the least "
            "promising, is right ({kind}).",
            arm=Arm(step.arm),
            row=float(step.row),
            kind=step.kind,
        )
