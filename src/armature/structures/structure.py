"""The class of all structures: a declaration, and everything that follows from it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family, Gaussian
from armature.families.kernels import divide_by_variances, unit_gaussian
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_kind
from armature.kernels.kernel import Kernel
from armature.structures.declared import Declared, declares_pieces
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.records import Cell, Fit, OracleProblem, Shape, Work
from armature.structures.oracles.table import COMPARING
from armature.words import Card, Shown, brief

if TYPE_CHECKING:
    from armature.structures.composition import Intersection, Union

METHODS = (
    "project",
    "alt_min",
    "nearest_alternative",
    "cells",
    "cell_min",
    "challenger_min",
    "challenger_costs",
    "nearest_with_best",
    "highest",
)


class Structure(Declared, Shown):
    """Knowledge about the means: a set M of mean vectors.

    Write `not j` for the closure of { lam in M : the best arm of lam is not j }. Given means mu,
    weights w and a reward family with divergence d, a structure minimises the cost
    sum_i w_i d(mu_i, lam_i) over

    * M: `project`;
    * { lam in `not best` : lam[challenger] >= lam[best] }: `alt_min`;
    * `not best`: `nearest_alternative`;
    * one of the convex `cells` that `not best` is the union of: `cell_min`;
    * the lam in M in which an arm is best: `nearest_with_best`.

    The means need not lie in M. A zero weight makes an arm free: its mean is whatever M asks for.
    Where nothing is feasible the cost is inf and the means are nan.

    A structure of your own declares `n_arms` and `pieces()`, M as a union of polyhedra; all else
    follows, and runs compiled:

    >>> from armature.authoring import Piece
    >>> class Known(Structure):
    ...     '''Nothing is known but the mean of arm 0.'''
    ...
    ...     def __init__(self, n_arms, value):
    ...         self.n_arms, self.value = n_arms, value
    ...
    ...     def pieces(self):
    ...         first = np.eye(self.n_arms)[:1]
    ...         yield Piece(np.empty((0, self.n_arms)), [], first, [self.value])
    >>> known = Known(3, value=0.5)
    >>> known.nearest_alternative([0.5, 0.9, 0.8], np.ones(3), 1, Gaussian()).means.round(9)
    array([0.5 , 0.85, 0.85])
    >>> known.contains([0.5, 0.9, 0.8]), known.violation_of([0.4, 0.9, 0.8])
    (True, 'means[0] = 0.4 should be equal to 0.5')

    Instead of `pieces` it can have `project` and `alt_min` in plain Python, of which compiled code
    then asks everything. Whatever method a class overrides is what is called.

    Paper: Assumption 2; Definition 2.
    """

    own_methods: ClassVar[frozenset[str]] = frozenset()  # of METHODS: those in plain Python

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        mine = {name: getattr(cls, name) for name in METHODS}
        cls.own_methods = frozenset(n for n in METHODS if mine[n] is not getattr(Structure, n))

    def card(self) -> Card:
        meaning = (inspect.getdoc(type(self)) or "").partition("\n\n")[0]
        is_whole = declares_pieces(self) or overrides(self)
        said = [*meaning.split(), self.solved_by] if is_whole else meaning.split()
        return Card(repr(self), note=" ".join(said))

    def __repr__(self) -> str:
        said = []
        for name in inspect.signature(type(self)).parameters:
            value = getattr(self, name, None)
            if value is not None and np.size(value) > 0:
                said.append(f"{name}={brief(value)}")
        return f"{type(self).__name__}({', '.join(said)})"

    @classmethod
    def examples(cls) -> tuple[Structure, ...]:
        """Small instances for the conformance suite; their means include some in (0, 1)."""
        return ()

    def project(self, means: npt.ArrayLike, weights: npt.ArrayLike, family: Family) -> Fit:
        """The mean vector of M nearest to `means`."""
        return self._solve("project", means, weights, family, -1, -1)

    def alt_min(
        self,
        means: npt.ArrayLike,
        weights: npt.ArrayLike,
        best: int,
        challenger: int,
        family: Family,
    ) -> Fit:
        """The nearest mean vector of `not best` in which `challenger` is at least as good.

        A tie of the two that no mean vector near it breaks is not in `not best`, a closure.

        Paper: Eq. (3).
        """
        return self._solve("alt_min", means, weights, family, *self._pair(best, challenger))

    def nearest_alternative(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, best: int, family: Family
    ) -> Fit:
        """The nearest mean vector of M in which another arm than `best` is best.

        Paper: Section 1.1, alternatives; Definition 3.
        """
        j = self.checked_arm(best, "best")
        if overrides(self, "alt_min"):
            fits = (self.alt_min(means, weights, j, k, family) for k in self._others(j))
            return min(fits, key=lambda fit: fit.cost)
        return self._solve("nearest", means, weights, family, j, -1)

    def challenger_min(
        self,
        means: npt.ArrayLike,
        weights: npt.ArrayLike,
        best: int,
        challenger: int,
        family: Family,
    ) -> Fit:
        """The nearest mean vector in which `challenger` beats `best`, as the structure reads it."""
        if overrides(self, "alt_min"):
            return self.alt_min(means, weights, best, challenger, family)
        return self._solve("challenger_min", means, weights, family, *self._pair(best, challenger))

    def challenger_costs(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, best: int, family: Family
    ) -> Floats:
        """For each arm what it costs that it beats `best`; at `best`, what the projection costs."""
        j = self.checked_arm(best, "best")
        self.checked_family(family)
        if self.oracle_for(family).challenger_costs is None or overrides(
            self, "alt_min", "project"
        ):
            costs = np.full(self.n_arms, np.inf)  # of arms that are compared with it
            costs[j] = self.project(means, weights, family).cost
            for k in self._others(j):
                costs[k] = self.challenger_min(means, weights, j, k, family).cost
            return costs
        return self._solve("challenger_costs", means, weights, family, j, -1).means

    def nearest_with_best(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, arm: int, family: Family
    ) -> Fit:
        """The nearest mean vector of M in which `arm` is best.

        (A structure in plain Python can't be asked that: there, `arm` is at least as good as the
        projection's best arm.)
        """
        j = self.checked_arm(arm, "arm")
        if overrides(self, "alt_min"):
            fit = self.project(means, weights, family)
            mu, w = self.checked_problem(means, weights, family)
            leader = leader_of(family.record_for(self.n_arms), np.asarray(fit.means), mu, w)
            return fit if leader == j else self.alt_min(means, weights, leader, j, family)
        return self._solve("best_min", means, weights, family, j, -1)

    def highest(self, low: npt.ArrayLike, high: npt.ArrayLike) -> Floats | None:
        """The highest mean of each arm over the vectors of M between low and high.

        None where there is no such vector. An arm that is nowhere the best of these may get less.
        """
        check_highest(self)
        below, above = self.checked_vector(low, "low"), self.checked_vector(high, "high")
        kernel, shape, work = self._entry("highest", None)
        out = np.empty(self.n_arms)
        return out if kernel(shape, work, below, above, out) > 0.0 else None

    def cells(
        self,
        best: int,
        means: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        family: Family | None = None,
    ) -> tuple[Cell, ...]:
        """Convex sets whose union is `not best`.

        Where they depend on the means (`cells_depend_on_means`), give means, and weights unless
        these are equal; what is then in `Cell.marks` is what they depend on.

        Paper: Section 2.3.1, cells.
        """
        j = self.checked_arm(best, "best")
        if overrides(self, "alt_min"):
            return tuple(Cell(j, k) for k in self._others(j))
        family = Gaussian() if family is None else family
        self.checked_family(family)
        if means is None and self.cells_depend_on(family):
            raise ArmatureError(
                f"the cells of {type(self).__name__} depend on the means: give means."
            )
        known = np.full(self.n_arms, family.some_mean) if means is None else means
        mu = family.checked(self.checked_vector(known, "means"))
        kernel, problem = self._problem(
            "cells", mu, np.ones(self.n_arms) if weights is None else weights, family
        )
        numbers = np.zeros(self.n_cells_for(family), dtype=np.int64)
        n = kernel(problem, j, numbers)
        marks = tuple(problem.marks.tolist()) if self.cells_depend_on(family) else ()
        return tuple(Cell(j, int(number), marks) for number in numbers[:n])

    def cell_min(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, cell: Cell, family: Family
    ) -> Fit:
        """The nearest mean vector in a cell.

        Paper: Section 2.3.1, cells.
        """
        check_kind(cell, Cell, "cell", "one of cells(best)")
        self.checked_family(family)
        if overrides(self, "alt_min"):
            return self.alt_min(means, weights, cell.best, cell.number, family)
        self.checked_cell(cell, family)
        return self._solve(
            "cell_min", means, weights, family, cell.best, cell.number, marks=cell.marks
        )

    def checked_cell(self, cell: Cell, family: Family) -> None:
        """Refuse what `cells` does not give."""
        if cell not in self.cells(cell.best, family=family):
            raise ArmatureError(f"{cell} is not a cell of {self}: take one from cells(...).")

    @property
    def solved_by(self) -> str:
        """A sentence that says by what questions are answered, and why.

        >>> from armature.structures import Concave, Lipschitz
        >>> Lipschitz(300, 0.1).solved_by
        'Chains: only neighbours along a line hold each other. For hundreds of arms.'
        >>> Concave(9).solved_by
        'Passes along a line, where the means are concave. For hundreds of arms.'
        """
        if overrides(self):
            return "Methods of its own, in plain Python."
        if self.oracle.project is not None:
            return "Kernels of its own."
        lines = 0
        for piece in self.pieces():
            if piece.no_chain and piece.bends is None:
                return f"Dense programs, for tens of arms: {piece.no_chain}."
            lines += piece.bends is not None
        if lines:
            return "Passes along a line, where the means are concave. For hundreds of arms."
        return "Chains: only neighbours along a line hold each other. For hundreds of arms."

    def __and__(self, other: Structure) -> Intersection:
        from armature.structures.composition import Intersection

        return Intersection([self, other]) if isinstance(other, Structure) else NotImplemented

    def __or__(self, other: Structure) -> Union:
        from armature.structures.composition import Union

        return Union([self, other]) if isinstance(other, Structure) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        """The values of the constructor's arguments; else the object itself."""
        names = list(inspect.signature(type(self)).parameters)
        if not all(hasattr(self, name) for name in names):
            return (id(self),)
        return tuple(frozen(getattr(self, name)) for name in names)

    def _entry(self, name: str, family: Family | None) -> tuple[Kernel[..., Any], Shape, Work]:
        kernel, is_derived = self.entry(name, family)
        assert kernel is not None
        comparing = name in COMPARING
        side = self.derived_side(comparing) if is_derived else self.own_side(family)
        return kernel, *side

    def _problem(
        self, name: str, means: npt.ArrayLike, weights: npt.ArrayLike, family: Family
    ) -> tuple[Kernel[..., Any], OracleProblem]:
        """The kernel that answers a question, and what it is asked."""
        record = self.checked_family(family)
        family.check_known()
        mu, w = self.checked_problem(means, weights, family)
        if (
            record.gaussian and not record.alike
        ):  # as in `armature.structures.oracles.model.problem_for`
            even = np.empty(self.n_arms)
            divide_by_variances(record, w, even)
            record, w = unit_gaussian.py_func(record), even
        kernel, shape, work = self._entry(name, family)
        marks = np.zeros(self.n_arms, dtype=np.int64)
        return kernel, OracleProblem(record, mu, w, shape, work, marks)

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
        if not declares_pieces(self):
            self.pieces()
        kernel, problem = self._problem(name, means, weights, family)
        problem.marks[: len(marks)] = marks
        lam = np.empty(self.n_arms)
        return Fit(lam, float(kernel(problem, first, second, lam)))


def check_highest(structure: Structure) -> None:
    """Refuse a structure that can't say how high means can be."""
    if declares_pieces(structure) or overrides(structure, "highest"):
        return
    if overrides(structure):
        raise ArmatureError(
            f"{type(structure).__name__} does not say how high its means can be, which "
            "StructuredUCB asks: give it `pieces()` or `highest(low, high)` besides its other "
            "methods, or choose another policy (such as Challenger or SPk)."
        )
    structure.pieces()  # which says what is missing


def overrides(structure: Structure, *names: str) -> bool:
    """True if a structure has one of these methods of its own."""
    return not structure.own_methods.isdisjoint(names or METHODS)


def frozen(value: Any) -> object:
    """A value that can be hashed, and is equal where the given one is: lists as tuples, and so on.

    Of what else can't be hashed, each object is equal to itself alone.
    """
    match value:
        case np.ndarray():
            return value.shape, value.tobytes()
        case list() | tuple():
            return tuple(map(frozen, value))
        case dict():
            return frozenset((frozen(key), frozen(part)) for key, part in value.items())
        case set():
            return frozenset(map(frozen, value))
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
