"""Segments: a table of means, a row for each segment."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError, short
from armature.families import Family, FamilyRecord
from armature.kernels.arrays import Floats
from armature.kernels.checks import as_array, check_kind, checked_vector, is_several
from armature.kernels.kernel import Kernel
from armature.structures.oracles.records import Fit, Oracle, Shape, Work
from armature.structures.piece import Piece
from armature.structures.segments.couplings import Additive, Coupling
from armature.structures.segments.layout import quick_oracle, shape_of, work_size_of
from armature.structures.segments.pieces import Pieces, embedded, pieces_of
from armature.structures.structure import Structure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Segments(Structure):
    """The same arms, seen by different people, with what they have in common.

    A table of means: a row for each segment (devices, customers, weekdays), a column for each arm.
    A segment arrives, and a policy chooses an arm for it; the regret is against the best arm of
    that segment. `each` says what is known of a row, `coupling` what rows have in common.

    Parameters
    ----------
    names : sequence of hashable
        What the segments are called: different from each other, at least one.
    each : Structure or mapping
        What is known about the means of a row: one structure for all, or one for each name.
    coupling : Coupling, optional
        `Additive()`, `Alike(width)`, `SameBest()`, `Ordered()`, several with `&`, or one of your
        own. None: rows are separate.

    Guarantee
    ---------
    Without a coupling everything adds up row by row. With one, a convex program for each piece,
    whose answer is checked by its multipliers, to 1e-10 of its cost or to rounding; with Gaussian
    rewards and additive coupling of rows that are chains, pivoting on how much neighbours differ.
    A table of more than 256 pieces is refused. Compared in tests with a convex solver.

    >>> from armature.families import Gaussian
    >>> from armature.structures import Unimodal
    >>> table = Segments(["mobile", "desktop"], each=Unimodal(3), coupling=Additive())
    >>> table.contains([[0.1, 0.5, 0.2], [0.3, 0.7, 0.4]])
    True
    >>> fit = table.project([[0.1, 0.5, 0.2], [0.3, 0.7, 0.0]], np.ones((2, 3)), Gaussian())
    >>> fit.means.round(3).tolist()  # what is seen of one arm in one segment moves both
    [[0.167, 0.567, 0.067], [0.233, 0.633, 0.133]]

    Limits
    ------
    Segments are finitely many and named. The pieces of rows multiply under `Alike` and `Ordered`.

    References
    ----------
    Hao, Lattimore and Szepesvári (2020), "Adaptive Exploration in Linear Contextual Bandit", and
    Saber, Ménard and Maillard (2020), "Optimal Strategies for Graph-Structured Bandits", for the
    bound of two kinds of them.
    """

    names: tuple[Hashable, ...]
    each: Structure | Mapping[Hashable, Structure]
    coupling: Coupling | None
    rows: tuple[Structure, ...]  # of each segment
    n_arms: int  # the cells of the table

    challenge = "top"
    is_table = True

    def __init__(
        self,
        names: Iterable[Hashable],
        each: Structure | Mapping[Any, Structure],
        coupling: Coupling | None = None,
    ) -> None:
        labels = checked_names(names, "segment", '["mobile", "desktop"]')
        rows = _checked_rows(labels, each)
        if coupling is not None:
            check_kind(coupling, Coupling, "coupling", "Additive()")
        values = {
            "names": labels,
            "each": each,
            "coupling": coupling,
            "rows": rows,
            "segment_names": labels,
            "is_coupled": coupling is not None and len(rows) > 1,
            "n_arms": len(rows) * rows[0].n_arms,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.is_coupled:
            several = len(self.joint.of) > 1
            object.__setattr__(self, "challenge", "top" if several else "order")

    @classmethod
    def examples(cls) -> tuple[Structure, ...]:
        """None: it is no structure over arms of which one is best (tests make tables)."""
        return ()

    # What there is.

    @property
    def n_segments(self) -> int:
        """The number of segments."""
        return len(self.rows)

    @property
    def n_each(self) -> int:
        """The number of arms in each segment."""
        return self.rows[0].n_arms

    @property
    def segments(self) -> tuple[tuple[int, int], ...]:
        """From which cell up to before which the arms of each segment are."""
        K = self.n_each
        return tuple((c * K, c * K + K) for c in range(self.n_segments))

    def place(self, segment: Hashable) -> int:
        """The number of a segment, or an error that lists those that there are."""
        try:
            return self.names.index(segment)
        except ValueError:
            known = ", ".join(map(repr, self.names))
            raise ArmatureError(
                f"there is no segment {short(segment)}: the segments are {known}."
            ) from None

    @functools.cached_property
    def joint(self) -> Pieces:
        """The pieces of a coupled table."""
        assert self.coupling is not None
        return pieces_of(self.rows, self.coupling)

    def pieces(self) -> Iterable[Piece]:
        S, K = self.n_segments, self.n_each
        if self.is_coupled:
            equal = next(Additive().pieces(S, K))
            for table in self.joint.of:
                yield table.piece & equal if self.joint.basis.size else table.piece
            return
        found = [embedded(piece, 0, S) for piece in self.rows[0].pieces()]
        for c in range(1, S):  # a product, one by one: who asks for all of it waits
            found = [one & embedded(p, c, S) for one in found for p in self.rows[c].pieces()]
        yield from found

    def violation(self, means: Floats, tolerance: float) -> str | None:
        for name, row, own in zip(
            self.names, self.rows, means.reshape(len(self.rows), -1), strict=True
        ):
            said = row.violation(own, tolerance)
            if said is not None:
                return f"in segment {name!r}, {said}"
        return super().violation(means, tolerance) if self.is_coupled else None

    def forgotten(self) -> Structure:
        """The same segments, of which nothing is known."""
        from armature.structures.unconstrained import Unconstrained

        return Segments(self.names, Unconstrained(self.n_each))

    # Families and vectors, of all cells.

    def family_of_cells(self, family: Family) -> Family:
        """The family of all cells: what is said of a row's arms, for each segment."""
        if family.n_arms != self.n_each:
            return family
        return family.relabelled([*range(self.n_each)] * self.n_segments)

    def family_of(self, family: Family, segment: int) -> Family:
        """The family of the arms of a segment."""
        if family.n_arms is None or family.n_arms != self.n_arms:
            return family
        return family.relabelled([*range(*self.segments[segment])])

    def checked_family(self, family: Family) -> FamilyRecord:
        check_kind(family, Family, "family", "Gaussian()")
        for c, row in enumerate(self.rows):
            row.checked_family(self.family_of(family, c))
        whole = self.family_of_cells(family)
        return super().checked_family(whole) if self.is_coupled else whole.record_for(self.n_arms)

    def checked_vector(self, values: npt.ArrayLike, name: str) -> Floats:
        array = as_array(values, name)
        if array.shape == (self.n_segments, self.n_each):
            array = array.reshape(-1)
        elif array.shape != (self.n_arms,):
            raise ArmatureError(
                f"{name} must be {self.n_segments} rows of {self.n_each} numbers, one for each arm "
                f"in each segment; got an array of shape {array.shape}."
            )
        return checked_vector(array, name, self.n_arms)

    def checked_problem(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, family: Family
    ) -> tuple[Floats, Floats]:
        return super().checked_problem(means, weights, self.family_of_cells(family))

    # What compiled code needs.

    def _among(self, quick: Oracle, name: str) -> tuple[Kernel[..., Any] | None, bool]:
        return getattr(quick, name), False

    def oracle_for(self, family: Family) -> Oracle:
        return quick_oracle(self, family)

    def entry(self, name: str, family: Family | None) -> tuple[Kernel[..., Any] | None, bool]:
        return self._among(quick_oracle(self, family), name)

    def own_side(self, family: Family | None) -> tuple[Shape, Work]:
        assert family is not None
        return self._with_work(shape_of(self, family, -1), work_size_of(self))

    def _others(self, arm: int) -> list[int]:
        K = self.n_each
        return [k for k in range(arm - arm % K, arm - arm % K + K) if k != arm]

    def _pair(self, best: int, challenger: int) -> tuple[int, int]:
        j, k = super()._pair(best, challenger)
        if j // self.n_each != k // self.n_each:
            raise ArmatureError(
                f"cells {j} and {k} are of different segments: an arm is compared with those of "
                "its own."
            )
        return j, k

    def _solve(
        self,
        name: str,
        means: npt.ArrayLike,
        weights: npt.ArrayLike,
        family: Family,
        first: int,
        second: int,
        marks: Sequence[int] = (),
    ) -> Fit:
        self.checked_family(family)
        shape = self.n_segments, self.n_each
        if self.is_coupled:
            if self.entry(name, family)[0] is None:
                raise ArmatureError(f"a table of coupled segments does not answer {name!r}.")
            fit = super()._solve(name, means, weights, self.family_of_cells(family), first, second)
            means = np.asarray(fit.means)
            return Fit(means if name == "challenger_costs" else means.reshape(shape), fit.cost)
        mu, w = self.checked_problem(means, weights, family)
        K = self.n_each
        asked = first // K if first >= 0 else -1
        fits = []
        for c, row in enumerate(self.rows):
            one, cells = self.family_of(family, c), slice(c * K, c * K + K)
            there = (first % K, second % K if second >= 0 else -1)
            question = (name, *there) if c == asked else ("project", -1, -1)
            fits.append(row._solve(question[0], mu[cells], w[cells], one, *question[1:]))
        cost = sum(fit.cost for fit in fits)
        return Fit(np.stack([np.asarray(fit.means) for fit in fits]), float(cost))


def checked_names(names: Iterable[Hashable], what: str, example: str) -> tuple[Hashable, ...]:
    """Different names of segments, or of whatever the rows of a table are."""
    labels = tuple(map(_plain, names)) if is_several(names) or isinstance(names, str) else ()
    if not labels:
        raise ArmatureError(
            f"names must be a list of {what}s, such as {example}; got {short(names)}."
        )
    for name in labels:
        parts = name if isinstance(name, tuple) else (name,)
        if not all(isinstance(part, (str, int, float)) and part == part for part in parts):
            raise ArmatureError(
                f"{short(name)} can't be the name of a {what}: use strings, numbers or tuples of "
                "them."
            )
    if len(set(labels)) < len(labels):
        twice = next(name for i, name in enumerate(labels) if name in labels[:i])
        raise ArmatureError(f"the {what} {twice!r} is there twice: names must differ.")
    printed = {str(name): name for name in labels}
    for name in labels:
        if printed[str(name)] != name:
            raise ArmatureError(f"two {what}s are printed as {str(name)!r}: they must differ.")
    return labels


def _plain(name: Any) -> Any:
    """NumPy's numbers and strings as Python's, so that a name is the same after it was saved."""
    if isinstance(name, tuple):
        return tuple(map(_plain, name))
    return name.item() if isinstance(name, np.generic) else name


def _checked_rows(
    names: tuple[Hashable, ...], each: Structure | Mapping[Any, Structure]
) -> tuple[Structure, ...]:
    """What is known of each segment's row: all have the same arms."""
    if isinstance(each, Mapping):
        missing = [name for name in names if name not in each]
        unknown = [name for name in each if name not in names]
        if missing or unknown:
            wrong = missing or unknown
            said = "says nothing of" if missing else "speaks of"
            raise ArmatureError(
                f"each {said} {', '.join(map(repr, wrong))}, where the segments are "
                f"{', '.join(map(repr, names))}: give one structure for each, or one for all."
            )
        rows = tuple(each[name] for name in names)
    else:
        rows = (each,) * len(names)
    for row in rows:
        if not isinstance(row, Structure) or isinstance(row, Segments):
            raise ArmatureError(
                f"each is a structure over the arms, such as Unimodal(5); got {short(row)}."
            )
    sizes = {row.n_arms for row in rows}
    if len(sizes) > 1:
        said = " and ".join(f"{n!r} has {r.n_arms}" for n, r in zip(names, rows, strict=True))
        raise ArmatureError(f"all segments have the same arms, but {said}.")
    return rows
