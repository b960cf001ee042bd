"""An arm that is good enough: alternatives, times and verdicts with a margin."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from reference import Nearest, UnsolvedError, cost
from structures_again import KINDS, pieces_of, random_structure

import armature as am
from armature.kernels.gears import Gear, using
from armature.live.verdict import GivenMargin, Seen, Verdict, coming_for, verdict
from armature.rounds.stopping import checked_threshold
from armature.structures.oracles.margin import Margin, WithMargin

GIVEN = (0.05, "20%")


@pytest.fixture(autouse=True)
def _plainly() -> Iterator[None]:
    """The same bits, and nothing to compile."""
    with using(Gear.python):
        yield


def by_reference(
    structure: am.Structure, family: am.Family, margin: Margin, problem: tuple[np.ndarray, ...]
) -> float:
    """The least cost over every piece and challenger, by a general convex solver."""
    mu, w, j = problem
    least = math.inf
    for piece in pieces_of(structure):
        for k in range(mu.size):
            if k == j:
                continue
            # lam_k >= lam_j + size, or lam_k >= (1 + share) lam_j; the means here are positive
            row = np.zeros((1, mu.size))
            row[0, j], row[0, k] = 1.0 + margin.share, -1.0
            narrow = piece._replace(
                G=np.vstack([piece.G, row]), h=np.concatenate([piece.h, [-margin.size]])
            )
            lam = Nearest(family, narrow).solve(mu, w)
            if lam is not None and (lam > -1e-9).all():
                assert lam[k] >= (1.0 + margin.share) * lam[j] + margin.size - 1e-7
                least = min(least, cost(family, mu, w, np.clip(lam, 1e-15, None)))
    return least


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_nearest_alternative_is_that_of_a_convex_solver(kind: type[am.Structure]) -> None:
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(10):
        structure = random_structure(kind, rng, 4)
        margin = Margin.of(GIVEN[int(rng.integers(2))])
        family = am.Bernoulli() if rng.random() < 0.5 else am.Gaussian()
        K = structure.n_arms
        mu, w = rng.uniform(0.3, 0.7, K), rng.uniform(1.0, 30.0, K)
        j = int(rng.integers(K))
        asked = WithMargin(structure, margin)
        found = asked.nearest_alternative(mu, w, j, family)
        try:
            known = by_reference(structure, family, margin, (mu, w, j))
        except (UnsolvedError, AssertionError):
            continue
        if margin.share > 0.0 and known < math.inf and not (found.means > 0.0).all():
            continue  # a share of a negative mean has another row
        compared += 1
        assert found.cost == pytest.approx(known, rel=2e-6, abs=1e-8)
        costs = asked.challenger_costs(mu, w, j, family)
        assert costs[j] == pytest.approx(structure.project(mu, w, family).cost, rel=1e-7, abs=1e-9)
        assert np.delete(costs, j).min() == found.cost
        if found.cost < math.inf:
            lead = found.means.max() - found.means[j]
            assert lead >= margin.at(float(found.means[j])) - 1e-8
            assert structure.contains(found.means)
    assert compared >= 4


def test_one_challenger_after_the_other_is_as_each_alone() -> None:
    """What is kept in scratch space of one part is not taken for another's (it once was)."""
    rng = np.random.default_rng(0)
    asked = WithMargin(am.Unimodal(5) & am.Lipschitz(5, 0.3), Margin.of(0.05))
    for _ in range(150):
        mu, w, j = rng.uniform(0.2, 0.8, 5), rng.uniform(1.0, 20.0, 5), int(rng.integers(5))
        together = asked.nearest_alternative(mu, w, j, am.Gaussian()).cost
        costs = asked.challenger_costs(mu, w, j, am.Gaussian())
        assert np.delete(costs, j).min() == pytest.approx(together, rel=1e-9)


def test_shares_of_negative_means_and_of_costs() -> None:
    """Two arms: the least cost with lam_1 = lam_0 + share |lam_0 - about| by a search."""
    mu, w = np.array([-1.0, -1.2]), np.array([3.0, 5.0])
    for about, share in ((0.0, 0.1), (-2.0, 0.1), (-1.05, 0.5)):
        margin = Margin(share=share, about=about)
        grid = np.linspace(-2.0, 0.0, 400_001)
        led = grid + share * np.abs(grid - about)
        costs = 0.5 * (w[0] * (grid - mu[0]) ** 2 + w[1] * (led - mu[1]) ** 2)
        found = WithMargin(am.Unconstrained(2), margin)
        fit = found.nearest_alternative(mu, w, 0, am.Gaussian())
        assert fit.cost == pytest.approx(costs.min(), rel=1e-9)


def test_arms_with_their_own_noise_and_scales() -> None:
    """Rewards of several sigmas, and prices: the two arms that matter, by a search."""
    grid = np.linspace(0.0, 3.0, 30_001)
    for family, mu in (
        (am.Gaussian(sigma=[1.0, 2.0, 0.5]), [1.0, 0.9, 0.2]),
        (am.Bernoulli(scale=[2.0, 4.0, 6.0]), [1.0, 0.9, 0.2]),
    ):
        w = np.array([200.0, 300.0, 9000.0])
        asked = WithMargin(am.Unconstrained(3), Margin.of(0.1))
        found = asked.nearest_alternative(mu, w, 0, family).cost
        ends = [family.for_arm(k) for k in range(2)]
        inside = grid[(grid > 0.0) & (grid < 1.9)]
        costs = w[0] * ends[0].divergence(1.0, inside) + w[1] * ends[1].divergence(
            0.9, np.maximum(inside + 0.1, 0.9)
        )
        assert found == pytest.approx(float(np.min(costs)), rel=1e-6)


def test_the_time_by_hand() -> None:
    """Two Gaussian arms: 8 / (gap + margin)^2, and the better answer of two."""
    instance = am.Instance(am.Unconstrained(2), [0.5, 0.4])
    assert am.characteristic_time(instance).value == pytest.approx(800.0, rel=2e-6)
    time = am.characteristic_time(instance, margin=0.3)
    assert time.value == pytest.approx(8.0 / 0.4**2, rel=2e-6)
    assert time.shares == pytest.approx([0.5, 0.5], abs=1e-4)
    assert "within a margin of 0.3: asymptotically at least 50 ln(1/delta)" in repr(time)
    assert am.characteristic_time(instance, margin=0).value == pytest.approx(800.0, rel=2e-6)


def test_the_best_arm_is_not_always_the_quickest_answer() -> None:
    """Arm 1 is nearly as good as arm 0, and its rewards hardly vary: to name it takes less."""
    family = am.Gaussian(sigma=[4.0, 0.2, 0.2])
    instance = am.Instance(am.Box(3, 0.0, [0.99, 3.0, 3.0]), [0.99, 0.985, 0.2], family)
    time = am.characteristic_time(instance, margin=0.02)
    asked = WithMargin(instance.structure, Margin.of(0.02))
    costs = [
        asked.nearest_alternative(instance.means, time.shares, k, family).cost for k in range(2)
    ]
    assert time.value * max(costs) == pytest.approx(1.0, rel=1e-5)
    assert costs[1] > 1.5 * costs[0]


def two(pulls: float, gap: float, margin: float | str, **options: object) -> Verdict:
    counts, means = np.full(2, pulls), np.array([1.0, 1.0 - gap])
    return verdict(
        am.Unconstrained(2), am.Gaussian(), counts, means, 0.05, margin=GivenMargin(margin),
        **options,
    )  # fmt: skip


def test_a_verdict_by_hand() -> None:
    """The statistic is N (gap + margin)^2 / 4; arms within the margin are good as well."""
    found = two(1000.0, 0.01, 0.2)
    assert found.statistic == pytest.approx(1000.0 * 0.21**2 / 4.0)
    assert found.sure
    assert found.good == (0, 1)
    assert str(found).startswith(
        "Either of arm 0 and arm 1 is good enough: no arm is better by more than 0.2 (error 5 %"
    )
    alone = two(1000.0, 0.15, 0.2)
    assert alone.good == (0,)  # 1000 0.05^2 / 4 says little
    assert str(alone).startswith("Arm 0 is good enough: no arm is better by more than 0.2")
    unsure = two(100.0, 0.01, 0.2)
    assert not unsure.sure
    assert unsure.good == ()
    assert "It is not yet certain that no arm is better by more than 0.2" in str(unsure)
    # the same share needs the row lam_1 >= 1.2 lam_0, whose normal is longer
    assert two(1000.0, 0.01, "20%").statistic == pytest.approx(
        1000.0 * (1.2 - 0.99) ** 2 / (2.0 * (1.0 + 1.2**2))
    )
    data = json.loads(found.to_json())
    assert (data["margin"], data["good"]) == (0.2, [0, 1])
    plain = two(1000.0, 0.01, 0.0)
    assert (plain.margin, plain.good) == (None, ())
    assert plain.statistic == pytest.approx(1000.0 * 0.01**2 / 4.0)


def test_what_is_needed_is_enough_and_no_less() -> None:
    found = two(100.0, 0.0, 0.2)  # two arms that are level: without a margin it takes forever
    assert two(100.0, 0.0, 0.0).needed == math.inf
    assert found.shares == pytest.approx([0.5, 0.5], abs=1e-3)
    each = found.needed / 2.0
    assert two(100.0 + each, 0.0, 0.2).sure
    assert not two(100.0 + each - 0.5, 0.0, 0.2).sure


def test_a_bandit_for_costs() -> None:
    """A share is of the costs as they are reported, not of what a policy maximises."""
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), am.Bernoulli(), goal="min", labels="ab")
    bandit.tell(["a"] * 1000 + ["b"] * 1000, [1.0] * 100 + [0.0] * 900 + [1.0] * 105 + [0.0] * 895)
    found = bandit.verdict(margin="30%")
    assert found.arm == "a"
    q = np.linspace(0.05, 0.2, 100_001)  # b costs q, a costs at least q / 0.7
    family = am.Bernoulli()
    costs = 1000.0 * (family.divergence(0.1, q / 0.7) + family.divergence(0.105, q))
    assert found.statistic == pytest.approx(float(np.min(costs)), rel=1e-6)
    assert "the cheapest" not in str(found)


def test_wrong_arms_are_named_no_more_often_than_delta() -> None:
    """Looked at again and again, with a proved threshold: any wrong answer counts, once for all.

    The best arm leads by little more than the margin, so that either may lead by chance.
    """
    delta, wrong, sure, runs = 0.2, 0, 0, 150
    rng = np.random.default_rng(8)
    structure, family, margin = am.Unconstrained(2), am.Gaussian(), Margin.of(0.25)
    allowance = checked_threshold("theory", family)
    truth = np.array([0.0, 0.3])
    for _ in range(runs):
        sums, pulls, named = np.zeros(2), np.zeros(2), set()
        for _ in range(6):
            sums += 50 * truth + math.sqrt(50.0) * rng.normal(size=2)
            pulls += 50.0
            seen = Seen(structure, family, pulls.copy(), sums / pulls, margin)
            for k in margin.near(seen.fitted):
                coming = coming_for(seen, k, allowance)
                named |= {k} if coming.value > coming.threshold(delta, pulls) else set()
        wrong += 0 in named
        sure += 1 in named
    assert sure > 0.5 * runs  # else it says nothing
    assert wrong <= delta * runs


def test_identification_within_a_margin() -> None:
    instance = am.Instance(am.Unimodal(3), [0.2, 2.95, 2.9])
    found = am.identify(
        instance, [am.TopTwo()], 0.1, repetitions=3, margin=2.5, max_rounds=2000, workers=1
    )
    assert found.margin == 2.5
    assert (found.rounds("TopTwo") < 60).all()  # without a margin it takes thousands
    assert found.errors("TopTwo") == [0.0]
    wrong = dataclasses.replace(found, margin=None)
    assert wrong.errors("TopTwo") == (found.arms("TopTwo") == 2).mean()
    frame, about = found.to_frame(), found.about()
    assert about["margin"] == 2.5
    assert am.Identification.from_frame(instance, found.policies, about, frame).margin == 2.5
    assert "margin" not in wrong.about()


def test_an_assessment_of_a_near_tie() -> None:
    prices = [5.0, 6.0, 7.0]
    log = [(price, price) for price in prices for _ in range(round(12_000 / price))]
    log += [(price, 0.0) for price in prices for _ in range(4_000 - round(12_000 / price))]
    log += [(5.0, 0.0)] * 3_000
    found = am.assess(
        log, am.Unimodal(3), am.Bernoulli(scale=prices), arms=prices, policies=[], margin="20%"
    )
    assert found.certainty.verdict.good == (6.0, 7.0)
    assert "Either of 6.0 and 7.0 is good enough: no arm is better by more than 20 %" in str(found)
    assert found.certainty.least < math.inf


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (-0.1, "margin must be a number, at least 0, or a share"),
        ("one", "margin must be"),
        ("100%", "below 100 %"),
        (math.nan, "margin must be"),
        ([0.1], "margin must be"),
    ],
)
def test_what_is_no_margin(given: object, complaint: str) -> None:
    with pytest.raises(am.ArmatureError, match=complaint):
        Margin.of(given)


def test_where_there_is_no_margin() -> None:
    with pytest.raises(am.ArmatureError, match="does not go with Exponential rewards"):
        am.characteristic_time(
            am.Instance(am.Unimodal(3), [1.0, 2.0, 1.5], am.Exponential()), margin=0.1
        )
    with pytest.raises(am.ArmatureError, match="Use fewer arms, at most about 50"):
        WithMargin(am.Unimodal(60), Margin(0.1)).nearest_alternative(
            np.zeros(60), np.ones(60), 0, am.Gaussian()
        )
    table = am.Segments("ab", each=am.Unimodal(3))
    with pytest.raises(am.ArmatureError, match="one segment"):
        am.characteristic_time(am.Instance(table, [[0.1, 0.5, 0.2]] * 2), margin=0.1)
