"""The sampler for Optuna: as a bandit would choose, whatever becomes of the trials."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import numpy as np
import optuna
import pytest

import armature as am
from armature.integrations.optuna import StructuredSampler
from armature.kernels.gears import Gear, using

SIZES = ["tiny", "small", "middle", "large", "huge"]
MEANS = dict(zip(SIZES, [0.1, 0.5, 0.9, 0.6, 0.2], strict=True))


@pytest.fixture(autouse=True)
def _quietly() -> Iterator[None]:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    with using(Gear.python):
        yield


def noisy(seed: int, sign: float = 1.0) -> Callable[[optuna.Trial], float]:
    rng = np.random.default_rng(seed)
    return lambda trial: sign * MEANS[trial.suggest_categorical("size", SIZES)] + 0.3 * rng.normal()


def chosen(study: optuna.Study) -> list[str]:
    return [trial.params["size"] for trial in study.get_trials(deepcopy=False)]


@pytest.mark.parametrize(
    ("direction", "goal", "sign"), [("maximize", "max", 1), ("minimize", "min", -1)]
)
def test_it_chooses_as_a_bandit_does(direction: str, goal: str, sign: int) -> None:
    sampler = StructuredSampler("size", seed=4)
    study = optuna.create_study(direction=direction, sampler=sampler)
    study.optimize(noisy(1, sign), n_trials=80)
    bandit = am.Bandit(
        am.Challenger(), am.Unimodal(5), am.Gaussian(sigma=None), 4, labels=SIZES, goal=goal
    )
    rng = np.random.default_rng(1)
    for arm in chosen(study):
        assert bandit.ask() == arm
        bandit.tell(arm, sign * MEANS[arm] + 0.3 * rng.normal())
    assert sampler.bandit(study).pulls.tolist() == bandit.pulls.tolist()
    assert sampler.bandit(study).verdict().arm == "middle"
    assert chosen(study).count("middle") > 40


def test_pruned_trials_count_with_their_last_report() -> None:
    sampler = StructuredSampler("size")
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        size = trial.suggest_categorical("size", SIZES)
        if size == "tiny":  # has reported nothing
            raise optuna.TrialPruned
        trial.report(0.2, 0)
        trial.report(0.4, 1)
        raise optuna.TrialPruned

    study.optimize(objective, n_trials=12)
    bandit = sampler.bandit(study)
    told = [size for size in chosen(study) if size != "tiny"]
    assert bandit.pulls.tolist() == [told.count(size) if size != "tiny" else 0 for size in SIZES]
    assert bandit.means[1] == pytest.approx(0.4)
    assert bandit.pending.sum() == 0


def test_a_value_that_always_fails_is_left_out() -> None:
    sampler = StructuredSampler("size", failures=2)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    rest = noisy(3)

    def objective(trial: optuna.Trial) -> float:
        value = rest(trial)
        if trial.params["size"] == "tiny":
            raise ValueError("out of memory")
        return float("nan") if trial.number == 20 else value  # which Optuna counts as failed

    study.optimize(objective, n_trials=40, catch=ValueError)
    assert chosen(study).count("tiny") == 2
    bandit = sampler.bandit(study)
    assert bandit.pulls.sum() == 40 - 3
    assert bandit.pending.sum() == 0


def test_where_all_fail_it_goes_on() -> None:
    study = optuna.create_study(sampler=StructuredSampler("size", failures=1))

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("size", SIZES)
        raise ValueError

    study.optimize(objective, n_trials=12, catch=ValueError)
    assert set(chosen(study)) == set(SIZES)


def test_trials_of_others_count() -> None:
    sampler = StructuredSampler("size")
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(3):
        study.enqueue_trial({"size": "huge"})
    study.optimize(noisy(5), n_trials=10)
    again = StructuredSampler("size")
    later = optuna.create_study(direction="maximize", sampler=again)
    later.add_trials(study.get_trials())
    assert chosen(study)[:3] == ["huge"] * 3
    assert sampler.bandit(study).pulls[4] >= 3
    assert again.bandit(later).pulls.tolist() == sampler.bandit(study).pulls.tolist()
    assert again.bandit(later).means.tolist() == pytest.approx(sampler.bandit(study).means.tolist())
    copied = pickle.loads(pickle.dumps(sampler))
    assert copied.bandit(study).pulls.tolist() == sampler.bandit(study).pulls.tolist()


def test_other_parameters_and_whole_numbers() -> None:
    sampler = StructuredSampler("depth", am.Monotone(4) | am.Unimodal(4), seed=1)
    study = optuna.create_study(sampler=sampler)
    rng = np.random.default_rng(2)

    def objective(trial: optuna.Trial) -> float:
        depth, rate = trial.suggest_int("depth", 2, 8, step=2), trial.suggest_float("rate", 0, 1)
        return (depth - 4) ** 2 + rate + rng.normal()

    study.optimize(objective, n_trials=40)
    assert len({trial.params["rate"] for trial in study.trials}) == 40
    assert sampler.bandit(study).arms == [2, 4, 6, 8]
    assert sampler.bandit(study).verdict().arm == 4


def test_threads_share_the_bandit() -> None:
    sampler = StructuredSampler("size")
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(noisy(7), n_trials=24, n_jobs=3)
    bandit = sampler.bandit(study)
    assert bandit.pulls.sum() == 24
    assert bandit.pending.sum() == 0


def test_what_it_is_not_for() -> None:
    several = optuna.create_study(
        directions=["minimize", "maximize"], sampler=StructuredSampler("size")
    )
    with pytest.raises(am.ArmatureError, match="one objective"):
        several.ask().suggest_categorical("size", SIZES)
    study = optuna.create_study(sampler=StructuredSampler("rate"))
    with pytest.raises(am.ArmatureError, match="rate must have finitely many values in order"):
        study.ask().suggest_float("rate", 0.0, 1.0)
    with pytest.raises(am.ArmatureError, match="no trial of the study has the parameter"):
        StructuredSampler("depth").bandit(study)
    with pytest.raises(am.ArmatureError, match="must be the name of a parameter"):
        StructuredSampler(3)
    with pytest.raises(am.ArmatureError, match="failures"):
        StructuredSampler("depth", failures=0)
    wrong = optuna.create_study(sampler=StructuredSampler("size", am.Unimodal(4)))
    with pytest.raises(am.ArmatureError, match="labels"):
        wrong.ask().suggest_categorical("size", SIZES)
