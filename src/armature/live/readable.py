"""The properties, pictures and reports of a bandit: nothing here changes it."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from armature.bounds import lower_bound
from armature.bounds.change import FALSE_ALARMS
from armature.bounds.evidence import Evidence
from armature.bounds.splits import BLOCK
from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.checks import checked_count
from armature.live.change import Change
from armature.live.changing import Setting
from armature.live.checkpoint import as_text, saved_parts
from armature.live.choosing import Chooser, Probabilities, probabilities
from armature.live.explanation import Explanation, apart, evidence_of, explain, verdict_of
from armature.live.outstanding import Outstanding
from armature.live.rewards import Goal
from armature.live.verdict import GivenMargin, Verdict
from armature.policies import History, Policy
from armature.rounds.runner import PolicyRunner
from armature.rounds.stopping import Threshold
from armature.storage.files import write_text
from armature.structures import Segments, Structure
from armature.structures.instance import Instance
from armature.views import Picture, picture_of
from armature.words import Card, Shown, best_first, row_of

Arm = Any  # a number, or a label where there are labels


class ReadableBandit(Shown):
    """A bandit's parts, and all that they say of it."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """A bandit; where the structure is a table of segments, a `SegmentedBandit`."""
        structure = options.get("structure", args[1] if len(args) > 1 else None)
        if not isinstance(structure, Segments):
            return super().__new__(cls)
        from armature.live.segmented import SegmentedBandit

        if options.get("forget") is not None:
            raise ArmatureError("forget does not go with segments: rewards of all of them count.")
        options = {key: value for key, value in options.items() if key not in ("forget", "clock")}

        return SegmentedBandit(*args, **options)

    _setting: Setting
    _goal: Goal
    _chooser: Chooser
    _outstanding: Outstanding
    _seed: int
    _horizon: int | None

    def card(self) -> Card:
        pulls, means, pending = self.pulls, self.means, self.pending
        sign = 1.0 if self.goal == "max" else -1.0
        rows = [row_of(arm, pulls[k], means[k], pending[k]) for k, arm in enumerate(self.arms)]
        return Card(
            f"Bandit: {self.policy.name} on {self.structure!r}, {self.family!r}, "
            f"{pulls.sum():,} rewards, {pending.sum():,} pending",
            ("arm", "pulls", "mean", "pending"),
            tuple(rows[k] for k in best_first((sign * means).tolist())),
        )

    @property
    def _decisions(self) -> PolicyRunner:
        return self._setting.decisions

    @property
    def policy(self) -> Policy:
        """The policy that chooses."""
        return self._setting.decisions.policy

    @property
    def structure(self) -> Structure:
        """The structure: knowledge about the means."""
        return self._setting.structure

    @property
    def family(self) -> Family:
        """The distribution of rewards."""
        return self._setting.family

    @property
    def goal(self) -> str:
        """The goal: "max" for the largest rewards, "min" for the smallest costs."""
        return self._goal.word

    @property
    def floor(self) -> float:
        """The least share of decisions for each arm."""
        return self._chooser.floor

    @property
    def arms(self) -> list[Arm]:
        """The labels of the arms, in the structure's order: that of `pulls`, `means`, ..."""
        return list(self._setting.arms.names)

    @property
    def pulls(self) -> npt.NDArray[np.int64]:
        """The number of rewards of each arm."""
        pulls: npt.NDArray[np.int64] = self._decisions.history.pulls.astype(np.int64)
        return pulls

    @property
    def means(self) -> npt.NDArray[np.float64]:
        """The mean reward of each arm; nan for an arm without rewards."""
        history = self._decisions.history
        return self._goal.value(np.where(history.pulls > 0.0, history.means, math.nan))

    @property
    def pending(self) -> npt.NDArray[np.int64]:
        """The number of pending rewards of each arm."""
        return self._outstanding.pending.astype(np.int64)

    def _seen(self) -> History:
        """The rewards that the policy decides on, outstanding ones at their arms' means."""
        return self._outstanding.with_pending(self._decisions.history, self.family)

    def probabilities(self, draws: int = 1000, *, exclude: Sequence[Arm] = ()) -> Probabilities:
        """With which probability `ask(exclude=exclude)` would choose each arm now.

        Exact where the policy draws no random numbers, as UCB, or knows the odds by which it draws,
        as Challenger; else estimated from `draws`
        imagined decisions, with standard errors. The floor is counted in. The bandit stays as it
        is: its next decision is the same.

        >>> from armature.live import Bandit
        >>> from armature.policies import UCB
        >>> from armature.structures import Unconstrained
        >>> bandit = Bandit(UCB(), Unconstrained(4), floor=0.05)
        >>> bandit.probabilities().values.round(2).tolist()
        [0.85, 0.05, 0.05, 0.05]
        """
        draws, allowed = checked_count(draws, "draws"), self._setting.arms.allowed(exclude)
        return probabilities(self._chooser, self._seen(), allowed, draws)

    def explain(self) -> Explanation:
        """The estimates, the next decision, and its reason; print it, or read its fields."""
        found = explain(self._decisions, self._setting.arms, self._goal, self.floor)
        change = self.change()
        if change is None:
            return found
        fit = self.evidence() if found.fit is not None else None
        return found.across(change, fit)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw its estimates; written to a file if path is given.

        Above, the means with their intervals, what the structure makes of them, and dashed the
        nearest means with which another arm would be best: what would change its mind. Below, the
        pulls so far, and what the lower bound asks for by now: why it explores.
        """
        from armature.views.figure import plot_belief

        return plot_belief(self.picture(), path)

    def picture(self) -> Picture:
        """The content of `plot`, as numbers."""
        belief, bound = self.explain(), None
        if self.goal == "max" and belief.pulls.any():
            with suppress(ArmatureError):  # several arms may be best, for one
                bound = lower_bound(Instance(self.structure, belief.projected, self.family))
        return picture_of(belief, self.structure, goal=self.goal, bound=bound)

    def evidence(self, delta: float | None = None) -> Evidence:
        """The fit of the structure to the rewards: print it, read its fields, or `to_json()`.

        If the structure is true, the evidence against it ever reaches its threshold, ln(1 / delta),
        with probability at most delta, whichever policy chooses and whenever one looks. Without
        `delta`: that of a `Guarded` policy, or 0.01. Where the rewards changed (`change`), those
        before and those since are judged apart, and the one that fits worse is reported: so a
        change is not taken for a wrong structure.

        >>> from armature.live import Bandit
        >>> from armature.policies import Challenger
        >>> from armature.structures import Monotone
        >>> bandit = Bandit(Challenger(), Monotone(2))
        >>> bandit.tell([0, 1] * 50, [2.0, 0.0] * 50)
        >>> bandit.evidence().refuted
        True
        """
        found, parts = evidence_of(self._decisions, self.arms, delta), None
        if self.change() is not None:
            parts = self._outstanding.noticing.parts()
        return found if parts is None else apart(self._decisions, found, parts)

    def verdict(
        self,
        delta: float = 0.05,
        threshold: Threshold = "practical",
        *,
        margin: float | str | None = None,
    ) -> Verdict:
        """The best arm and whether that is sure: print it, read its fields, or `to_json()`.

        Whatever the policy and whenever one looks: with `threshold="theory"`, a wrong arm is ever
        called sure with probability at most `delta`. "practical" asks for less and is not proved;
        `docs/studies/identification.md` has how often it was wrong. The verdict also estimates how
        many more samples it takes. It is never sure where the rewards changed (`change`).

        With a margin, a number or a share such as "1%" of the leader's mean, it says whether any
        arm is better than the leader by more than that, with the same guarantee; and which arms are
        good enough (`good`): all of them surely at once.

        >>> from armature.live import Bandit
        >>> from armature.policies import UCB
        >>> from armature.structures import Unimodal
        >>> bandit = Bandit(UCB(), Unimodal(3), labels=["low", "middle", "high"])
        >>> bandit.tell(["low", "middle", "high"] * 20, [0.0, 1.0, 0.2] * 20)
        >>> found = bandit.verdict(delta=0.05)
        >>> found.arm, found.sure, found.needed, found.needed_at_best
        ('middle', False, 19.0, 16.0)
        """
        bound = GivenMargin(margin, self._goal.about)
        found = verdict_of(self._decisions, self.arms, delta, threshold, bound)
        change = self.change()
        return found if change is None else found.across(change)

    def change(self, false_alarms: float = FALSE_ALARMS) -> Change | None:
        """The change of the rewards: when, and at which arms it shows; None: none shows.

        As long as nothing changes, a change is ever reported with probability at most
        `false_alarms`, whichever policy chooses, however late rewards come, and whenever one looks
        (`armature.bounds.change`). What was found stays found. It changes no decision: for that,
        there is the policy `Restarting`, and a change from which that has begun anew is no longer
        reported. Where the family has no evidence, it is always None.

        >>> from armature.families import Bernoulli
        >>> from armature.live import Bandit
        >>> from armature.policies import UCB
        >>> from armature.structures import Unconstrained
        >>> bandit = Bandit(UCB(), Unconstrained(2), Bernoulli(), labels=["red", "blue"])
        >>> bandit.tell(["red", "blue"] * 160, [1.0, 0.0, 1.0, 1.0] * 80)
        >>> bandit.change() is None
        True
        >>> bandit.tell(["red", "blue"] * 48, [0.0, 1.0, 0.0, 0.0] * 24)
        >>> bandit.change().since, bandit.change().arms
        (320, ('red',))
        """
        found = self._outstanding.noticing.change(self.arms, self._goal, false_alarms)
        done = self.policy.restarted(self._decisions.state)
        return (
            None if found is None or (done is not None and found.since <= done + BLOCK) else found
        )

    def to_json(self) -> str:
        """Everything that the next decisions depend on, for `from_json`."""
        parts = saved_parts(self._setting, self._goal, self._chooser, self._outstanding)
        return as_text({"seed": self._seed, "horizon": self._horizon, **parts})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file, which at any moment is the old one or the new one."""
        write_text(path, self.to_json())

    def __reduce__(self) -> Any:
        """For pickle and copy: what `to_json` says, with the objects in it as they are."""
        kind: Any = type(self)
        objects: dict[str, Any] = {
            "policy": self.policy,
            "structure": self.structure,
            "family": self.family,
        }
        if self._outstanding.fading is not None:
            objects["clock"] = self._outstanding.fading.clock
        return functools.partial(kind.from_json, **objects), (self.to_json(),)
