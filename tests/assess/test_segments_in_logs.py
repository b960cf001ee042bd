"""Segments in logs: differences, couplings, what pooling hides."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

import armature as am
from armature.assess.from_spec import assess_file
from armature.assess.segments import judging as module

NAMES = ["mobile", "desktop", "returning"]
PRICES = [4.99, 5.99, 6.99, 7.99]
WORTH = np.array([0.0, 0.3, 0.6, 0.2])
ADDITIVE = WORTH + np.array([[0.0], [0.4], [1.0]])
TABLE = am.Segments(NAMES, each=am.Unimodal(4), coupling=am.Additive())


def log_of(means: np.ndarray, rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    c = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    k = rng.integers(4, size=rows)
    rewards = means[c, k] + rng.normal(0.0, 0.3, rows)
    columns = {"segment": np.array(NAMES)[c], "price": np.array(PRICES)[k], "reward": rewards}
    return pd.DataFrame(columns)


def found_in(log: Any, table: am.Segments = TABLE, **more: Any) -> am.SegmentedAssessment:
    more = {"columns": {"arm": "price"}, "policies": [], **more}
    found = am.assess(log, table, **more)
    assert isinstance(found, am.SegmentedAssessment)
    return found


def standing(found: am.SegmentedAssessment) -> dict[str, bool]:
    return {one.name: not one.refuted for one in found.candidates}


@pytest.mark.parametrize(
    ("means", "expected", "advised"),
    [
        (ADDITIVE, [False, True, True, True], "Additive()"),
        (np.tile(WORTH, (3, 1)), [True, True, True, True], "the same means"),
        (WORTH * [[1.0], [3.0], [0.4]], [False, False, True, True], "SameBest()"),
        (2.0 * np.array([WORTH, WORTH[::-1], WORTH]), [False, False, False, True], "separate"),
    ],
    ids=["additive", "same", "same best", "separate"],
)
def test_what_segments_have_in_common(
    means: np.ndarray, expected: list[bool], advised: str
) -> None:
    found = found_in(log_of(means))
    assert list(standing(found).values()) == expected
    assert found.advised.name == advised
    assert found.differ == (advised != "the same means")
    fitted = found.advised.fitted
    lost = found.shares @ (fitted.max(axis=1) - fitted[:, int((found.shares @ fitted).argmax())])
    assert found.one_for_all == pytest.approx(10_000 * lost)
    assert (found.one_for_all > 100.0) == (advised == "separate")


def test_evidence_is_that_of_a_bandit() -> None:
    log = log_of(ADDITIVE, 300)
    family = am.Gaussian(0.3)
    found = found_in(log, family=family)
    bandit = am.Bandit(am.UCB(), TABLE, family, labels=PRICES)
    for name, rows in log.groupby("segment"):
        bandit.tell(rows["price"].tolist(), rows["reward"].tolist(), segment=name)
    additive = found.candidates[1]
    assert additive.evidence is not None
    assert additive.evidence.log_e == pytest.approx(bandit.evidence().log_e)
    assert found.log.counts.reshape(3, 4).tolist() == bandit.pulls.tolist()
    assert found.log.means.reshape(3, 4) == pytest.approx(bandit.means)
    # The same means in all: as if segments differed by nothing at each arm.
    free = am.Segments(NAMES, each=am.Unconstrained(4), coupling=am.Alike(1e-7))
    same = found_in(log, free, family=family).candidates[0]
    assert same.evidence is not None
    fit = free.project(found.log.means, found.log.counts, family)
    assert same.evidence.misfit == pytest.approx(fit.cost, rel=1e-5)


def stones() -> pd.DataFrame:
    """Treatments of kidney stones (Charig, Webb, Payne and Wickham, 1986): successes of cases."""
    table = {("A", "small"): (81, 87), ("A", "large"): (192, 263),
             ("B", "small"): (234, 270), ("B", "large"): (55, 80)}  # fmt: skip
    rows = [
        (arm, segment, float(n < good))
        for (arm, segment), (good, all_) in table.items()
        for n in range(all_)
    ]
    return pd.DataFrame(rows, columns=["price", "segment", "reward"])


def test_simpsons_paradox() -> None:
    table = am.Segments(["small", "large"], each=am.Unconstrained(2), coupling=am.Additive())
    found = found_in(stones(), table, family=am.Bernoulli())
    assert found.pooled.pooled == pytest.approx([273 / 350, 289 / 350])
    small, large = 357 / 700, 343 / 700
    assert found.pooled.adjusted == pytest.approx(
        [small * 81 / 87 + large * 192 / 263, small * 234 / 270 + large * 55 / 80]
    )
    assert found.pooled.paradox
    assert not found.pooled.clear
    assert "Simpson's paradox: pooled, B looks better than A" in found.notes[-1]
    assert "may be chance" in found.notes[-1]
    assert found.recommendation.startswith("Do not trust the pooled means")
    balanced = stones().groupby(["price", "segment"]).head(80)
    assert not found_in(balanced, table, family=am.Bernoulli()).pooled.paradox


def test_other_names_and_other_orders_change_nothing() -> None:
    log = log_of(ADDITIVE, 400)
    first = found_in(log)
    other = log.assign(segment=log["segment"].map(dict(zip(NAMES, "xyz", strict=True))))
    renamed = am.Segments("xyz", each=am.Unimodal(4), coupling=am.Additive())
    second = found_in(other.sample(frac=1.0, random_state=1), renamed)
    for one, two in zip(first.candidates, second.candidates, strict=True):
        assert one.fitted == pytest.approx(two.fitted)
        assert one.value == pytest.approx(two.value)


def test_the_worth_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Separate bandits and coupled ones, at the means of the advised fit, as often as they came."""
    played = []

    def simulated(instance: am.Instance, *settings: Any) -> SimpleNamespace:
        played.append((instance, settings))
        regret = 30.0 if instance.structure.is_coupled else 90.0
        return SimpleNamespace(regret=lambda policy: np.array([[0.0, regret], [0.0, regret]]))

    monkeypatch.setattr(module, "simulate", simulated)
    found = found_in(log_of(ADDITIVE), policies=None, horizon=5000, draws=2, unit="euros",
                     traffic=100.0)  # fmt: skip
    (alone, _), (both, settings) = played
    assert (alone.structure.coupling, both.structure.coupling) == (None, am.Additive())
    assert alone.means == pytest.approx(found.advised.fitted)
    assert both.frequencies == pytest.approx(found.shares, abs=1e-6)
    assert settings[1:3] == (5000, 2)
    assert any("it saves 60, within 50 days" in note for note in found.notes)


@pytest.mark.parametrize("coupling", [am.Additive(), None], ids=repr)
def test_a_replay_is_a_live_bandit_with_the_logged_rewards(coupling: am.Coupling | None) -> None:
    """Segments arrive as in the log; each arm's rewards in each segment, in their order."""
    log, family = log_of(ADDITIVE, 240), am.Gaussian(0.3)
    table = am.Segments(NAMES, each=am.Unimodal(4), coupling=coupling)
    found = am.replay(log, am.Challenger(), table, family, columns={"arm": "price"},
                      repetitions=2, seed=5)  # fmt: skip
    bandit = am.Bandit(am.Challenger(), table, family, 5, labels=PRICES)
    queues = {cell: list(rows["reward"]) for cell, rows in log.groupby(["segment", "price"])}
    total, out = 0.0, None
    for segment in log["segment"]:
        price = bandit.ask(segment=segment)
        if not queues[segment, price]:
            out = segment, price
            break
        reward = queues[segment, price].pop(0)
        bandit.tell(price, reward, segment=segment)
        total += reward
    replayed = found["Challenger"]
    assert replayed.rounds == bandit.pulls.sum() < 240
    assert replayed.exhausted == out
    assert replayed.reward == pytest.approx(total)
    assert replayed.shares * replayed.rounds == pytest.approx(bandit.pulls.reshape(-1))


def test_files_and_pages(tmp_path: Path) -> None:
    log_of(ADDITIVE, 300).rename(columns={"segment": "device"}).to_csv(
        tmp_path / "log.csv", index=False
    )
    (tmp_path / "log.toml").write_text(
        'policies = []\n[log]\narm = "price"\nsegment = "device"\n'
        '[structure]\nkind = "segments"\neach = { kind = "unimodal" }\n'
        'coupling = { kind = "additive" }\n'
    )
    found = assess_file(tmp_path / "log.csv", tmp_path / "log.toml")
    assert isinstance(found, am.SegmentedAssessment)
    assert set(found.table.names) == set(NAMES)
    found.save(tmp_path / "out")
    data = json.loads((tmp_path / "out" / "assessment.json").read_text())
    assert data["advised"] == "Additive()"
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") >= 3
    assert all(name in page for name in NAMES)
    found.plot(tmp_path / "all.png")
    assert imread(tmp_path / "all.png").size > 0
    assert "Mean rewards" in str(found)


def test_what_is_refused() -> None:
    log = log_of(ADDITIVE, 100)
    with pytest.raises(am.ArmatureError, match="no column 'segment', which says whom"):
        found_in(log.drop(columns="segment"))
    with pytest.raises(am.ArmatureError, match="a segment 'returning', which is not one of"):
        found_in(log, am.Segments(NAMES[:2], each=am.Unimodal(4)))
    with pytest.raises(am.ArmatureError, match="a row for each reward"):
        found_in({"counts": [5] * 4, "sums": [1.0] * 4})
    with pytest.raises(am.ArmatureError, match="one segment at a time"):
        am.replay(log, am.UCB(), TABLE, columns={"arm": "price"}, method="ips")
    bad = log.assign(segment=[None, *log["segment"][1:]])
    with pytest.raises(am.ArmatureError, match="row 0: 'segment' is empty"):
        found_in(bad)
    assert am.assess(bad, am.Unimodal(4), columns={"arm": "price"}, policies=[]) is not None
