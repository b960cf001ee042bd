"""Assessing a log: each number against something that is worked out otherwise."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from scipy import stats
from typer.testing import CliRunner

import armature as am
from armature.assess import assessment as page
from armature.assess import compare
from armature.assess.arms import at_any_time, informed, interval
from armature.assess.compare import LOGGED, try_policies
from armature.assess.drift import find_drift, p_value
from armature.assess.fit import POWER, distance_needed, judge, ranked
from armature.assess.log import Log, read_log
from armature.bounds.evidence import evidence
from armature.cli.program import app
from armature.experiments import keys
from armature.words import number
from studies.assessment import intervals as study_of_intervals
from studies.assessment import structures as study_of_structures

PRICES = {"counts": [400] * 5, "sums": [30, 52, 80, 60, 31]}


def gaussian_log(means: Any, n: int, seed: int = 0, sigma: float = 1.0) -> Log:
    rng = np.random.default_rng(seed)
    shown = np.tile(np.arange(len(means)), n)
    rewards = np.asarray(means)[shown] + sigma * rng.normal(size=shown.size)
    return read_log(pd.DataFrame({"arm": shown, "reward": rewards}))


# Intervals.


@pytest.mark.checks("assess", by="intervals against SciPy")
def test_intervals_against_scipy() -> None:
    for n, x in ((10, 0), (10, 3), (500, 12), (7, 7)):
        found = interval(am.Bernoulli(), n, x, 0.1)
        exact = stats.binomtest(x, n).proportion_ci(0.9, "exact")
        assert found == pytest.approx((exact.low, exact.high), rel=1e-9, abs=1e-12)
        scaled = interval(am.Bernoulli(4.0), n, 4.0 * x, 0.1)
        assert scaled == pytest.approx((4.0 * exact.low, 4.0 * exact.high), rel=1e-9, abs=1e-12)
    for n, x in ((5, 0), (5, 3), (100, 250)):
        low = stats.chi2.ppf(0.025, 2 * x) / 2 / n if x else 0.0
        high = stats.chi2.isf(0.025, 2 * x + 2) / 2 / n
        assert interval(am.Poisson(), n, x, 0.05) == pytest.approx((low, high), rel=1e-9)
    ends = (2 * 30.0 / stats.chi2.isf(0.025, 20), 2 * 30.0 / stats.chi2.ppf(0.025, 20))
    assert interval(am.Exponential(), 10, 30.0, 0.05) == pytest.approx(ends, rel=1e-9)
    ends = stats.norm.interval(0.95, 2.0, 3.0 / math.sqrt(8))
    assert interval(am.Gaussian(3.0), 8, 16.0, 0.05) == pytest.approx(ends, rel=1e-9)
    low, high = interval(am.Bounded(-1.0, 3.0), 20, 30.0, 0.05)
    family = am.Bounded(-1.0, 3.0)
    for end in (low, high):
        assert 20 * family.divergence(1.5, end) == pytest.approx(math.log(40.0), rel=1e-9)


def test_intervals_with_an_unknown_sigma_are_students() -> None:
    log = gaussian_log([0.0, 1.0, 3.0], 6, seed=2, sigma=2.0)
    found = am.assess(log, am.Unimodal(3), policies=[], delta=0.1).arms
    groups = [log.rewards_of(k) for k in range(3)]
    pooled = math.sqrt(sum(((g - g.mean()) ** 2).sum() for g in groups) / 15)
    for k, group in enumerate(groups):
        ends = stats.t.interval(0.9, 15, group.mean(), pooled / math.sqrt(6))
        assert (found.low[k], found.high[k]) == pytest.approx(ends, rel=1e-9)
    assert found.low_any is not None
    assert (found.low_any < found.low).all()


@pytest.mark.checks("assess", by="coverage of intervals")
@pytest.mark.parametrize("name", study_of_intervals.FAMILIES)
def test_intervals_cover(name: str) -> None:
    """A thousand logs for each row are in docs/studies/logs.md; these few find gross errors.

    95 % of 120 are covered; fewer than `least` have probability 1e-4 at most, if that is so.
    """
    least = stats.binom.ppf(1e-4, 120, 0.95)
    assert least > 100
    for rewards in (5, 50):
        found = study_of_intervals.coverage(name, rewards, 120, seed=7)
        assert found.fixed >= least / 120
        assert found.any_time >= least / 120


def test_intervals_at_any_time_hold_for_a_greedy_rule() -> None:
    found = study_of_intervals.adaptive_coverage(300, 100, seed=3)
    assert found.any_time >= 0.95
    log = read_log(PRICES)
    wide = at_any_time(am.Bernoulli(), log.counts, log.sums, 0.05)
    assert wide is not None
    cost = am.Bernoulli.learning_cost
    assert cost is not None
    for k in range(5):
        level = math.log(20.0) + cost(1.0, 400.0, float(log.sums[k]))
        for end in (wide[0][k], wide[1][k]):
            assert 400 * am.Bernoulli().divergence(log.means[k], end) == pytest.approx(level)


# Spread.


def test_what_the_log_says_of_sigma() -> None:
    log = gaussian_log([0.0, 5.0], 50, seed=1, sigma=3.0)
    found = informed(log, am.Gaussian(None))
    pooled = math.sqrt(sum(((g - g.mean()) ** 2).sum() for g in map(log.rewards_of, (0, 1))) / 98)
    assert isinstance(found.family, am.Gaussian)
    assert found.family.sigma == pytest.approx(pooled, rel=1e-12)
    assert isinstance(found.cautious, am.Gaussian)
    assert found.cautious.sigma > found.family.sigma  # type: ignore[operator]
    assert found.simulated == am.Gaussian(found.family.sigma, known=False)  # 98 degrees of freedom
    each = informed(log, am.Gaussian(None), "each").family
    own = [float(log.rewards_of(k).std(ddof=1)) for k in (0, 1)]
    assert isinstance(each, am.Gaussian)
    assert each.sigma == pytest.approx(own, rel=1e-12)
    assert "more than Gaussian(sigma=1.0) says" in str(informed(log, am.Gaussian(1.0)).note)
    assert "less than Gaussian(sigma=9.0) says" in str(informed(log, am.Gaussian(9.0)).note)
    assert informed(log, am.Gaussian(3.0)).note is None
    with pytest.raises(am.ArmatureError, match="needs the sum of the squared"):
        informed(read_log(PRICES), am.Gaussian(None))
    with pytest.raises(am.ArmatureError, match="is for a sigma that is not known"):
        informed(log, am.Gaussian(1.0), "each")
    uneven = read_log({"counts": [50, 50], "sums": [0, 0], "squares": [50, 5000]})
    noted = str(informed(uneven, am.Gaussian(None)).note)
    assert "the arms differ: arm 0 has 1.01, arm 1 has 10.1" in noted


# Fit.


def test_the_fit_is_that_of_the_evidence() -> None:
    log = read_log({"counts": [100.0] * 4, "sums": [99.0, 1.0, 120.0, 20.0]})
    found = am.assess(log, am.Unimodal(4), am.Gaussian(1.0), policies=[])
    expected = evidence(am.Unimodal(4), am.Gaussian(1.0), log.counts, log.sums, 0.01)
    assert found.chosen.evidence is not None
    assert found.chosen.evidence.log_e == expected.log_e
    assert found.chosen.refuted
    assert set(found.chosen.evidence.carriers) == {0, 1}
    fit = am.Unimodal(4).project(log.means, log.counts, am.Gaussian(1.0))
    np.testing.assert_array_equal(found.chosen.fitted, fit.means)
    assert found.chosen.worth is None
    assert "The log refutes Unimodal: do not use it." in found.recommendation
    assert found.candidates[0].name == "Unconstrained"
    assert found.candidates[-1].refuted
    assert found.certainty.verdict.shares is not None  # without the structure


def test_structures_are_ranked() -> None:
    found = am.assess(PRICES, am.Unimodal(5), am.Bernoulli(), policies=[])
    names = [one.name for one in found.candidates]
    assert sorted(names) == ["Concave", "Monotone", "Unconstrained", "Unimodal"]
    left = [one.worth.left for one in found.candidates if one.worth and not one.doubted]
    assert left == sorted(left, key=lambda share: 1.0 if share is None else share)
    refuted = [one.refuted for one in found.candidates]
    assert refuted == sorted(refuted)
    assert ranked(found.candidates[::-1]) == list(found.candidates)
    same = am.assess(PRICES, am.Unimodal(5), am.Bernoulli(), policies=[],
                     candidates=[am.Unimodal(5)])  # fmt: skip
    assert [one.name for one in same.candidates] == ["Unimodal"]
    both = am.assess(PRICES, am.Unimodal(5) & am.Lipschitz(5, 0.1), am.Bernoulli(), policies=[],
                     candidates=[am.Unimodal(5) | am.Monotone(5)])  # fmt: skip
    assert {one.name for one in both.candidates} == {"Unimodal & Lipschitz", "Unimodal | Monotone"}


@pytest.mark.checks("assess", by="closed form of the noticeable misfit")
def test_what_would_have_been_noticed_in_closed_form() -> None:
    """A box: above its end, an arm's own distance is all there is."""
    log = {"counts": [100, 400], "sums": [50, 200]}
    found = am.assess(log, am.Box(2, high=0.5), am.Gaussian(2.0), policies=[]).chosen
    assert found.noticeable is not None
    assert found.evidence is not None
    needed = distance_needed(found.evidence, convex=True)
    reach = math.sqrt(2.0 * (found.evidence.learning + math.log(100.0))) + stats.norm.ppf(POWER)
    assert needed == pytest.approx(0.5 * reach**2)
    assert distance_needed(found.evidence, convex=False) > needed
    np.testing.assert_allclose(
        found.noticeable.up, np.sqrt(2.0 * needed * 4.0 / np.array([100.0, 400.0])), rtol=1e-6
    )
    assert np.isinf(found.noticeable.down).all()


@pytest.mark.checks("assess", by="rate of false alarms")
@pytest.mark.parametrize("name", ["Unimodal", "Concave", "Sparse"])
def test_a_true_structure_is_hardly_ever_refuted(name: str) -> None:
    """At most 1 %; more than 6 of 100 have probability 1e-4 at most, if that is so."""
    assert stats.binom.sf(6, 100, 0.01) < 1e-4
    for family in (am.Gaussian(1.0), am.Gaussian(None), am.Bernoulli()):
        rate = study_of_structures.false_alarms(name, family, True, 10, 100, seed=5)
        assert rate.refuted <= 0.06


@pytest.mark.checks("assess", by="power")
@pytest.mark.parametrize("name", ["Unimodal", "Monotone", "Categorised"])
def test_a_wrong_structure_is_refuted_at_the_stated_power(name: str) -> None:
    """80 %; fewer than 63 of 100 have probability 1e-4 at most, if that is so."""
    assert stats.binom.cdf(62, 100, 0.8) < 1e-4
    for family in (am.Gaussian(1.0), am.Gaussian(None)):
        for rate in study_of_structures.power(name, family, 200, 100, seed=6):
            assert rate.refuted >= 0.63, rate


# Worth.


def test_worth_is_the_lower_bound() -> None:
    found = am.assess(PRICES, am.Unimodal(5), am.Bernoulli(), policies=[], horizon=5000,
                      traffic=100.0)  # fmt: skip
    worth = found.chosen.worth
    assert worth is not None
    assert worth.pulls is not None
    assert worth.pulls_without is not None
    rates = np.array(PRICES["sums"]) / 400
    bound = am.lower_bound(am.Instance(am.Unimodal(5), rates, am.Bernoulli()))
    assert worth.value == bound.value
    assert worth.unconstrained == bound.unconstrained
    np.testing.assert_allclose(worth.pulls, bound.pulls, atol=1e-6 * bound.pulls.max())
    free = am.lower_bound(am.Instance(am.Unconstrained(5), rates, am.Bernoulli()))
    np.testing.assert_allclose(worth.pulls_without, free.pulls, rtol=1e-5)
    assert worth.explored == (1, 3)
    notes = " ".join(found.notes)
    assert "5,000 rounds take 50 days" in notes
    assert f"at least like {number(worth.value)} ln T" in notes
    assert "not to predict the regret of 5,000 rounds" in notes
    more = {key: [10 * count for count in counts] for key, counts in PRICES.items()}
    for structure in (am.Unconstrained(5), am.Monotone(5)):  # the second is refuted
        said = str(am.assess(more, structure, am.Bernoulli(), policies=[], horizon=5000))
        assert f"{number(worth.unconstrained)} ln T" in said
        assert "The bound is asymptotic" in said
        assert number(worth.unconstrained * math.log(5000)) not in said
    tied = am.assess({"counts": [9, 9, 9], "sums": [3, 3, 1]}, am.Unconstrained(3), am.Bernoulli(),
                     policies=[])  # fmt: skip
    assert tied.chosen.worth is not None
    assert tied.chosen.worth.value is None
    assert "arms 0, 1 are all best" in tied.chosen.worth.reason


# Policies.


@pytest.mark.checks("assess", by="draws are of the posterior")
def test_draws_are_of_the_posterior() -> None:
    log = gaussian_log([0.0, 1.0, 0.5], 25, seed=4, sigma=2.0)
    known = informed(log, am.Gaussian(2.0))
    found = compare.draw_instances(log, am.Unimodal(3), known, 400, 3, projected=False)
    means = np.array([one.means for one in found])
    error = 2.0 / 5.0
    assert np.abs(means.mean(axis=0) - log.means).max() < 4.0 * error / math.sqrt(400)
    np.testing.assert_allclose(means.std(axis=0), error, rtol=0.15)
    inside = compare.draw_instances(log, am.Unimodal(3), known, 50, 3, projected=True)
    for free, fitted in zip(found, inside, strict=False):
        expected = am.Unimodal(3).project(free.means, log.counts, am.Gaussian(2.0)).means
        np.testing.assert_allclose(fitted.means, expected, atol=1e-6)
    again = compare.draw_instances(log, am.Unimodal(3), known, 3, 3, projected=True)
    np.testing.assert_array_equal(again[2].means, inside[2].means)


def test_draws_of_sigma_and_of_arms_without_rewards() -> None:
    log = read_log({"counts": [5, 5, 0], "sums": [0, 5, 0], "squares": [4, 9, 0]}, am.Unimodal(3))
    known = informed(log, am.Gaussian(None))
    found = compare.draw_instances(log, am.Unimodal(3), known, 300, 1, projected=False)
    ratios = [8.0 / one.family.sigma**2 for one in found]  # type: ignore[attr-defined]
    assert stats.kstest(ratios, stats.chi2(8).cdf).pvalue > 1e-4
    for one in found:
        assert min(one.means[:2]) <= one.means[2] <= max(one.means[:2])
        assert not one.family.known  # type: ignore[attr-defined]


def test_trials() -> None:
    log = gaussian_log([0.0, 1.0, 0.5], 40, seed=4)
    known = informed(log, am.Gaussian(1.0))
    options: dict[str, Any] = {"horizon": 300, "draws": 6, "seed": 2, "projected": True}
    policies = [am.UCB(), am.ThompsonSampling()]
    found = try_policies(log, am.Unimodal(3), known, policies, **options)
    assert found.names == ("UCB", "ThompsonSampling", LOGGED)
    drawn = compare.draw_instances(log, am.Unimodal(3), known, 6, 2, projected=True)
    for i, instance in enumerate(drawn):
        alone = am.simulate(instance, [am.UCB()], 300, 1, 2 + i).regret("UCB")[0, -1]
        assert found.regret[0, i] == alone
        assert found.regret[2, i] == pytest.approx(100 * instance.gaps.sum())
    assert found.best.sum() == pytest.approx(1.0)
    assert found.quantile("UCB", 0.5) == np.median(found.regret[0])
    assert [found.mean(name) for name in found.ranking] == sorted(map(found.mean, found.names))
    with pytest.raises(am.ArmatureError, match="horizon = 2 is less than the 3 arms"):
        try_policies(log, am.Unimodal(3), known, policies, **(options | {"horizon": 2}))


# Certainty.


def test_certainty_is_the_bandits() -> None:
    found = am.assess(PRICES, am.Unimodal(5), am.Bernoulli(), policies=[], delta=0.1)
    bandit = am.Bandit(am.KLUCB(), am.Unimodal(5), am.Bernoulli(), history=PRICES)
    verdict = bandit.verdict(0.1)
    assert found.certainty.verdict.to_json() == verdict.to_json()
    rates = np.array(PRICES["sums"]) / 400
    time = am.characteristic_time(am.Instance(am.Unimodal(5), rates, am.Bernoulli()))
    assert found.certainty.least == pytest.approx(time.value * math.log(10.0))
    monotone = am.assess(PRICES, am.Monotone(5), am.Bernoulli(), policies=[], candidates=[])
    assert monotone.certainty.verdict.arm in (2, 4)


# Drift.


@pytest.mark.checks("assess", by="planted changes over time")
def test_drift() -> None:
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=200)
    steady = gaussian_log([0.0, 1.0], 200, seed=9)
    found = find_drift(steady)
    assert not found.found
    assert np.isfinite(found.p_values).all()
    away = rewards - rewards.mean()
    largest = np.abs(np.cumsum(away)).max() / math.sqrt((away**2).sum())
    assert p_value(away) == pytest.approx(stats.kstwobign.sf(largest))
    frame = pd.DataFrame({"arm": np.tile([0, 1], 200), "reward": rng.normal(size=400)})
    frame.loc[(frame.arm == 1) & (frame.index >= 200), "reward"] += 1.0
    changed = find_drift(read_log(frame))
    assert changed.changed == (1,)
    half = frame.reward[frame.arm == 1].to_numpy()
    assert changed.before[1] == pytest.approx(half[:100].mean())
    assert changed.after[1] == pytest.approx(half[100:].mean())
    assert "for arm 1: the mean of arm 1 was" in str(changed)
    assert changed.since is not None
    assert abs(changed.since - 200) <= 12
    assert changed.jump
    assert changed.setting == "Restarting"
    assert f"one change, at about row {changed.since + 1}" in str(changed)
    assert changed.to_data()["since"] == changed.since
    frame["reward"] = rng.normal(size=400) + np.where(frame.arm == 1, frame.index / 100.0, 0.0)
    drifts = find_drift(read_log(frame))
    assert drifts.found
    assert not drifts.jump
    assert drifts.setting == "Forgetting"
    assert "it drifts, or there are several" in str(drifts)
    assert found.since is found.setting is None
    assert "only sums: they do not tell whether" in str(find_drift(read_log(PRICES)))
    few = find_drift(read_log(frame[:8]))
    assert not few.found
    assert "No arm has 20 rewards" in str(few)


def test_a_change_of_all_arms_together() -> None:
    """Each of thirty arms changes too little to be seen by itself."""
    rng = np.random.default_rng(1)
    shown = np.tile(np.arange(30), 30)
    frame = pd.DataFrame({"arm": shown, "reward": rng.normal(size=900)})
    frame.loc[450:, "reward"] += 0.4
    found = find_drift(read_log(frame))
    assert found.found
    assert found.changed == ()
    assert "together the arms show it, none alone" in str(found)


@pytest.mark.checks("assess", by="rate of false alarms")
def test_no_change_is_hardly_ever_seen() -> None:
    """At most 1 %; more than 6 of 100 have probability 1e-4 at most, if that is so."""
    assert study_of_intervals.changes("Exponential", 150, 100, 0.0, seed=1).seen <= 0.06
    assert study_of_intervals.changes("Bernoulli", 600, 30, 0.8, seed=1).seen >= 0.8


# The report.


@pytest.fixture(scope="module")
def report() -> am.Assessment:
    log = gaussian_log([0.1, 0.4, 0.9, 0.6], 60, seed=8)
    names = ["<script>alert(1)</script>", "b & c", 'd "e"', "ﬁne"]
    log = dataclasses.replace(log, arms=tuple(names))
    return am.assess(log, am.Unimodal(4), am.Gaussian(1.0), title="<b>A & B</b>", horizon=200,
                     draws=4, traffic=10, policies=[am.UCB(), am.KLUCB()])  # fmt: skip


def test_the_page_needs_nothing_else_and_runs_nothing(report: am.Assessment) -> None:
    text = report.to_html()
    assert "<script" not in text
    assert "&lt;b&gt;A &amp; B&lt;/b&gt;" in text
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    assert not re.findall(r"url\((?!#|data:)|@import", text)
    assert text.count("<svg") >= 5
    for words in ("The arms", "Does the structure fit", "Which policy", "Did rewards"):
        assert words in text
    for note in report.notes[:2]:
        assert note in html.unescape(text)


def test_the_report_as_data(report: am.Assessment) -> None:
    data = json.loads(report.to_json())
    assert data["structure"] == "Unimodal"
    assert [arm["pulls"] for arm in data["arms"]["arms"]] == [60] * 4
    assert {trial["structure_is_true"] for trial in data["trials"]} == {True, False}
    assert data["recommendation"] == report.recommendation
    assert data["candidates"][0]["evidence"]["refuted"] is False
    assert str(report).count("\n") > 30


def test_the_report_as_a_picture(report: am.Assessment, tmp_path: Path) -> None:
    report.plot(tmp_path / "a.png")
    assert imread(tmp_path / "a.png")[:, :, :3].std() > 0.01


def test_the_page_is_written_where_nothing_is_installed(
    report: am.Assessment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout on the path has no metadata: the page has the version that it says of itself."""

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    keys.package_version.cache_clear()
    monkeypatch.setattr(metadata, "version", missing)
    report.save(tmp_path)
    keys.package_version.cache_clear()
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    for version in (am.__version__, np.__version__):
        assert f"<td>{version}</td>" in text


def test_nothing_is_written_if_the_page_fails(
    report: am.Assessment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise RuntimeError("no page")

    monkeypatch.setattr(page, "as_page", fail)
    with pytest.raises(RuntimeError, match="no page"):
        report.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    report.save(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "assessment.json",
        "report.html",
    ]
    (tmp_path / "file").write_text("")
    with pytest.raises(am.ArmatureError, match="is a file: give a folder"):
        report.save(tmp_path / "file")


LOGS = Path(__file__).parents[2] / "examples" / "logs"
FOUND = {  # what docs/studies/logs.md says of the published tables
    "cake": ("Unimodal", False, "215"),
    "migraine": ("Monotone", False, "200.0"),
    "orange-juice-dominicks": ("Unimodal", False, "1.80"),
    "orange-juice-tropicana-premium": ("Unimodal", True, "3.40"),
    "ratings": ("Categorised", False, "own 4"),
}


@pytest.mark.parametrize("name", FOUND)
def test_published_tables(name: str, tmp_path: Path) -> None:
    structure, refuted, best = FOUND[name]
    spec = (LOGS / f"{name}.toml").read_text()
    (tmp_path / "spec.toml").write_text("policies = []\n" + spec)
    arguments = ["assess", str(LOGS / f"{name}.csv"), "--spec", str(tmp_path / "spec.toml")]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out"), "--quiet"])
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "out" / "assessment.json").read_text())
    assert data["structure"] == structure
    chosen = next(one for one in data["candidates"] if one["structure"] == structure)
    assert chosen["refuted"] is refuted
    assert data["certainty"]["verdict"]["arm"] == best
    assert data["drift"]["found"] is (name == "cake")


@pytest.mark.parametrize("seed", [math.nan, "x", None, 1.5, -1, 2**64, {}, True])
def test_seeds_that_are_none(seed: Any) -> None:
    with pytest.raises(am.ArmatureError, match="seed must be an integer"):
        am.assess(PRICES, am.Unimodal(5), am.Bernoulli(), policies=[], seed=seed)
    with pytest.raises(am.ArmatureError, match="seed must be an integer"):
        am.replay([(0, 1.0), (1, 0.0)] * 9, am.UCB(), am.Unimodal(2), am.Bernoulli(), seed=seed)
    for name in ("title", "unit"):
        with pytest.raises(am.ArmatureError, match=f"{name} must be a text"):
            am.assess(PRICES, am.Unimodal(5), am.Bernoulli(), policies=[], **{name: 3})


def test_arguments_that_are_wrong() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"traffic": 0}, "traffic must be a positive number"),
        ({"traffic": math.nan}, "traffic must be a positive number"),
        ({"delta": 0.0}, "delta must be a probability"),
        ({"draws": 0}, "draws must be a whole number"),
        ({"columns": {"arms": "x"}}, "columns has no entry 'arms'"),
        ({"columns": {"arm": 3}}, r"columns\['arm'\] must be the name"),
        ({"candidates": [am.Unimodal(4)]}, "has 4 arms, where Unimodal has 5"),
        ({"candidates": ["unimodal"]}, "must be a structure"),
        ({"policies": [am.CATSE()]}, "CATSE is for Categorised structures"),
        ({"policies": ["ucb"]}, "policy must be a policy"),
        ({"arms": ["a", "b"]}, "arms has 2 names, where the structure has 5"),
    ]
    for options, words in cases:
        with pytest.raises(am.ArmatureError, match=words):
            am.assess(PRICES, am.Unimodal(5), am.Bernoulli(), **({"policies": []} | options))
    with pytest.raises(am.ArmatureError, match="must be a structure"):
        am.assess(PRICES, "unimodal")  # type: ignore[arg-type]
    with pytest.raises(am.ArmatureError, match="must be a reward family"):
        am.assess(PRICES, am.Unimodal(5), "bernoulli")  # type: ignore[arg-type]


def test_a_structure_that_no_means_fit() -> None:
    """Shares of which one has more than all: the report says so, and stands on the log alone."""
    log = {"counts": [10, 10], "sums": [10, 10]}
    found = am.assess({"counts": [10, 10], "sums": [9, 10]}, am.Simplex(2), am.Bernoulli(),
                      policies=[am.KLUCB()], horizon=20, draws=2)  # fmt: skip
    assert found.to_html()
    assert json.loads(found.to_json())
    assert judge(read_log(log), am.Simplex(2), informed(read_log(log), am.Bernoulli()), 10, 0.01)
