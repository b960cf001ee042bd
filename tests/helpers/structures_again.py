"""What structures are, written down once more: unions of polyhedra, as matrices; and random ones.

Nothing here looks at how the library describes its structures. The random ones are small enough for
the reference solver.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import linprog

import armature as am

KINDS = (
    am.Unconstrained,
    am.Unimodal,
    am.Categorised,
    am.Sparse,
    am.Linear,
    am.Lipschitz,
    am.Concave,
    am.Demand,
    am.Finite,
    am.Simplex,
    am.Polyhedral,
    am.Box,
    am.Monotone,
    am.Multimodal,
    am.MultimodalTree,
    am.UnimodalTree,
    am.Intersection,
    am.Union,
    am.Relabelled,
    am.Grid,
)
ATOMS = (am.Unimodal, am.Categorised, am.Lipschitz, am.Box, am.Monotone, am.Concave)
FAMILIES = (am.Gaussian(), am.Bernoulli(), am.Poisson(), am.Exponential())


class Piece(NamedTuple):
    """The means with G lam <= h and E lam = f."""

    tag: object
    G: np.ndarray
    h: np.ndarray
    E: np.ndarray
    f: np.ndarray


def order(K: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    """One row for each pair (a, b): lam_a - lam_b <= 0."""
    rows = np.zeros((len(pairs), K))
    for row, (a, b) in zip(rows, pairs, strict=True):
        row[a], row[b] = 1.0, -1.0
    return rows


def n_peaks(ups: tuple[bool, ...]) -> int:
    """How many arms are above both neighbours, for steps that rise or fall."""
    steps = (True, *ups, False)
    return sum(before and not after for before, after in itertools.pairwise(steps))


def edges_from(edges: tuple[tuple[int, int], ...], root: int) -> list[tuple[int, int]]:
    """The edges of a tree as (nearer, further), seen from the root."""
    reached, rest, found = {root}, list(edges), []
    while rest:
        i, k = rest.pop(0)
        if i not in reached and k not in reached:
            rest.append((i, k))
            continue
        near, far = (i, k) if i in reached else (k, i)
        reached.add(far)
        found.append((near, far))
    return found


def orders_of(structure: am.MultimodalTree) -> list[list[tuple[int, int]]]:
    """All orders of neighbours, as (lower, higher), in which few enough arms are below none."""
    found = []
    for ups in itertools.product((True, False), repeat=len(structure.edges)):
        pairs = [(i, k) if up else (k, i) for (i, k), up in zip(structure.edges, ups, strict=True)]
        if structure.n_arms - len({lower for lower, _ in pairs}) <= structure.peaks:
            found.append(pairs)
    return found


def pieces_of(structure: am.Structure) -> list[Piece]:
    K = structure.n_arms
    eye, none, nothing = np.eye(K), np.empty((0, K)), np.empty(0)
    match structure:
        case am.Segments():
            return table_pieces(structure.rows, structure.coupling)
        case am.Grid():
            columns = structure.columns
            rows = [columns[r] if isinstance(columns, dict) else columns for r in structure.rows]
            return table_pieces(rows, structure.coupling)
        case am.Unconstrained():
            return [Piece("all", none, nothing, none, nothing)]
        case am.Unimodal():
            result = []
            for p in range(K):
                rows = order(
                    K,
                    [(i, i + 1) for i in range(p)] + [(i + 1, i) for i in range(p, K - 1)],
                )
                result.append(Piece(p, rows, np.zeros(len(rows)), none, nothing))
            return result
        case am.Categorised():
            result = []
            for label in structure.labels:
                inside = [i for i in range(K) if structure.categories[i] == label]
                outside = [i for i in range(K) if structure.categories[i] != label]
                rows = order(K, list(itertools.product(outside, inside)))
                result.append(Piece(label, rows, np.zeros(len(rows)), none, nothing))
            return result
        case am.Sparse():
            level = structure.level
            result = []
            for s in itertools.combinations(range(K), structure.support):
                out = [i for i in range(K) if i not in s]
                G, h = -eye[list(s)], np.full(len(s), -level)
                result.append(Piece(s, G, h, eye[out], np.full(len(out), level)))
            return result
        case am.Linear():
            E = null_space(structure.features.T).T
            return [Piece("all", none, nothing, E, np.zeros(len(E)))]
        case am.Simplex():
            return [Piece("all", -eye, np.zeros(K), np.ones((1, K)), np.ones(1))]
        case am.Polyhedral():
            return [Piece("all", structure.A, structure.b, structure.C, structure.d)]
        case am.Lipschitz():
            x, L = structure.positions, structure.constant
            pairs = list(itertools.permutations(range(K), 2))
            reach = np.array([L * abs(x[i] - x[k]) for i, k in pairs])
            return [Piece("all", order(K, pairs), reach, none, nothing)]
        case am.Concave():
            sequence = np.argsort(structure.positions)
            x = structure.positions[sequence]
            steps = np.diff(eye[sequence], axis=0) / np.diff(x)[:, None]
            return [Piece("all", np.diff(steps, axis=0), np.zeros(K - 2), none, nothing)]
        case am.Demand():
            # For each pair, cheaper and dearer: dear's mean * cheap's price <= the other way round.
            p = structure.prices
            pairs = [(i, k) for i, k in itertools.permutations(range(K), 2) if p[i] < p[k]]
            G = np.array([p[i] * eye[k] - p[k] * eye[i] for i, k in pairs])
            return [Piece("all", G, np.zeros(len(G)), none, nothing)]
        case am.Finite():
            return [Piece(r, none, nothing, eye, row) for r, row in enumerate(structure.rows)]
        case am.Box():
            above, below = np.isfinite(structure.high), np.isfinite(structure.low)
            G = np.vstack([eye[above], -eye[below]])
            h = np.concatenate([structure.high[above], -structure.low[below]])
            return [Piece("all", G, h, none, nothing)]
        case am.Monotone():
            rows = order(K, [(i, i + 1) for i in range(K - 1)])
            return [Piece("all", rows, np.zeros(K - 1), none, nothing)]
        case am.Multimodal():
            result = []
            for ups in itertools.product((True, False), repeat=K - 1):
                if n_peaks(ups) <= structure.peaks:
                    pairs = [(i, i + 1) if up else (i + 1, i) for i, up in enumerate(ups)]
                    result.append(Piece(ups, order(K, pairs), np.zeros(K - 1), none, nothing))
            return result
        case am.MultimodalTree():
            pieces = orders_of(structure)
            return [Piece(p, order(K, p), np.zeros(K - 1), none, nothing) for p in pieces]
        case am.UnimodalTree():
            result = []
            for peak in range(K):
                pairs = [(far, near) for near, far in edges_from(structure.edges, peak)]
                result.append(Piece(peak, order(K, pairs), np.zeros(K - 1), none, nothing))
            return result
        case am.Relabelled():
            return [
                piece._replace(G=piece.G[:, structure.order], E=piece.E[:, structure.order])
                for piece in pieces_of(structure.structure)
            ]
        case am.Intersection():
            both = itertools.product(*(pieces_of(part) for part in structure.parts))
            return [
                Piece(
                    tuple(one.tag for one in some),
                    np.vstack([one.G for one in some]),
                    np.concatenate([one.h for one in some]),
                    np.vstack([one.E for one in some]),
                    np.concatenate([one.f for one in some]),
                )
                for some in both
            ]
        case am.Union():
            return [piece for part in structure.parts for piece in pieces_of(part)]
    raise NotImplementedError(structure)


def table_pieces(structures: Sequence[am.Structure], coupling: am.Coupling | None) -> list[Piece]:
    """Every combination of pieces of the rows with every piece of the coupling, empty ones too."""
    S, K = len(structures), structures[0].n_arms
    cell = np.arange(S * K).reshape(S, K)
    found = []
    for coupled in coupling_pieces(coupling, cell):
        for rows in itertools.product(*map(pieces_of, structures)):
            wide = [
                Piece(None, _into(row.G, cell[c]), row.h, _into(row.E, cell[c]), row.f)
                for c, row in enumerate(rows)
            ]
            G, h, E, f = (
                np.concatenate([part[i] for part in (coupled, *wide)]) for i in range(1, 5)
            )
            G, E = G[:, : S * K], E[:, : S * K]
            found.append(Piece((coupled.tag, *(row.tag for row in rows)), G, h, E, f))
    return found


def _into(rows: np.ndarray, cells: np.ndarray) -> np.ndarray:
    wide = np.zeros((len(rows), WIDEST))
    wide[:, cells] = rows
    return wide


WIDEST = 12  # cells of a table that is written down


def coupling_pieces(coupling: am.Coupling | None, cell: np.ndarray) -> list[Piece]:
    """What segments have in common, over WIDEST cells (those that are not there say nothing)."""
    S, K = cell.shape
    none, nothing = np.empty((0, WIDEST)), np.empty(0)
    pairs = list(itertools.permutations(range(S), 2))
    match coupling:
        case None:
            return [Piece("none", none, nothing, none, nothing)]
        case am.Additive():  # no difference of two arms is another in another segment
            E = []
            for c, d in pairs:
                for i, k in itertools.permutations(range(K), 2):
                    row = np.zeros(WIDEST)
                    np.add.at(row, cell[[c, d, c, d], [i, k, k, i]], [1.0, 1.0, -1.0, -1.0])
                    E.append(row)
            return [Piece("add", none, nothing, np.array(E).reshape(-1, WIDEST), np.zeros(len(E)))]
        case am.Alike():
            G = order(WIDEST, [(cell[c, k], cell[d, k]) for c, d in pairs for k in range(K)])
            return [Piece("alike", G, np.full(len(G), coupling.width), none, nothing)]
        case am.SameBest():
            found = []
            for best in range(K):
                others = [k for k in range(K) if k != best]
                G = order(WIDEST, [(row[k], row[best]) for row in cell for k in others])
                found.append(Piece(best, G, np.zeros(len(G)), none, nothing))
            return found
        case am.Ordered():
            G = order(
                WIDEST, [(cell[c, k], cell[c + 1, k]) for c in range(S - 1) for k in range(K)]
            )
            return [Piece("ordered", G, np.zeros(len(G)), none, nothing)]
    parts = [coupling_pieces(part, cell) for part in coupling.parts]
    return [
        Piece("both", *(np.concatenate([part[i] for part in both]) for i in range(1, 5)))
        for both in itertools.product(*parts)
    ]


def can_beat(piece: Piece, k: int, best: int) -> bool:
    """Whether arm k is better than the best one somewhere in a piece."""
    K = piece.G.shape[1]
    result = linprog(
        np.eye(K)[best] - np.eye(K)[k], piece.G, piece.h, piece.E, piece.f, bounds=(-100, 100)
    )
    return result.status == 0 and -result.fun > 1e-6


def ends_of(family: am.Family) -> tuple[np.ndarray | float, np.ndarray | float]:
    """The ends of the domain: numbers, or one for each arm."""
    match family:
        case am.Bernoulli():
            return 0.0, np.asarray(family.scale)
        case am.Bounded():
            return family.low, family.high
        case am.Gaussian():
            return -np.inf, np.inf
        case _:
            return 0.0, np.inf


def is_feasible(structure: am.Structure, family: am.Family, lam: np.ndarray) -> bool:
    """Whether means are in M and in the domain, up to 1e-9, straight from the definition."""
    K, tol = structure.n_arms, 1e-9 * max(1.0, float(np.abs(lam).max()))
    low, high = ends_of(family)
    if (lam < low).any() or (lam > high).any():
        return False
    match structure:
        case am.Unconstrained():
            return True
        case am.Unimodal():
            steps = np.diff(lam)
            return any((steps[:p] >= -tol).all() and (steps[p:] <= tol).all() for p in range(K))
        case am.Categorised():
            labels = np.array([structure.labels.index(c) for c in structure.categories])
            tops = [(lam[labels == c], lam[labels != c]) for c in set(labels)]
            return any(not low.size or top.min() >= low.max() - tol for top, low in tops)
        case am.Sparse():
            above = lam > structure.level + tol
            return bool(above.sum() <= structure.support and (lam >= structure.level - tol).all())
        case am.Linear():
            theta = np.linalg.lstsq(structure.features, lam, rcond=None)[0]
            return bool(np.abs(structure.features @ theta - lam).max() <= tol)
        case am.Lipschitz():
            apart = np.abs(structure.positions[:, None] - structure.positions)
            rise = np.abs(lam[:, None] - lam)
            return bool((rise <= structure.constant * apart + K * tol).all())
        case am.Concave():
            order = np.argsort(structure.positions)
            x, y = structure.positions[order], lam[order]
            middles = [
                np.interp(x[i], x[[i - 1, i + 1]], y[[i - 1, i + 1]]) for i in range(1, K - 1)
            ]
            return bool((y[1:-1] >= np.array(middles) - tol).all())
        case am.Demand():
            chances = (lam / structure.prices)[np.argsort(structure.prices)]
            return bool((np.diff(chances) <= 4.0 * tol / structure.prices.min()).all())
        case am.Finite():
            return bool((np.abs(structure.rows - lam).max(axis=1) <= tol).any())
        case am.Simplex():
            return bool((lam >= -tol).all() and abs(lam.sum() - 1) <= tol)
        case am.Box():
            return bool(((lam >= structure.low - tol) & (lam <= structure.high + tol)).all())
        case am.Monotone():
            return bool((np.diff(lam) >= -tol).all())
        case am.Multimodal():
            return any(
                n_peaks(ups) <= structure.peaks
                and all(
                    (step >= -tol) if up else (step <= tol)
                    for up, step in zip(ups, np.diff(lam), strict=True)
                )
                for ups in itertools.product((True, False), repeat=K - 1)
            )
        case am.MultimodalTree():
            return any(
                all(lam[i] <= lam[k] + tol for i, k in pairs) for pairs in orders_of(structure)
            )
        case am.UnimodalTree():
            # Above every level, the arms are connected.
            return all(
                _connected([i for i in range(K) if lam[i] >= level - tol], structure.edges)
                or _connected([i for i in range(K) if lam[i] > level + tol], structure.edges)
                for level in lam
            )
        case am.Grid():
            table = lam.reshape(len(structure.rows), -1)
            each = structure.columns
            rows = [each[r] if isinstance(each, dict) else each for r in structure.rows]
            return all(map(is_feasible, rows, [am.Gaussian()] * len(rows), table)) and (
                holds(structure.coupling, table, 4.0 * tol)
            )
        case am.Intersection():
            return all(is_feasible(part, family, lam) for part in structure.parts)
        case am.Union():
            return any(is_feasible(part, family, lam) for part in structure.parts)
        case am.Relabelled():
            # The domain has been looked at, in the order of these arms.
            return is_feasible(structure.structure, am.Gaussian(), lam[np.argsort(structure.order)])
        case am.Polyhedral():
            A, b, C, d = structure.A, structure.b, structure.C, structure.d
            slack = tol * (1 + np.abs(A).sum(axis=1))
            off = np.abs(C @ lam - d) <= tol * (1 + np.abs(C).sum(axis=1))
            return bool((A @ lam <= b + slack).all() and off.all())
    raise NotImplementedError(structure)


def holds(coupling: am.Coupling | None, table: np.ndarray, tol: float) -> bool:
    """Whether rows of means have in common what a coupling says."""
    match coupling:
        case None:
            return True
        case am.Additive():
            return bool(np.ptp(table - table[:, :1], axis=0).max() <= tol)
        case am.Alike():
            return bool(np.ptp(table, axis=0).max() <= coupling.width + tol)
        case am.SameBest():
            return bool((table >= table.max(axis=1, keepdims=True) - tol).all(axis=0).any())
        case am.Ordered():
            return bool((np.diff(table, axis=0) >= -tol).all())
    raise NotImplementedError(coupling)


def _connected(arms: list[int], edges: tuple[tuple[int, int], ...]) -> bool:
    reached = set(arms[:1])
    for _ in arms:
        for i, k in edges:
            if i in arms and k in arms and reached & {i, k}:
                reached |= {i, k}
    return len(reached) == len(arms)


def random_structure(
    kind: type[am.Structure], rng: np.random.Generator, n_arms: int | None = None
) -> am.Structure:
    K = int(rng.integers(2, 7)) if n_arms is None else n_arms
    if kind in (am.Unconstrained, am.Unimodal, am.Simplex, am.Monotone):
        return kind(K)
    if kind is am.Demand:
        return am.Demand(np.cumsum(rng.uniform(0.1, 1.0, K))[rng.permutation(K)])
    if kind is am.Finite:
        return am.Finite(rng.uniform(0.05, 0.95, (int(rng.integers(1, 8)), K)))
    if kind is am.Grid:
        S = 2 if K < 6 else int(rng.integers(2, 4))
        columns = [am.Unconstrained, am.Unimodal, am.Monotone][int(rng.integers(3))](max(K // S, 2))
        couplings = [None, am.Additive(), am.SameBest(), am.Alike(0.2), am.Ordered()]
        return am.Grid(range(S), columns, couplings[int(rng.integers(len(couplings)))])
    if kind in (am.Intersection, am.Union, am.Relabelled):
        return random_composition(kind, rng, min(K, 4))
    if kind is am.Box:
        low, high = rng.uniform(0.05, 0.5, K), rng.uniform(0.5, 0.95, K)
        return am.Box(K, [v if rng.random() < 0.7 else None for v in low], high)
    if kind is am.Multimodal:
        return am.Multimodal(min(K, 5), int(rng.integers(1, 4)))
    if kind is am.MultimodalTree:
        edges = [(int(rng.integers(k)), k) for k in range(1, min(K, 5))]
        return am.MultimodalTree(edges, int(rng.integers(1, 4)))
    if kind is am.UnimodalTree:
        return am.UnimodalTree([(int(rng.integers(k)), k) for k in range(1, K)])
    if kind is am.Categorised:
        return am.Categorised(rng.integers(0, rng.integers(1, K + 1), K).tolist())
    if kind is am.Sparse:
        return am.Sparse(K, int(rng.integers(1, min(K, 4))), float(rng.uniform(0.1, 0.9)))
    if kind is am.Linear:
        # Positive features, of which some are shared: some theta gives means inside of (0, 1).
        features = rng.uniform(0.1, 1.0, (K, int(rng.integers(1, 4))))
        if K > 3 and rng.random() < 0.3:
            features[1] = features[0]
            features[2] = 2.0 * features[3]
        return am.Linear(features)
    positions = rng.permutation(K) + rng.uniform(0.0, 0.5, K) if rng.random() < 0.5 else None
    if kind is am.Lipschitz:
        return am.Lipschitz(K, float(rng.uniform(0.05, 0.5)), positions)
    if kind is am.Concave:
        return am.Concave(K, positions)
    if kind is am.Polyhedral:
        inside = rng.uniform(0.3, 0.7, K)
        A = rng.normal(size=(int(rng.integers(1, 2 * K)), K))
        C = rng.normal(size=(1, K)) if rng.random() < 0.4 and K > 2 else np.empty((0, K))
        return am.Polyhedral(A, A @ inside + rng.exponential(0.1, len(A)), C, C @ inside)
    raise NotImplementedError(kind)


def random_composition(
    kind: type[am.Structure], rng: np.random.Generator, n_arms: int
) -> am.Structure:
    first, second = rng.choice(len(ATOMS), 2, replace=False)
    parts = [random_structure(ATOMS[i], rng, n_arms) for i in (first, second)]
    if kind is am.Intersection:
        return parts[0] & parts[1]  # both contain constant means near 0.5
    if kind is am.Union:
        return parts[0] | parts[1]
    return am.Relabelled(parts[0], rng.permutation(n_arms).tolist())
