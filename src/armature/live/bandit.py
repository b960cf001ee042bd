"""The online bandit: ask for an arm, tell its reward, save, resume, explain."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from typing import Any, Literal, overload

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family, Gaussian
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_flag, check_kind, checked_count, is_whole
from armature.kernels.gears import straight_to_machine_code
from armature.live.arms import RETIRED, Arms, Retired
from armature.live.changing import Setting, place_of_new, setting_of, with_arm, without_arm
from armature.live.checkpoint import content_of, restore_parts, start_of, text_in
from armature.live.choosing import Chooser, checked_floor, play_once
from armature.live.fading import Clock, HalfLife, fading_of, forgetting
from armature.live.outstanding import Decision, Outstanding
from armature.live.readable import Arm, ReadableBandit
from armature.live.rewards import Goal, Rewards, checked_number, pairs_of
from armature.live.warm_start import take_in_past
from armature.policies import CompiledPolicy, Policy
from armature.policies.policy import checked_policy
from armature.rounds.runner import make_runner
from armature.storage.registry import Allowed
from armature.structures import Structure
from armature.structures.declared import check_is_structure

MOST_ASKED = 1_000_000  # arms in one list
NONE: tuple[Arm, ...] = ()  # no arm is excluded


class Bandit(ReadableBandit):
    """A policy that decides live.

    `ask()` says which arm to pull and `tell(arm, reward)` what came of it; `cancel(arm)` says that
    a reward will never come. Several asks may be outstanding, rewards may come late and in any
    order, and for arms that were never asked. While rewards are outstanding, the policy decides as
    if each had been its arm's mean so far: it counts the pull, and learns nothing from it yet.

    What is refused changes nothing. Everything is a function of what was asked and told, and of the
    seed; `to_json` keeps all of it.

    >>> from armature.policies import UCB
    >>> from armature.structures import Unconstrained
    >>> bandit = Bandit(UCB(), Unconstrained(2), labels=["red", "blue"])
    >>> bandit.ask()
    'red'
    >>> bandit.tell("red", 0.3)
    >>> bandit.ask(2)
    ['blue', 'red']
    >>> bandit.tell(["blue", "red"], [0.9, 0.1])
    >>> bandit.pulls.tolist(), bandit.means.tolist()
    ([2, 1], [0.2, 0.9])

    Parameters
    ----------
    policy, structure, family, seed
        How to choose, what is known about the means, how rewards are distributed (Gaussian with
        standard deviation 1 unless given), and what the random numbers depend on.
    labels : sequence of hashable, optional
        What arms are called: strings, numbers or tuples. Without, they are numbers from 0.
    horizon : int, optional
        The number of rounds, for policies that need it.
    goal : {"max", "min"}
        "min": the numbers that are told are costs, and the cheapest arm is best. A structure then
        says of costs what it says of rewards with good and bad exchanged: `Unimodal` is one valley,
        `Categorised` a category that is cheaper than all others, `Sparse` a few arms below the
        level. Numbers such as bounds and levels are costs, and so is all that is given back. For
        Gaussian rewards, and those that lie between bounds, one pair of bounds for all arms.
    floor : float
        The least share of decisions for each of the n arms, from 0 to 1 / n: an arm that the policy
        chooses with probability w is chosen with f + (1 - n f) w. It costs f times the sum of all
        gaps in every round, for ever: with a floor, regret grows linearly.
    history : optional
        Rewards from before: pairs of arm and reward; a data frame with the columns `arm` and
        `reward`; or sums, as `{"counts": ..., "sums": ..., "squares": ...}` with a number for each
        arm, in a list or by name (`squares`, of the rewards themselves, is for families whose
        spread is unknown). They count as if they had been told, one by one. What a policy keeps
        besides rewards, such as SPk's learners, begins with the first ask; one that takes in every
        reward by itself needs the rewards one by one.
    forget, clock : optional
        A half-life: rewards count half as much after so many others (a number), or by the clock
        after so long, "12h", "7d" or a `timedelta`: the policy becomes `Forgetting`. `clock` is a
        function that gives the time in seconds, `time.time` unless given.
    """

    def __init__(
        self,
        policy: Policy,
        structure: Structure,
        family: Family | None = None,
        seed: int = 0,
        *,
        labels: Sequence[Hashable] | None = None,
        horizon: int | None = None,
        goal: Literal["max", "min"] = "max",
        floor: float = 0.0,
        history: Any = None,
        forget: HalfLife | None = None,
        clock: Clock | None = None,
    ) -> None:
        family = Gaussian() if family is None else family
        self._horizon = None if horizon is None else checked_count(horizon, "horizon")
        policy, seconds = forgetting(checked_policy(policy, self._horizon), forget)
        check_is_structure(structure)
        check_kind(family, Family, "family", "Gaussian()")
        self._goal = Goal.of(goal, family)
        arms = Arms.of(labels, structure.n_arms)
        self._setting = setting_of(policy, structure, family, arms, self._goal, seed)
        self._seed = int(seed)
        floor = checked_floor(floor, structure.n_arms)
        self._chooser = Chooser(self._setting.decisions, floor, self._seed)
        self._outstanding = Outstanding(arms, family, fading_of(policy, seconds, clock))
        self._rewards = Rewards(family)
        if history is not None:
            take_in_past(self._decisions, self._outstanding, self._goal, family, history)

    def warm_up(self) -> None:
        """Compile all that `ask` and `tell` need, or load it, now: some seconds the first time.

        Without it, the first decisions are made in plain Python. The bandit stays as it is.
        """
        if isinstance(self.policy, CompiledPolicy):
            structure = self._goal.structure(self.structure)
            with straight_to_machine_code():
                play_once(make_runner(self.policy, structure, self.family, self._seed), self.floor)

    # Asking.

    @overload
    def ask(self, n: None = None, *, exclude: Sequence[Arm] = ...) -> Arm: ...
    @overload
    def ask(self, n: int, *, exclude: Sequence[Arm] = ...) -> list[Arm]: ...
    @overload
    def ask(
        self, n: None = None, *, exclude: Sequence[Arm] = ..., ids: Literal[True]
    ) -> Decision: ...
    @overload
    def ask(
        self, n: int, *, exclude: Sequence[Arm] = ..., ids: Literal[True]
    ) -> list[Decision]: ...
    def ask(self, n: int | None = None, *, exclude: Sequence[Arm] = NONE, ids: bool = False) -> Any:
        """The arm to pull next, or a list of n arms to pull at once.

        Parameters
        ----------
        n
            How many, at most a million; without it, one arm instead of a list. If the policy fails
            at one of them, none is asked for.
        exclude
            Arms that must not be chosen now, not all of them. What the policy chooses is taken if
            it is allowed, and may still be the best arm that is: its upper confidence bound reaches
            the lower bounds of these. Else it is the allowed arm with the highest upper bound. So
            the regret against the best allowed arm grows as ln t, also if the best arm of all is
            excluded for ever.
        ids
            Give a `Decision` with an id for each, for `tell_by_id` and `cancel_by_id`.
        """
        if not isinstance(ids, bool):
            check_flag(ids, "ids")
        if not (n is None or (is_whole(n) and 0 <= n <= MOST_ASKED)):
            most = f"{MOST_ASKED:,}"
            raise ArmatureError(f"n must be a whole number of arms, from 0 to {most}; got {n!r}.")
        allowed = None if exclude is NONE else self._setting.arms.allowed(exclude)
        chooser, outstanding = self._chooser, self._outstanding
        _, family, arms, decisions = self._setting
        self._outstanding.pass_time(decisions.state)
        before = None if n is None else (chooser.moment(), outstanding.moment())
        asked: list[Any] = []
        try:
            for _ in range(1 if n is None else n):
                seen = outstanding.with_pending(decisions.history, family)
                if ids:
                    arm, probability = chooser.choose_with_probability(seen, allowed)
                    asked.append(outstanding.tickets.issue(arms.names[arm], probability))
                else:
                    arm = chooser.choose(seen, allowed)
                    asked.append(arms.names[arm])
                outstanding.expect(arm, ids)
        except BaseException:  # the caller never learns of the arms so far: no reward would come
            if before:
                chooser.return_to(before[0])
                outstanding.return_to(before[1])
            raise
        return asked[0] if n is None else asked

    def asked(self, arm: Arm, *, exclude: Sequence[Arm] = NONE, ids: bool = False) -> Arm:
        """Take note of a decision that was made before: to rebuild a bandit from a log.

        All is as if `ask(exclude=exclude, ids=ids)` had returned `arm`, which counts as pending and
        gets an id if there are ids: the policy is asked, and random numbers are drawn. Returns what
        `ask` would have returned by itself: the same, unless the log is of another version or
        machine.
        """
        check_flag(ids, "ids")
        allowed, place = self._setting.arms.allowed(exclude), self._setting.arms.live_place(arm)
        self._outstanding.pass_time(self._setting.decisions.state)
        chosen = self._chooser.choose(self._seen(), allowed)
        names = self._setting.arms.names
        if ids:
            self._outstanding.tickets.issue(names[place])
        self._outstanding.expect(place, ids)
        return names[chosen]

    def ask_with_probability(self, *, exclude: Sequence[Arm] = NONE) -> tuple[Arm, float | None]:
        """The arm to pull next, and the probability with which it was chosen.

        None where the policy draws by odds that it does not know, as Thompson sampling does with
        more than two arms: `probabilities` estimates them.
        """
        _, family, arms, decisions = self._setting
        self._outstanding.pass_time(decisions.state)
        seen = self._outstanding.with_pending(decisions.history, family)
        allowed = None if exclude is NONE else arms.allowed(exclude)
        arm, probability = self._chooser.choose_with_probability(seen, allowed)
        self._outstanding.expect(arm)
        return arms.names[arm], probability

    def expect(self, arm: Arm) -> None:
        """Count a pull as pending that was decided elsewhere; the policy is not asked."""
        self._outstanding.pass_time(self._setting.decisions.state)
        self._outstanding.expect(self._setting.arms.live_place(arm))

    # Telling.

    def tell(self, arm: Arm | Sequence[Arm], reward: float | Sequence[float]) -> None:
        """Take in the reward of an arm, or the rewards of several.

        If anything is wrong with them, nothing changes. A late reward of an arm that was retired is
        no longer pending, and not counted.
        """
        if isinstance(arm, Decision):
            raise ArmatureError(f"{arm} has an id: say tell_by_id({arm.id}, ...).")
        pairs = pairs_of(self._setting.arms, arm, reward)
        checked = [(one, *self._checked(one, value)) for one, value in pairs]
        for one, place, value in checked:
            self._count(place, value, self._outstanding.came(one, place))

    def tell_by_id(
        self, id: int, reward: float
    ) -> Literal["applied", "duplicate", "settled", "ignored"]:
        """Take in the reward of a decision, once.

        Returns "applied"; "duplicate" if this reward of this decision was told before; "settled" if
        it was settled so long ago (10,000 decisions since) that it is not known how; "ignored" if
        its arm was retired. Another reward for the decision, or after it was cancelled, is refused.
        """
        tickets, number = self._outstanding.tickets, self._outstanding.tickets.checked(id)
        if number not in tickets.open:
            return self._outstanding.repeated(number, checked_number(reward))
        place, value = self._checked(tickets.open[number], reward)
        self._count(place, value, self._outstanding.close(number, checked_number(reward)))
        return "ignored" if place == RETIRED else "applied"

    def cancel(self, arm: Arm) -> None:
        """A reward that is outstanding will never come: the pull is not expected any more."""
        if isinstance(arm, Decision):
            raise ArmatureError(f"{arm} has an id: say cancel_by_id({arm.id}).")
        self._outstanding.cancel(arm)

    def cancel_by_id(self, id: int) -> Literal["cancelled", "duplicate", "settled"]:
        """The reward of a decision will never come; refused if it came.

        Returns "cancelled"; "duplicate" if it was cancelled before; "settled" if it was told or
        cancelled so long ago that it is not known how.
        """
        tickets, number = self._outstanding.tickets, self._outstanding.tickets.checked(id)
        if number not in tickets.open:
            return self._outstanding.repeated(number, None)
        self._outstanding.close(number, None)
        return "cancelled"

    def check_reward(self, arm: Arm, reward: Any) -> None:
        """Refuse what `tell` would refuse, with the same sentence; nothing changes."""
        self._checked(arm, reward)

    def _checked(self, arm: Arm, reward: Any) -> tuple[int, float]:
        """The place of an arm, and what the policy is given for the reward."""
        place = self._setting.arms.place(arm)
        if place == RETIRED:
            return place, checked_number(reward)
        return place, self._goal.value(self._rewards.checked(reward, place))

    def _count(self, place: int, value: float, when: int) -> None:
        if place != RETIRED:
            self._outstanding.weigh(self._setting.decisions.state)
            self._setting.decisions.take_in(place, value)
            self._outstanding.noticing.take_in(place, value, when)

    # Changing.

    def set_floor(self, floor: float) -> None:
        """Another least share of decisions for each arm, from now on."""
        self._chooser.floor = checked_floor(floor, self.structure.n_arms)

    def add_arm(
        self, label: Hashable = None, *, after: Arm = None, before: Arm = None, **facts: Any
    ) -> Arm:
        """One more arm, where the structure says what that means; returns what it is called.

        The others keep their rewards, and what is outstanding. What the policy keeps besides begins
        anew, as with a bandit that starts from this history. An arm that was retired comes back
        with its rewards, but not with another `scale`: that is another arm.

        >>> from armature.policies import UCB
        >>> from armature.structures import Unimodal
        >>> bandit = Bandit(UCB(), Unimodal(2), labels=["9.99", "12.99"])
        >>> bandit.tell(["9.99", "12.99"], [1.0, 2.0])
        >>> bandit.add_arm("10.99", after="9.99")
        '10.99'
        >>> bandit.arms, bandit.means.tolist(), bandit.ask()
        (['9.99', '10.99', '12.99'], [1.0, nan, 2.0], '10.99')

        Parameters
        ----------
        label
            What it is called; where the bandit has no labels, the next number, or that of a retired
            arm.
        after, before
            Its neighbour, for structures in which arms are in order (`Unimodal`, `Monotone`,
            `Multimodal`): one of the two. Elsewhere it comes last.
        facts
            What the structure and the family ask for: `position` (`Lipschitz`, `Concave`),
            `price` (`Demand`), `category` (`Categorised`), `features` (`Linear`), `low` and `high`
            (`Box`); `sigma` or `scale`, where each arm has its own. An `Intersection` asks for what
            its parts do.
        """
        arms = self._setting.arms
        name, at = arms.new_name(label), place_of_new(self.structure, arms, after, before)
        checked_floor(self.floor, self.structure.n_arms + 1)
        back = arms.retired.get(name, Retired(0.0, 0.0, 0.0, 0.0))
        setting = with_arm(self._setting, self._goal, self._seed, name, at, facts)
        back.check_rewards(name, setting.family.for_arm(at))
        self._change(setting, np.insert(self._outstanding.pending, at, back.pending))
        return name

    def retire_arm(self, arm: Arm) -> None:
        """An arm is never chosen again; what was learned about the others stays.

        The structure goes on with what it says about the others; the rewards of this arm have no
        say any more. Outstanding ones may be told or cancelled, and are not counted. The policy is
        told its history again, as by `add_arm`.
        """
        at = self._setting.arms.live_place(arm)
        pending = self._outstanding.pending
        setting = without_arm(self._setting, self._goal, self._seed, at, float(pending[at]))
        self._change(setting, np.delete(pending, at))

    def _change(self, setting: Setting, pending: Floats) -> None:
        self._setting, self._chooser.decisions = setting, setting.decisions
        self._outstanding.change(setting.arms, pending, setting.family)
        self._rewards = Rewards(setting.family)

    # Saving.

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        policy: Policy | None = None,
        structure: Structure | None = None,
        family: Family | None = None,
        allow: Allowed = (),
        clock: Clock | None = None,
    ) -> Bandit:
        """The bandit that `to_json` wrote down; it goes on with the same decisions.

        A text can name classes of your own, and importing them runs their code: they are imported
        only from the modules and packages that `allow` names. Or give the objects here, and what
        the text says of them is not looked at.
        """
        try:
            content = content_of(text)
            bandit = cls(**start_of(content, policy, structure, family, allow), clock=clock)
            restore_parts(content, bandit._setting, bandit._chooser, bandit._outstanding)
        except RecursionError:
            raise ArmatureError("the saved bandit has lists in lists, too deep to read.") from None
        return bandit

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        policy: Policy | None = None,
        structure: Structure | None = None,
        family: Family | None = None,
        allow: Allowed = (),
        clock: Clock | None = None,
    ) -> Bandit:
        """The bandit in a file; the other arguments as for `from_json`."""
        return cls.from_json(
            text_in(path),
            policy=policy, structure=structure, family=family, allow=allow, clock=clock,
        )  # fmt: skip
