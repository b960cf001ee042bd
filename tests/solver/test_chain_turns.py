"""Unions of chains that turn once, against the dense solver piece by piece."""

from __future__ import annotations

import numpy as np
import pytest
from chain_problems import family_of

import armature as am
from armature.solver.chains.rows import turns_of
from armature.structures.oracles.model import (
    challenger_bounds,
    cost_of_moved,
    make_model,
    most_ties,
    nearest_challenger,
    projection,
)

ORACLES = ("project", "challenger_min", "challenger_bounds")


class Hidden(am.Structure):
    """The same set, with a row of three arms in each piece that says nothing: no chain."""

    challenge = "top"

    def __init__(self, structure: am.Structure) -> None:
        self.structure, self.n_arms = structure, structure.n_arms

    def pieces(self) -> list[am.Piece]:
        row = np.zeros((1, self.n_arms))
        row[0, :3] = 1.0, -0.5, 1.0
        return [piece & am.Piece(row, [1e3]) for piece in self.structure.pieces()]


def random_peak(K: int, rng: np.random.Generator) -> am.Structure:
    """One peak and a rate, perhaps with bounds, in any order."""
    rate, x = float(rng.choice([0.1, 0.3, 1.0])), rng.uniform(0.1, 3.0, K).cumsum()
    structure: am.Structure = am.Unimodal(K) & am.Lipschitz(K, rate, x)
    if rng.random() < 0.4:
        structure = structure & am.Box(K, 0.05, 0.9)
    return structure.relabelled(rng.permutation(K)) if rng.random() < 0.3 else structure


def random_data(K: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means, some of them tied, and weights, some of them zero."""
    mu, w = rng.uniform(0.02, 0.98, K), 10.0 ** rng.uniform(-1.0, 3.0, K)
    w[rng.random(K) < rng.choice([0.0, 0.2])] = 0.0
    return np.round(mu, 1) if rng.random() < 0.3 else mu, w


@pytest.mark.parametrize("name", ["gaussian", "sigmas", "bernoulli", "scales", "poisson"])
def test_bounds_are_the_costs_of_the_pieces(name: str, rng: np.random.Generator) -> None:
    """Projections too; and what is noted of the arms that move holds for Gaussian opponents."""
    noted = 0
    for _ in range(12):
        K = int(rng.choice((3, 4, 6, 9)))
        structure, family, (mu, w) = (
            random_peak(K, rng),
            family_of(name, K, rng),
            random_data(K, rng),
        )
        assert structure.turns_once
        fit, lam = structure.project(mu, w, family), np.empty(K)
        dense = Hidden(structure)
        assert fit.cost == pytest.approx(dense.project(mu, w, family).cost, rel=1e-9, abs=1e-12)
        p, model = np.array(fit.means), make_model(structure, family, ORACLES)
        j, bounds = int(rng.integers(K)), np.full(2 * K, np.inf)
        challenger_bounds(model, mu, w, j, p, bounds)
        slack = 1e-8 * (1.0 + fit.cost)
        for i in set(range(K)) - {j}:
            extra = dense.challenger_min(mu, w, j, i, family).cost - fit.cost
            assert bounds[i] <= extra * (1.0 + 1e-9) + slack
            assert bounds[i] >= min(0.999 * extra, 1e9) - slack
            if extra < np.inf and name == "gaussian":
                nearest_challenger(model, mu, w, j, i, lam)
                moved = (np.abs(lam - p) > 1e-11 * np.abs(p).max()) & (w > 0.0)
                ties = moved.sum() - np.unique(np.round(lam[moved], 10)).size
                cost = (0.5 * w * (lam - mu) ** 2)[moved].sum()
                assert ties <= most_ties(model, i)
                assert max(cost, extra) >= cost_of_moved(model, i, extra + fit.cost, extra) - slack
                noted += most_ties(model, i) < K - 1
    assert noted > 30 or name != "gaussian"


def test_answers_are_kept_for_the_same_question_only(rng: np.random.Generator) -> None:
    """A model that was asked something else in between answers like a fresh one."""
    K = 6
    structure = am.Unimodal(K) & am.Lipschitz(K, 0.2)
    model = make_model(structure, am.Gaussian(0.5), (*ORACLES, "nearest"))
    last = random_data(K, rng)
    for _ in range(40):
        mu, w = last if rng.random() < 0.3 else random_data(K, rng)
        if rng.random() < 0.3:
            mu, w = last[0], w
        last, lam, again = (mu, w), np.empty(K), np.empty(K)
        fresh = make_model(structure, am.Gaussian(0.5), ORACLES)
        assert projection(model, mu, w, lam) == projection(fresh, mu, w, again)
        np.testing.assert_array_equal(lam, again)
        bounds, expected = np.full((2, 2 * K), np.inf)
        challenger_bounds(model, mu, w, 2, lam, bounds)
        challenger_bounds(fresh, mu, w, 2, lam, expected)
        np.testing.assert_array_equal(bounds, expected)
        structure_asked = rng.integers(3)
        if structure_asked == 0:
            nearest_challenger(model, rng.uniform(size=K), w, 0, 1, lam)


def test_what_turns_once() -> None:
    peak, smooth = am.Unimodal(5), am.Lipschitz(5, 0.2)
    for structure in (
        peak & smooth,
        peak & am.Box(5, 0.0, 1.0),
        (peak & smooth).relabelled(range(4, -1, -1)),
    ):
        turns = turns_of([piece.chain for piece in structure.pieces()])
        assert turns is not None
        assert sorted(turns[:5].tolist()) == [0, 1, 2, 3, 4]
    for other in (
        am.Multimodal(5, 2),
        smooth,
        am.Unimodal(5) | am.Concave(5),
    ):
        assert turns_of([piece.chain for piece in other.pieces()]) is None
