"""Tables of segments: oracles and bounds against a general solver, over pieces written anew."""

from __future__ import annotations

import numpy as np
import pytest
from dual_reference import dual_value
from reference import Nearest, cost
from scipy.optimize import linprog
from structures_again import Piece, can_beat, order, pieces_of

import armature as am
from armature.kernels.gears import interpreted
from armature.structures.segments import additive
from armature.structures.segments import segments as module
from armature.structures.segments.additive import ADDITIVE
from armature.structures.segments.joint import JOINT
from armature.structures.segments.row import rows_of

COUPLINGS = [
    am.Additive(),
    am.Alike(0.3),
    am.SameBest(),
    am.Ordered(),
    am.Additive() & am.Alike(0.2),
    am.SameBest() & am.Ordered(),
]
ROWS = [am.Unconstrained(3), am.Unimodal(3), am.Lipschitz(3, 0.2), am.Box(3, 0.1, 0.8)]
FAMILIES = [am.Gaussian(0.7), am.Bernoulli(), am.Poisson(), am.Gaussian([0.5, 1.0, 2.0])]


def random_table(rng: np.random.Generator) -> am.Segments:
    """Small enough for its pieces to be written down."""
    S = int(rng.integers(2, 4))
    coupling = COUPLINGS[rng.integers(len(COUPLINGS))]
    rows = [ROWS[rng.integers(len(ROWS))] for _ in range(S)]
    each = dict(enumerate(rows)) if rng.random() < 0.5 else rows[0]
    return am.Segments(range(S), each=each, coupling=coupling)


def least(
    table: am.Segments, pieces: list[Piece], family: am.Family, mu: np.ndarray, w: np.ndarray
) -> float:
    """The least cost over pieces."""
    costs = [np.inf]
    of_cells = table.family_of_cells(family)
    for piece in pieces:
        lam = Nearest(of_cells, piece).solve(mu, w)
        if lam is not None:
            costs.append(cost(of_cells, mu, w, lam))
    return min(costs)


def with_order(piece: Piece, j: int, k: int) -> Piece:
    """A piece in which k is at least as good as j."""
    rows = order(piece.G.shape[1], [(j, k)])
    return piece._replace(G=np.vstack([piece.G, rows]), h=np.append(piece.h, 0.0))


def is_there(piece: Piece) -> bool:
    """Whether a piece has points."""
    nothing = np.zeros(piece.G.shape[1])
    found = linprog(nothing, piece.G, piece.h, piece.E, piece.f, bounds=(None, None))
    return bool(found.status == 0)


def leads(piece: Piece, k: int, row: range) -> bool:
    """Whether a cell is better than all others of its segment somewhere in a piece."""
    others = [i for i in row if i != k]
    rows = order(piece.G.shape[1], [(i, k) for i in others])
    ahead = np.append(piece.h, np.full(len(others), -1e-6))
    return is_there(piece._replace(G=np.vstack([piece.G, rows]), h=ahead))


@pytest.mark.parametrize("seed", range(24))
def test_oracles_agree_with_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    try:
        table = random_table(rng)
    except am.ArmatureError:
        pytest.skip("rows and coupling contradict each other")
    family = FAMILIES[rng.integers(len(FAMILIES))]
    S, K = table.n_segments, 3
    mu, w = rng.uniform(0.15, 0.75, S * K), rng.uniform(0.5, 5.0, S * K).round(1)
    pieces = [piece for piece in pieces_of(table) if is_there(piece)]
    projected = table.project(mu, w, family)
    assert projected.means.shape == (S, K)
    assert table.contains(projected.means)
    assert projected.cost == pytest.approx(least(table, pieces, family, mu, w), rel=1e-6, abs=1e-9)
    j = int(rng.integers(S * K))
    row = range(j - j % K, j - j % K + K)
    beating = {k: [p for p in pieces if can_beat(p, k, j)] for k in row if k != j}
    expected = {
        k: least(table, [with_order(p, j, k) for p in some], family, mu, w)
        for k, some in beating.items()
    }
    nearest = table.nearest_alternative(mu, w, j, family)
    assert nearest.cost == pytest.approx(min(expected.values()), rel=1e-6, abs=1e-9)
    costs = table.challenger_costs(mu, w, j, family)
    assert costs[j] == projected.cost
    for k in beating:
        some = pieces
        if table.reads_by_top:
            some = [p for p in pieces if leads(p, k, row)]
        asked = least(table, [with_order(p, j, k) for p in some], family, mu, w)
        if table.reads_by_top or beating[k]:
            assert costs[k] == pytest.approx(asked, rel=1e-6, abs=1e-9)
        else:
            assert costs[k] == np.inf


@pytest.mark.parametrize(
    "each", [*ROWS[:3], am.Unimodal(3) & am.Lipschitz(3, 0.3), am.Multimodal(6, 2)]
)
def test_pivoting_agrees_with_the_convex_programs(
    each: am.Structure, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, family = np.random.default_rng(5), am.Gaussian(1.3)
    K = each.n_arms
    for S in (2, 3, 5):
        table = am.Segments(range(S), each=each, coupling=am.Additive())
        assert table.oracle_for(family) is ADDITIVE
        mu = rng.normal(0.0, 0.5, (S, K))
        w = rng.uniform(1.0, 5.0, (S, K)) ** rng.integers(1, 8)
        j = int(rng.integers(S * K))
        k = j - j % K + (j + 1) % K

        def answers(
            table: am.Segments = table,
            mu: np.ndarray = mu,
            w: np.ndarray = w,
            j: int = j,
            k: int = k,
        ) -> np.ndarray:
            fits = [
                table.project(mu, w, family),
                table.nearest_alternative(mu, w, j, family),
                table.challenger_min(mu, w, j, k, family),
            ]
            costs = table.challenger_costs(mu, w, j, family)
            return np.array([*(fit.cost for fit in fits), *costs])

        with monkeypatch.context() as patch, interpreted():
            patch.setattr(additive, "joint", None)  # what it leaves open would be asked there
            quick = answers()
        with monkeypatch.context() as patch:
            patch.setattr(module, "quick_oracle", lambda table, family: JOINT)
            slow = answers()
        np.testing.assert_allclose(quick, slow, rtol=1e-9, atol=1e-12)


def test_what_pivoting_leaves_open_is_answered_all_the_same() -> None:
    """Arms without any weight, and a segment of which nothing is known."""
    family = am.Gaussian()
    table = am.Segments("abc", each=am.Unimodal(4), coupling=am.Additive())
    mu = np.array([[0.0, 0.5, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    w = np.array([[1.0, 3.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    fit = table.project(mu, w, family)
    assert fit.cost == pytest.approx(0.0, abs=1e-12)
    assert table.contains(fit.means)
    assert fit.means[1] - fit.means[0] == pytest.approx(np.full(4, 0.1))
    costs = table.challenger_costs(mu, w, 1, family)
    assert costs[0] == pytest.approx(0.5 * 0.25 * 1.0 * 3.0 / 4.0)
    assert costs[2:4] == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("coupling", COUPLINGS[:4])
@pytest.mark.parametrize(
    "family", [am.Gaussian(1.3), am.Gaussian([1.0, 2.0, 0.5]), am.Bernoulli(scale=[1.0, 1.5, 2.0])]
)
def test_a_row_answers_with_the_costs_of_the_whole_table(
    coupling: am.Coupling, family: am.Family
) -> None:
    rng = np.random.default_rng(3)
    table = am.Segments("ab", each=am.Lipschitz(3, 0.5), coupling=coupling)
    rows = rows_of(table, family)
    means, pulls = rng.uniform(0.2, 0.8, (2, 3)), rng.integers(1, 9, (2, 3)).astype(float)
    rows[0].ledger.means[:], rows[0].ledger.pulls[:] = means, pulls
    for c, row in enumerate(rows):
        asked = means[c], pulls[c]
        whole = table.project(means, pulls, family)
        assert row.project(*asked, family).cost == whole.cost
        assert (row.project(*asked, family).means == whole.means[c]).all()
        j = 3 * c + 1
        whole = table.nearest_alternative(means, pulls, j, family)
        assert row.nearest_alternative(*asked, 1, family).cost == whole.cost
        costs = table.challenger_costs(means, pulls, j, family)[3 * c : 3 * c + 3]
        assert (row.challenger_costs(*asked, 1, family) == costs).all()


def test_without_a_coupling_rows_add_up() -> None:
    rng, family = np.random.default_rng(4), am.Bernoulli()
    each = {"a": am.Unimodal(4), "b": am.Unconstrained(4)}
    table = am.Segments("ab", each=each)
    mu, w = rng.uniform(0.1, 0.9, (2, 4)), rng.uniform(1.0, 5.0, (2, 4))
    parts = [each[name].project(mu[c], w[c], family) for c, name in enumerate("ab")]
    fit = table.project(mu, w, family)
    assert fit.cost == sum(part.cost for part in parts)
    assert (fit.means == np.stack([part.means for part in parts])).all()
    other = each["b"].nearest_alternative(mu[1], w[1], 2, family)
    nearest = table.nearest_alternative(mu, w, 6, family)
    assert nearest.cost == parts[0].cost + other.cost
    assert rows_of(table, family) == tuple(each.values())


def test_what_can_not_be_served_is_refused() -> None:
    with pytest.raises(am.ArmatureError, match=r"248,832 pieces.*256 can be served.*SameBest"):
        am.Segments(range(5), each=am.Unimodal(12), coupling=am.Alike(0.1))
    assert len(am.Segments(range(5), each=am.Unimodal(12), coupling=am.Additive()).joint.of) == 12
    assert len(am.Segments(range(3), each=am.Unimodal(4), coupling=am.SameBest()).joint.of) == 4
    table = am.Segments(["mobile", "desktop"], each=am.Unimodal(3))
    with pytest.raises(am.ArmatureError, match=r"no segment 'tablet': .* 'mobile', 'desktop'"):
        table.place("tablet")
    with pytest.raises(am.ArmatureError, match="twice"):
        am.Segments("aa", each=am.Unimodal(3))
    with pytest.raises(am.ArmatureError, match="says nothing of 'b'"):
        am.Segments("ab", each={"a": am.Unimodal(3)})
    with pytest.raises(am.ArmatureError, match="'a' has 3 and 'b' has 4"):
        am.Segments("ab", each={"a": am.Unimodal(3), "b": am.Unimodal(4)})
    with pytest.raises(am.ArmatureError, match="2 rows of 3 numbers"):
        table.project([0.1, 0.2], np.ones((2, 3)), am.Gaussian())
    with pytest.raises(am.ArmatureError, match="contradict each other"):
        am.Segments(
            "ab",
            each={"a": am.Box(2, low=1.0), "b": am.Box(2, high=0.0)},
            coupling=am.Alike(0.5),
        )
    with pytest.raises(am.ArmatureError, match="width"):
        am.Alike(0.0)


def test_tables_are_not_composed() -> None:
    table, other = am.Segments("ab", each=am.Unimodal(3), coupling=am.Additive()), am.Unimodal(6)
    for make in (
        lambda: table & other,
        lambda: other & table,
        lambda: table | other,
        lambda: table & table,
        lambda: am.Intersection([other, table]),
    ):
        with pytest.raises(am.ArmatureError, match=r"with `each`.* with `coupling`"):
            make()


def test_a_coupling_of_ones_own() -> None:
    class Twice(am.Coupling):
        """The second segment's means are twice the first's."""

        def pieces(self, n_segments: int, n_arms: int) -> list[am.Piece]:
            rows = np.hstack([2.0 * np.eye(n_arms), -np.eye(n_arms)])
            return [am.Piece(np.empty((0, 2 * n_arms)), [], rows, np.zeros(n_arms))]

    table = am.Segments("ab", each=am.Unimodal(3), coupling=Twice())
    fit = table.project([[1.0, 2.0, 1.5], [2.0, 4.0, 0.5]], np.ones((2, 3)), am.Gaussian())
    assert fit.means[0] == pytest.approx([1.0, 2.0, 0.5])
    assert fit.means[1] == pytest.approx([2.0, 4.0, 1.0])


def random_instance(seed: int) -> am.Instance | None:
    rng = np.random.default_rng(100 + seed)
    coupling = [None, *COUPLINGS][seed % 7]
    each = ROWS[int(rng.integers(3))]
    table = am.Segments(range(2), each=each, coupling=coupling)
    family = [am.Gaussian(0.7), am.Bernoulli()][int(rng.integers(2))]
    raw = rng.uniform(0.2, 0.8, (2, 3))
    means = np.asarray(table.project(raw, np.ones((2, 3)), am.Gaussian()).means)
    gaps = means.max(axis=1, keepdims=True) - means
    if ((gaps < 0.03).sum(axis=1) > 1).any():
        return None
    return am.Instance(table, means, family)


@pytest.mark.parametrize("seed", range(35))
def test_bounds_agree_with_a_general_solver(seed: int) -> None:
    instance = random_instance(seed)
    if instance is None:
        pytest.skip("two arms are about the best of a segment")
    bound = am.lower_bound(instance)
    assert bound.value == pytest.approx(dual_value(instance), rel=1e-5, abs=1e-7)
    assert bound.pulls.shape == (2, 3)
    assert (bound.pulls * instance.gaps).sum() == pytest.approx(bound.value, rel=1e-9)
    assert bound.value <= bound.separately * (1 + 1e-6) <= bound.unconstrained * (1 + 2e-6)
    for c, one in enumerate(instance.one_by_one):
        assert am.lower_bound(one).value <= bound.separately * (1 + 1e-9)
        if instance.structure.coupling is None:
            assert (am.lower_bound(one).pulls == bound.pulls[c]).all()
    time = am.characteristic_time(instance)
    prices = np.ones(6)
    assert time.value == pytest.approx(dual_value(instance, prices=prices), rel=1e-5)
    assert time.shares.sum() == pytest.approx(1.0)
    alone = am.characteristic_time(instance, segment=1)
    expected = dual_value(instance, prices=prices, segment=1)
    assert alone.value == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert alone.value <= time.value * (1 + 2e-6)


@pytest.mark.parametrize("coupling", [None, *COUPLINGS])
def test_one_segment_is_none(coupling: am.Coupling | None) -> None:
    family, each = am.Bernoulli(), am.Unimodal(4)
    means = [0.2, 0.6, 0.5, 0.1]
    table = am.Segments(["everyone"], each=each, coupling=coupling)
    one, other = am.Instance(table, [means], family), am.Instance(each, means, family)
    bound, alone = am.lower_bound(one), am.lower_bound(other)
    assert (bound.value, bound.gap, bound.unconstrained) == (
        alone.value,
        alone.gap,
        alone.unconstrained,
    )
    assert (bound.pulls[0] == alone.pulls).all()
    time, again = am.characteristic_time(one), am.characteristic_time(other)
    assert (time.value, time.unconstrained) == (again.value, again.unconstrained)
    assert rows_of(table, family) == (each,)


def test_instances_of_tables() -> None:
    table = am.Segments(["day", "night"], each=am.Unconstrained(2))
    instance = am.Instance(table, [[0.9, 0.1], [0.2, 0.5]], am.Bernoulli(), frequencies=[0.7, 0.3])
    assert instance.best_arms == (0, 1)
    assert instance.gaps == pytest.approx(np.array([[0.0, 0.8], [0.3, 0.0]]))
    with pytest.raises(am.ArmatureError, match="best_arms"):
        _ = instance.best_arm
    with pytest.raises(am.ArmatureError, match="add up to 1"):
        am.Instance(table, instance.means, frequencies=[0.7, 0.4])
    with pytest.raises(am.ArmatureError, match=r"arms 0, 1 of segment 'night' are all best"):
        am.Instance(table, [[0.9, 0.1], [0.5, 0.5]])
    with pytest.raises(am.ArmatureError, match="frequencies are of the segments"):
        am.Instance(am.Unconstrained(2), [0.1, 0.2], frequencies=[1.0])
    assert "night" in repr(instance)
    coupled = am.Segments(["day", "night"], each=am.Unconstrained(2), coupling=am.Additive())
    with pytest.raises(am.ArmatureError, match="not in Segments"):
        am.Instance(coupled, instance.means)
