"""A sampler for Optuna: one ordered parameter, whose values are compared with noise.

Optuna's samplers take a categorical parameter for a set without order, and a numeric one for a
smooth function of its value. Here the values are arms in order: a structure says what the order
means, as one peak, and repeated trials of a value are averaged, not believed.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from armature.errors import ArmatureError
from armature.families import Family, Gaussian
from armature.kernels.checks import checked_count
from armature.live import Bandit, Decision
from armature.policies import Challenger, Policy
from armature.structures import Structure, Unimodal

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILURES = 3


class StructuredSampler(BaseSampler):
    """Samples one ordered, noisy parameter as a bandit does; other parameters by another sampler.

    Each trial is a pull of the arm that is the parameter's value, and the objective is its reward
    (its cost, where the study minimises). Trials that others add (`study.add_trial`,
    `enqueue_trial`, an earlier run of the study) count as rewards as well.

    Parameters
    ----------
    parameter : str
        The name of the parameter: `suggest_categorical` with its choices in order, or
        `suggest_int`, whose values are arms each.
    structure : Structure, optional
        What is known of the mean objective of the values; one peak unless given.
    policy : Policy, optional
        The policy that chooses; `Challenger()` unless given.
    family : Family, optional
        The distribution of the objective; Gaussian with an unknown sigma unless given.
    seed : int
        What the random numbers depend on.
    failures : int
        A value is left out once so many of its trials have failed, if none has succeeded.
    otherwise : BaseSampler, optional
        The sampler for all other parameters; `RandomSampler(seed)` unless given.

    Guarantee
    ---------
    A pruned trial counts with the last value that it reported; one that reported none does not
    count, nor does one that failed. (If pruned trials did not count, a bad arm would be tried
    again and again.) Trials in one process share the bandit, whichever thread they are in. Without
    threads a study is a function of the seed.

    >>> import numpy as np
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> rng = np.random.default_rng(1)
    >>> def objective(trial):
    ...     depth = trial.suggest_int("depth", 1, 8)
    ...     return -abs(depth - 3) + rng.normal()
    >>> sampler = StructuredSampler("depth")
    >>> study = optuna.create_study(direction="maximize", sampler=sampler)
    >>> study.optimize(objective, n_trials=100)
    >>> sampler.bandit(study).verdict().arm
    3

    Limits
    ------
    One parameter, one objective. Processes that share a study's storage see each other's finished
    trials, not the running ones. The best value is `sampler.bandit(study).verdict().arm`:
    `study.best_params` is that of the luckiest trial.
    """

    def __init__(
        self,
        parameter: str,
        structure: Structure | None = None,
        *,
        policy: Policy | None = None,
        family: Family | None = None,
        seed: int = 0,
        failures: int = FAILURES,
        otherwise: BaseSampler | None = None,
    ) -> None:
        if not isinstance(parameter, str):
            raise ArmatureError(f"parameter must be the name of a parameter; got {parameter!r}.")
        self._parameter, self._structure = parameter, structure
        self._policy = Challenger() if policy is None else policy
        self._family = Gaussian(sigma=None) if family is None else family
        self._seed, self._failures = int(seed), checked_count(failures, "failures")
        self._otherwise = RandomSampler(self._seed) if otherwise is None else otherwise
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._courses: weakref.WeakKeyDictionary[Study, _Course] = weakref.WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        del kept["_lock"], kept["_courses"]  # a copy takes up the trials of a study again
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def bandit(self, study: Study) -> Bandit:
        """The bandit with all finished trials: ask it for `verdict()`, `explain()`, `plot()`."""
        with self._lock:
            course = self._courses.get(study)
            if course is None:
                course = self._course_of_trials(study)
            course.take_in(study, self._parameter)
            return course.bandit

    def _course_of_trials(self, study: Study) -> _Course:
        for trial in study.get_trials(deepcopy=False):
            if self._parameter in trial.distributions:
                return self._course(study, trial.distributions[self._parameter])
        raise ArmatureError(f"no trial of the study has the parameter {self._parameter!r} yet.")

    def _course(self, study: Study, distribution: BaseDistribution) -> _Course:
        """The bandit of a study, made when it is asked for first."""
        if study in self._courses:
            return self._courses[study]
        if len(study.directions) > 1:
            raise ArmatureError("a bandit has one objective: the study has several.")
        choices = _choices(self._parameter, distribution)
        structure = Unimodal(len(choices)) if self._structure is None else self._structure
        goal = "max" if study.direction == StudyDirection.MAXIMIZE else "min"
        bandit = Bandit(
            self._policy, structure, self._family, self._seed, labels=choices,
            goal=goal,  # type: ignore[arg-type]
        )  # fmt: skip
        self._courses[study] = _Course(bandit)
        return self._courses[study]

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        space = self._otherwise.infer_relative_search_space(study, trial)
        return {name: of for name, of in space.items() if name != self._parameter}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self._otherwise.sample_relative(study, trial, search_space)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        if param_name != self._parameter:
            return self._otherwise.sample_independent(study, trial, param_name, param_distribution)
        with self._lock:
            course = self._course(study, param_distribution)
            course.take_in(study, self._parameter)
            return course.ask(trial.number, self._failures)

    def reseed_rng(self) -> None:
        self._otherwise.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._otherwise.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        self._otherwise.after_trial(study, trial, state, values)


class _Course:
    """A study's bandit, and which of its trials it knows."""

    def __init__(self, bandit: Bandit) -> None:
        self.bandit = bandit
        self._asked: dict[int, Decision] = {}  # for running trials, by their number
        self._known: set[int] = set()  # finished trials
        self._failed: Counter[Any] = Counter()

    def ask(self, number: int, failures: int) -> Any:
        """The value for a trial."""
        pulls = dict(zip(self.bandit.arms, self.bandit.pulls, strict=True))
        hopeless = [
            arm for arm, times in self._failed.items() if times >= failures and not pulls[arm]
        ]
        if len(hopeless) == len(pulls):
            hopeless = []
        decision = self.bandit.ask(exclude=hopeless, ids=True)
        self._asked[number] = decision
        return decision.arm

    def take_in(self, study: Study, parameter: str) -> None:
        """Tell the bandit of all trials that have ended since."""
        ended = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
        for trial in study.get_trials(deepcopy=False, states=ended):
            if trial.number in self._known:
                continue
            self._known.add(trial.number)
            asked, value = self._asked.pop(trial.number, None), _value(trial)
            arm = trial.params.get(parameter, _NONE) if asked is None else asked.arm
            if arm is _NONE or arm not in self.bandit.arms:
                continue
            if value is None:
                self._failed[arm] += trial.state == TrialState.FAIL
            if asked is None and value is not None:
                self.bandit.tell(arm, value)
            elif asked is not None and value is not None:
                self.bandit.tell_by_id(asked.id, value)
            elif asked is not None:
                self.bandit.cancel_by_id(asked.id)


_NONE = object()


def _value(trial: FrozenTrial) -> float | None:
    """The reward of a trial that has ended; None where there is none."""
    value = trial.value if trial.state == TrialState.COMPLETE else None
    if trial.state == TrialState.PRUNED and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
    return None if value is None or not math.isfinite(value) else float(value)


def _choices(name: str, distribution: BaseDistribution) -> list[Any]:
    """The values of a parameter, in order."""
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, IntDistribution):
        return list(range(distribution.low, distribution.high + 1, distribution.step))
    raise ArmatureError(
        f"{name} must have finitely many values in order: use suggest_categorical or suggest_int."
    )
