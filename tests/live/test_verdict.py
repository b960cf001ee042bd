"""What a bandit says of its best arm, and whether that is sure."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import armature as am
from armature.live.verdict import Verdict, verdict


def test_a_verdict_by_hand() -> None:
    """Two Gaussian arms: N1 N2 / (N1 + N2) gap^2 / 2, against ln((1 + ln(t) / 2) / delta)."""
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), labels=["red", "blue"])
    bandit.tell(["red"] * 10 + ["blue"] * 30, [0.0] * 10 + [1.0] * 30)
    found = bandit.verdict(0.05)
    assert found.arm == "blue"
    assert found.statistic == pytest.approx(300.0 / 40.0 / 2.0)
    assert found.threshold == pytest.approx(math.log((1.0 + 0.5 * math.log(40.0)) / 0.05))
    assert not found.sure

    def rounds(share: float) -> int:
        for m in range(1, 1000):
            a, b = 10.0 + m * share, 30.0 + m * (1.0 - share)
            if a * b / (a + b) / 2.0 > math.log((1.0 + 0.5 * math.log(40.0 + m)) / 0.05):
                return m
        raise AssertionError

    assert found.needed == rounds(0.25)
    assert found.needed_at_best == rounds(0.5)
    assert found.shares == pytest.approx([0.5, 0.5], abs=1e-6)
    assert bandit.verdict(0.3).sure
    assert bandit.verdict(0.3).needed == 0.0
    least = found.least_delta
    assert least == pytest.approx(bandit.verdict(0.3).least_delta)
    assert not bandit.verdict(0.999 * least).sure
    assert bandit.verdict(1.001 * least).sure


def test_what_the_theory_still_needs() -> None:
    """It is enough after so many more samples at the fitted means, and not after one less."""
    pulls, means = np.array([40.0, 60.0, 50.0]), np.array([0.2, 1.0, 0.5])

    def after(more: float) -> Verdict:
        share = pulls / pulls.sum()
        return verdict(am.Unimodal(3), am.Gaussian(), pulls + more * share, means, 0.1, "theory")

    needed = after(0.0).needed
    assert 10.0 < needed < 1000.0
    assert after(needed).sure
    assert not after(needed - 1.0).sure


def test_a_verdict_is_told_in_words_and_in_json() -> None:
    bandit = am.Bandit(am.Challenger(), am.Unimodal(3), labels=["a", "b", "c"])
    empty = bandit.verdict()
    assert not empty.sure
    assert json.loads(empty.to_json())["sure"] is False
    bandit.tell(["a", "b", "c"] * 40, [0.0, 2.0, 1.0] * 40)
    found = bandit.verdict()
    assert found.sure
    assert "b is the best (error 5 %" in str(found)
    content = json.loads(found.to_json())
    assert content["arm"] == "b"
    assert content["words"] == str(found)
    explanation = bandit.explain()
    assert explanation.verdict.arm == "b"
    assert str(found) in str(explanation)
    unsure = am.Bandit(am.UCB(), am.Unimodal(3))
    unsure.tell([0, 1, 2] * 5, [0.0, 0.5, 0.2] * 5)
    words = str(unsure.verdict())
    assert "Arm 1 is probably the best, not yet certainly" in words
    assert "with the optimal split, " in words


def test_a_verdict_on_costs_names_the_cheapest() -> None:
    bandit = am.Bandit(am.UCB(), am.Unimodal(3), goal="min")
    bandit.tell([0, 1, 2] * 60, [3.0, 1.0, 2.0] * 60)
    assert bandit.verdict().arm == 1
    assert bandit.verdict().sure


def test_two_leaders_are_never_told_apart() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    bandit.tell([0, 1], [0.5, 0.5])
    found = bandit.verdict()
    assert (found.sure, found.needed, found.needed_at_best) == (False, math.inf, math.inf)
    assert found.shares is None


def test_a_verdict_without_the_structure_that_was_dropped() -> None:
    bandit = am.Bandit(am.Guarded(), am.Monotone(3), seed=3)
    rng = np.random.default_rng(0)
    for _ in range(500):
        arm = bandit.ask()
        bandit.tell(arm, rng.normal([2.5, 0.0, 0.4][arm]))
    assert bandit.evidence().dropped is not None
    own = verdict(am.Unconstrained(3), am.Gaussian(), bandit.pulls.astype(float), bandit.means)
    assert bandit.verdict().arm == own.arm == 0
    assert bandit.verdict().statistic == own.statistic > 0.0


def test_no_theory_for_an_unknown_sigma() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), am.Gaussian(None))
    bandit.tell([0, 1] * 20, [0.0, 9.0, 1.0, 8.0] * 10)
    assert bandit.verdict().sure
    with pytest.raises(am.ArmatureError, match="sigma is not known"):
        bandit.verdict(threshold="theory")
