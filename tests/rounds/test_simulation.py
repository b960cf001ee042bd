"""The simulation engine: reproducible to the bit, and right against NumPy."""

from __future__ import annotations

import dataclasses
import math
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import armature as am
from armature.experiments import keys, plan
from armature.experiments import runs as runs_module
from armature.experiments.spec import load_instance
from armature.rounds.play import checkpoints_up_to
from armature.rounds.run import make_run
from armature.storage.registry import POLICIES as KNOWN

UNIMODAL = am.Instance(am.Unimodal(4), [0.0, 0.4, 1.0, 0.3])
POLICIES = [am.UCB(), am.SPk(), am.ThompsonSampling(), am.ProjectedThompson()]


def same(a: am.Results, b: am.Results, policy: str) -> bool:
    return all(
        np.array_equal(getattr(a.runs[policy], field), getattr(b.runs[policy], field))
        for field in ("regret", "pulls", "explored")
    )


@pytest.fixture(scope="module")
def results() -> am.Results:
    return am.simulate(UNIMODAL, POLICIES, horizon=2000, repetitions=6, seed=3, workers=1)


def test_workers_company_and_chunks_change_nothing(results, monkeypatch) -> None:
    for policy in POLICIES:
        alone = am.simulate(UNIMODAL, [policy], 2000, 6, 3, workers=2)
        assert same(alone, results, policy.name)
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 1e-5)
    chunked = am.simulate(UNIMODAL, POLICIES[::-1], 2000, 6, 3, workers=2)
    fewer = am.simulate(UNIMODAL, POLICIES, 2000, 2, 3)
    for policy in POLICIES:
        assert same(chunked, results, policy.name)
        assert np.array_equal(fewer.regret(policy.name), results.regret(policy.name)[:2])
    other = am.simulate(UNIMODAL, POLICIES[:1], 2000, 6, seed=4)
    assert not same(other, results, "UCB")


def test_policies_see_the_same_rewards(results) -> None:
    """UCB with a width of 0 and a policy that always takes the best mean so far: one run."""

    class Greedy(am.PythonPolicy):
        def choose(self, state, problem, history, rng):
            return int(np.argmax(history.means))

    both = am.simulate(UNIMODAL, [Greedy(), am.UCB(width=0.0)], 300, 3, 3)
    assert np.array_equal(both.regret("Greedy"), both.regret("UCB(width=0.0)"))


def test_what_is_recorded(results) -> None:
    assert results.checkpoints[-1] == 2000
    assert (np.diff(results.checkpoints) > 0).all()
    for policy in results.names:
        pulls, regret = results.pulls(policy), results.regret(policy)
        assert np.array_equal(pulls.sum(axis=2), np.tile(results.checkpoints, (6, 1)))
        assert regret == pytest.approx(pulls @ UNIMODAL.gaps)
    explored = results.runs["SPk"].explored
    assert (np.diff(explored, axis=1) >= 0).all()
    assert 0 < explored[:, -1].max() <= 2000 - 4


def nbytes(value: object) -> int:
    """Of all arrays in nested records."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(nbytes, value)) if isinstance(value, tuple) else 0


@pytest.mark.parametrize("policy", [am.UCB(), am.SPk(), am.OSSB(epsilon=0.1)], ids=lambda p: p.name)
def test_memory_does_not_grow_with_the_horizon(policy: am.Policy) -> None:
    """All that a run holds, before and after some rounds: two hundred checkpoints and the state."""
    sizes = set()
    for horizon in (10**6, 10**7):
        checkpoints = checkpoints_up_to(horizon)[:150]
        run = make_run(policy, UNIMODAL, 0, 0, checkpoints)
        sizes.add(nbytes((run._trial, run.runner._packed)))
        run.advance(2000)
        sizes.add(nbytes((run._trial, run.runner._packed)))
    assert len(sizes) == 1
    assert checkpoints_up_to(10**7).size <= 200


def numpy_regret(policy: str, means: np.ndarray, horizon: int, runs: int, seed: int) -> np.ndarray:
    """Final regret of Gaussian runs, all at once, in plain NumPy."""
    rng, K = np.random.default_rng(seed), means.size
    N, S = np.ones((runs, K)), means + rng.normal(size=(runs, K))
    regret = np.full(runs, (means.max() - means).sum())
    rows = np.arange(runs)
    for t in range(K + 1, horizon + 1):
        mu = S / N
        if policy == "UCB" or policy == "KLUCB":
            arm = np.argmax(mu + np.sqrt(2 * math.log(t) / N), axis=1)
        elif policy == "IMED":
            arm = np.argmin(N * (mu - mu.max(axis=1)[:, None]) ** 2 / 2 + np.log(N), axis=1)
        else:
            arm = np.argmax(mu + rng.normal(size=(runs, K)) / np.sqrt(N), axis=1)
        N[rows, arm] += 1
        S[rows, arm] += means[arm] + rng.normal(size=runs)
        regret += means.max() - means[arm]
    return regret


@pytest.mark.checks("UCB", "KLUCB", "ThompsonSampling", "IMED", by="a simulation in NumPy")
@pytest.mark.parametrize(
    "policy", [am.UCB(), am.KLUCB(), am.ThompsonSampling(), am.IMED()], ids=lambda p: p.name
)
def test_against_numpy(policy: am.Policy) -> None:
    """Two samples of 400 final regrets; fails by chance once in 30,000 (4 standard errors)."""
    instance = am.Instance(am.Unconstrained(4), [0.0, 0.33, 0.67, 1.0])
    ours = am.simulate(instance, [policy], 2000, 400, seed=1).regret(policy.name)[:, -1]
    theirs = numpy_regret(policy.name, instance.means, 2000, 400, seed=2)
    error = math.hypot(ours.std() / math.sqrt(400), theirs.std() / math.sqrt(400))
    assert abs(ours.mean() - theirs.mean()) < 4.0 * error


def panel(name: str, policies: list[am.Policy], horizon: int, repetitions: int) -> dict[str, float]:
    results = am.simulate(load_instance(name), policies, horizon, repetitions, seed=0)
    return {policy: results.regret(policy)[:, -1].mean() for policy in results.names}


@pytest.mark.checks("SPk", "SPLambda", by="regret near UCB's")
@pytest.mark.parametrize(
    "name", ["unconstrained", "categorised-2", "unimodal-1", "unimodal-2", "linear", "sparse-2"]
)
def test_saddle_point_policies_stay_near_ucb(name: str) -> None:
    """At most half as much again as UCB, at T = 5,000 (fixed seed)."""
    regret = panel(name, [am.UCB(), am.SPk(), am.SPLambda()], 5000, 40)
    assert regret["SPk"] <= 1.5 * regret["UCB"]
    assert regret["SPLambda"] <= 1.5 * regret["UCB"]


@pytest.mark.checks("SPk", "SPLambda", by="less regret than UCB where the structure helps")
@pytest.mark.parametrize(("name", "factor"), [("categorised-1", 0.5), ("sparse-1", 0.85)])
def test_saddle_point_policies_use_the_structure(name: str, factor: float) -> None:
    """Clearly below UCB, at T = 10,000 (fixed seed)."""
    regret = panel(name, [am.UCB(), am.SPk(), am.SPLambda()], 10_000, 40)
    assert regret["SPk"] <= factor * regret["UCB"]
    assert regret["SPLambda"] <= factor * regret["UCB"]


@pytest.mark.checks(
    "Theorem 3",
    "SPk",
    "SPLambda",
    "UCB",
    "KLUCB",
    "StructuredUCB",
    "CATSE",
    "OSUB",
    "SparseUCB",
    "ThompsonSampling",
    "IMED",
    "ProjectedThompson",
    by="no linear regret on the panels",
)
def test_no_linear_regret() -> None:
    """Between T = 10^4 and 10^5 the regret at most doubles; linear regret grows tenfold.

    Each policy that claims logarithmic regret, on a structure that it is for; the median of 12 runs
    (fixed seed), which one unlucky run can't move.
    """
    cases = {
        "unimodal-1": [
            am.SPk(), am.SPLambda(), am.UCB(), am.KLUCB(), am.StructuredUCB(), am.OSUB(),
            am.ThompsonSampling(), am.IMED(), am.ProjectedThompson(),
        ],
        "linear": [am.SPk(), am.SPLambda()],  # LinUCB only claims a square of the logarithm
        "categorised-2": [am.SPk(), am.CATSE()],
        "sparse-2": [am.SPk(), am.SparseUCB()],
    }  # fmt: skip
    for name, policies in cases.items():
        results = am.simulate(load_instance(name), policies, 100_000, 12, seed=0)
        early = int(np.searchsorted(results.checkpoints, 10_000))
        for policy in results.names:
            regret = np.median(results.regret(policy), axis=0)
            assert regret[-1] <= 2.0 * regret[early] + 5.0, (name, policy)


def test_tables(results) -> None:
    summary = results.summary()
    assert summary.index.tolist() == list(results.names)
    final = results.regret("UCB")[:, -1]
    assert summary.loc["UCB", "regret"] == pytest.approx(final.mean())
    assert summary.loc["UCB", "standard_error"] == pytest.approx(final.std(ddof=1) / math.sqrt(6))
    assert summary.loc["SPk", "V"] == pytest.approx(am.lower_bound(UNIMODAL).value)
    assert math.isnan(summary.loc["UCB", "explored"])
    frame = results.to_frame()
    assert len(frame) == 4 * 6 * results.checkpoints.size
    assert list(frame.columns[:5]) == ["policy", "repetition", "round", "regret", "explored"]
    last = frame[(frame["round"] == 2000) & (frame["policy"] == "SPk")]
    assert np.array_equal(last["regret"], results.regret("SPk")[:, -1])
    paired = results.paired("SPk", "UCB")
    difference = results.regret("SPk")[:, -1] - final
    assert paired.difference == pytest.approx(difference.mean())
    assert paired.low < paired.difference < paired.high
    assert paired.wins == pytest.approx((difference < 0).mean() + 0.5 * (difference == 0).mean())


def test_files(results, tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    results.save(path)
    loaded = am.Results.load(path)
    assert loaded.policies == results.policies
    assert loaded.made_by == results.made_by
    assert loaded.made_by.version == metadata.version("armature-bandits")
    assert list(loaded.made_by.keys) == list(results.names)
    assert loaded.is_current
    assert (loaded.seed, loaded.horizon) == (3, 2000)
    for policy in results.names:
        assert same(loaded, results, policy)
    content = path.read_bytes()
    again = am.simulate(UNIMODAL, POLICIES, 2000, 6, 3, workers=2)
    again.save(path)
    assert path.read_bytes() == content
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(am.ArmatureError, match="is damaged, it was cut off or changed"):
        am.Results.load(path)
    with pytest.raises(am.ArmatureError, match="there is no file"):
        am.Results.load(tmp_path / "nothing.parquet")


def test_results_of_other_code_say_so(results, tmp_path: Path, monkeypatch) -> None:
    """They keep the version that made them, through files too."""
    path = tmp_path / "results.parquet"
    with monkeypatch.context() as patch:
        patch.setattr(keys, "package_version", lambda: "0.0.9")
        patch.setattr(runs_module, "package_version", lambda: "0.0.9")
        results.save(path)
        assert am.Results.load(path).is_current
    for _ in range(2):
        loaded = am.Results.load(path)
        assert loaded.made_by.version == "0.0.9"
        assert not loaded.is_current
        loaded.save(path)


def test_results_outlive_a_default(tmp_path: Path, monkeypatch) -> None:
    """A file knows its policies' options: they are what they were when the default changes."""

    @dataclasses.dataclass(frozen=True)
    class Wide(am.UCB):
        width: float = 2.0

    monkeypatch.setitem(KNOWN._exported, "wide", Wide)
    am.simulate(UNIMODAL, [Wide()], 50, 2).save(tmp_path / "a.parquet")

    @dataclasses.dataclass(frozen=True)
    class Narrow(am.UCB):
        width: float = 0.5

    Narrow.__name__ = "Wide"
    monkeypatch.setitem(KNOWN._exported, "wide", Narrow)
    (policy,) = am.Results.load(tmp_path / "a.parquet").policies
    assert policy == Narrow(width=2.0)
    assert am.Results.load(tmp_path / "a.parquet").names == ("Wide(width=2.0)",)


def test_only_what_was_timed_counts_for_the_speed(results) -> None:
    """Runs that were read from a file have no time: they don't make the others look faster."""
    runs = results.runs["UCB"]
    seconds = np.where(np.arange(6) < 2, 0.002, 0.0)
    some = {"UCB": dataclasses.replace(runs, seconds=seconds)}
    part = dataclasses.replace(results, policies=(am.UCB(),), runs=some)
    assert part.summary()["us_per_round"]["UCB"] == pytest.approx(1.0)
    none = {"UCB": dataclasses.replace(runs, seconds=np.zeros(6))}
    part = dataclasses.replace(results, policies=(am.UCB(),), runs=none)
    assert np.isnan(part.summary()["us_per_round"]["UCB"])


def test_a_changed_file_is_refused(results, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "results.parquet"
    results.save(path)
    table = pq.read_table(path)
    regret = table["regret"].to_numpy().copy()
    regret[7] += 1e-9
    changed = table.set_column(3, "regret", [regret])
    pq.write_table(changed, path)
    with pytest.raises(am.ArmatureError, match="cut off or changed: its checksum does not match"):
        am.Results.load(path)
    pq.write_table(table.replace_schema_metadata(None), path)
    with pytest.raises(am.ArmatureError, match="is not a file of results"):
        am.Results.load(path)


def test_pictures(results, tmp_path: Path) -> None:
    results.plot(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    with pytest.raises(am.ArmatureError, match=r"must end in \.png, \.svg or \.pdf"):
        results.plot(tmp_path / "regret.txt")


def test_bad_input() -> None:
    for arguments, complaint in (
        (([], 100), "there are no policies to run"),
        (([am.UCB(), am.UCB()], 100), "UCB is there twice"),
        (([am.UCB()], 0), "horizon must be a whole number, at least 1; got 0"),
        (([am.UCB()], 3), "horizon = 3 is less than the 4 arms, each of which is pulled once"),
        (([am.UCB()], 100, 0), "repetitions must be a whole number"),
        (([am.UCB()], 100, 1, -1), "seed must be an integer"),
        (([am.UCB()], 100, 1, 0, 0), "workers must be a whole number, at least 1; got 0"),
        (([am.CATSE()], 100), "CATSE is for Categorised structures"),
    ):
        with pytest.raises(am.ArmatureError, match=complaint):
            am.simulate(UNIMODAL, *arguments)
    results = am.simulate(UNIMODAL, [am.UCB()], 10, 1)
    with pytest.raises(am.ArmatureError, match="the policy 'UBC' is unknown: did you mean 'UCB'"):
        results.regret("UBC")
