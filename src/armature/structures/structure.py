"""What every structure has in common: a declaration, and everything that follows from it."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord, Gaussian, Interval
from armature.families.kernels import divide_by_variances, unit_gaussian
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import Kernel
from armature.structures.checks import checked_index, checked_vector
from armature.structures.oracles import derived
from armature.structures.oracles.records import ENTRIES, Cell, Fit, Oracle, Problem, Shape, Work
from armature.structures.oracles.scratch import measure
from armature.structures.piece import Piece

if TYPE_CHECKING:
    from armature.structures.composition import Intersection, Union

TOLERANCE = 1e-9
EVERYTHING = (-math.inf, math.inf)
SINGULAR = 1e-9  # relative to the largest singular value
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


class Structure:
    """What is known about the means: a set M of mean vectors.

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
    """

    n_arms: int
    oracle: ClassVar[Oracle] = Oracle()  # kernels that are faster than what follows from `pieces`

    # What follows from the pieces, unless a class knows better: whether M is convex; whether it is
    # made of orders and levels alone, so that minimisers are the same for every family; and how
    # "k beats j" is read where all challengers to j are weighed: "order", lam_k >= lam_j, or "top",
    # where besides k can be the best arm. A union of pieces reads it as "top". And whether M is
    # everything, so that "k beats j" is about these two arms alone; whether all means may be equal;
    # whether the mean vectors in which "k beats j" are a convex set, though M is not.
    convex: bool | None = None
    order_only: bool | None = None
    challenge: str | None = None
    pairwise: bool = False
    has_constants: bool = False
    convex_challenges: bool = False
    cells_depend_on_means: ClassVar[bool] = False

    # What must be said of a new arm, by keyword; None where the structure does not say what a new
    # arm would mean. And whether its place among the others means something.
    arm_facts: tuple[str, ...] | None = None
    arms_in_order: bool = False

    @classmethod
    def examples(cls) -> tuple[Structure, ...]:
        """Small instances for the conformance suite; their means include some in (0, 1)."""
        return ()

    def pieces(self) -> Iterable[Piece]:
        """M as a union of convex pieces."""
        raise ArmatureError(
            f"{type(self).__name__} declares no pieces: give it `pieces()`, which yields "
            "am.Piece(A, b, C, d), or both `project` and `alt_min`."
        )

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
        """The nearest mean vector of `not best` in which `challenger` is at least as good."""
        return self._solve("alt_min", means, weights, family, *self._pair(best, challenger))

    def nearest_alternative(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, best: int, family: Family
    ) -> Fit:
        """The nearest mean vector of M in which another arm than `best` is best."""
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
        if self.oracle_for(family).challenger_costs is None or overrides(
            self, "alt_min", "project"
        ):
            costs = np.empty(self.n_arms)
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
            leader = int(np.argmax(fit.means))
            return fit if leader == j else self.alt_min(means, weights, leader, j, family)
        return self._solve("best_min", means, weights, family, j, -1)

    def highest(self, low: npt.ArrayLike, high: npt.ArrayLike) -> Floats | None:
        """The highest mean of each arm over the vectors of M between low and high.

        None where there is no such vector. An arm that is nowhere the best of these may get less.
        """
        if not declares_pieces(self):
            self.pieces()
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

        Where they depend on the means (the sparse structure), give means, and weights unless these
        are equal; what is then in `Cell.marks` is what they depend on.
        """
        j = self.checked_arm(best, "best")
        if overrides(self, "alt_min"):
            return tuple(Cell(j, k) for k in self._others(j))
        family = Gaussian() if family is None else family
        if means is None and self.cells_depend_on(family):
            raise ArmatureError(
                f"the cells of {type(self).__name__} depend on the means: give means."
            )
        mu = family.checked(np.full(self.n_arms, family.some_mean) if means is None else means)
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
        """The nearest mean vector in a cell."""
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

    def contains(self, means: npt.ArrayLike) -> bool:
        """Whether the means lie in M, up to 1e-9 of their size."""
        return self.violation_of(means) is None

    def violation_of(self, means: npt.ArrayLike) -> str | None:
        """A sentence that says why the means are not in M, or None where they are."""
        mu = self.checked_vector(means, "means")
        return self.violation(mu, TOLERANCE * max(1.0, float(np.abs(mu).max())))

    def violation(self, means: Floats, tolerance: float) -> str | None:
        """The same for a checked vector; by default the row that the nearest piece breaks."""
        if not declares_pieces(self):
            return self._moved(means, tolerance)
        least, sentence = math.inf, None
        for piece in self.pieces():
            worst = float(piece.excess(means).max(initial=0.0))
            if worst <= tolerance:
                return None
            if worst < least:
                least, sentence = worst, piece.broken(means, tolerance)
        return sentence

    def _moved(self, means: Floats, tolerance: float) -> str | None:
        fit = self.project(means, np.ones(self.n_arms), Gaussian())
        distance = np.abs(np.asarray(fit.means) - means)
        worst = int(np.argmax(distance))
        if distance[worst] <= tolerance:
            return None
        return (
            f"means[{worst}] = {means[worst]:g} would have to be {fit.means[worst]:g}: "
            f"the means are not in {type(self).__name__}"
        )

    def relabelled(self, order: Sequence[int]) -> Structure:
        """The same knowledge with the arms renumbered: arm i is what was arm order[i]."""
        from armature.structures.composition import Relabelled

        return Relabelled(self, order)

    def with_arm(self, at: int, facts: Mapping[str, Any]) -> Structure:
        """The same knowledge with one more arm, number `at`; the others keep their order.

        `facts` says of it what `arm_facts` asks for.
        """
        raise ArmatureError(
            f"{type(self).__name__} does not say what a new arm would mean: make a new bandit with "
            "a structure for all arms, and give it what was learned as its history."
        )

    def without_arm(self, arm: int) -> Structure:
        """What is known about the other arms if nothing is said about this one."""
        raise ArmatureError(
            f"{type(self).__name__} does not say what is left without an arm: exclude it whenever "
            "you ask, or make a new bandit with a structure for the others."
        )

    def mirrored(self, about: float) -> Structure:
        """The set of values `about - cost`, where the structure is what is known about costs.

        What a structure says of good and bad stays as it is: one peak of the values is one valley
        of the costs. Numbers, such as bounds and levels, are those of the costs.
        """
        raise ArmatureError(
            f'{type(self).__name__} can\'t be read as knowledge about costs: leave goal="max", '
            "tell minus the costs, and say what is known about these."
        )

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
        """The values of the constructor's arguments, arrays as bytes; else the object itself."""
        names = list(inspect.signature(type(self)).parameters)
        if not all(hasattr(self, name) for name in names):
            return (id(self),)
        values = (getattr(self, name) for name in names)
        return tuple(
            (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value
            for value in values
        )

    # What compiled code needs to know.

    @functools.cached_property
    def is_convex(self) -> bool:
        """Whether M is known to be convex."""
        if self.convex is not None or not declares_pieces(self):
            return bool(self.convex)
        return len(list(itertools.islice(self.pieces(), 2))) == 1

    @functools.cached_property
    def is_order_only(self) -> bool:
        """Whether minimisers are the same for every family."""
        if self.order_only is not None or not declares_pieces(self):
            return bool(self.order_only)
        return all(piece.orders_only for piece in self._listed())

    @functools.cached_property
    def directions(self) -> Floats | None:
        """An orthonormal basis, in columns, of the directions in which M extends, if it is convex.

        None: of all directions, or not known to be convex.
        """
        if not (self.is_convex and declares_pieces(self)):
            return None
        (piece,) = self.pieces()
        C = np.asarray(piece.C, dtype=float).reshape(-1, self.n_arms)
        if not len(C):
            return None
        import scipy.linalg  # when it is needed: importing the package is quick

        return np.asarray(scipy.linalg.null_space(C, rcond=SINGULAR))

    @property
    def challenges_convexly(self) -> bool:
        """Whether the mean vectors in which one arm beats another are known to be a convex set."""
        return self.convex_challenges or (self.is_convex and not self.reads_by_top)

    @property
    def is_pairwise(self) -> bool:
        """Whether M is known to be everything."""
        return self.pairwise and not overrides(self)

    @property
    def few_above(self) -> tuple[int, float] | None:
        """How many arms may be above which level, where that is all that is known; else None."""
        return None

    @property
    def one_on_top(self) -> Ints | None:
        """The category of each arm, where all that is known is that one of them is on top."""
        return None

    @functools.cached_property
    def reads_by_top(self) -> bool:
        """Whether "k beats j" asks that k can be the best arm."""
        return not self.is_convex if self.challenge is None else self.challenge == "top"

    @functools.cached_property
    def shape(self) -> Shape:
        """What the kernels in `oracle` read."""
        return Shape(np.empty(0), np.empty(0, dtype=np.int64))

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        """How many floats and integers of scratch space the kernels in `oracle` need."""
        return 0, 0

    def _listed(self) -> list[Piece]:
        return derived.listed(self.pieces(), type(self).__name__)

    def table(self, comparing: bool) -> Shape:
        """What the kernels read that are derived from the pieces."""
        known: dict[bool, Shape] = self.__dict__.setdefault("_tables", {})
        if comparing not in known:
            known[comparing] = derived.make_table(
                self.pieces(), self.n_arms, self.reads_by_top, comparing, type(self).__name__
            )
        return known[comparing]

    @functools.cached_property
    def table_work(self) -> tuple[int, int]:
        """How much scratch space these need."""
        rows = max(len(piece.b) + len(piece.d) for piece in self._listed())
        return measure(derived.scratch_of, self.n_arms, rows)

    @property
    def n_cells(self) -> int:
        """How many cells there can be for an arm."""
        if self.oracle.cells is not None or not declares_pieces(self):
            return self.n_arms
        return len(self._listed()) * self.n_arms

    def n_cells_for(self, family: Family) -> int:
        """The same where rewards are of a family: its cells may be those of the pieces."""
        if self.oracle_for(family).cells is not None or not declares_pieces(self):
            return self.n_cells
        return len(self._listed()) * self.n_arms

    def cells_depend_on(self, family: Family) -> bool:
        """Whether the cells depend on the means where rewards are of a family."""
        return self.cells_depend_on_means and self.oracle_for(family).cells is not None

    def oracle_for(self, family: Family) -> Oracle:
        """The kernels for a family, where they are not the same for all.

        Those in `oracle` pool arms by averaging; where the arms have parameters of their own, what
        follows from the pieces is right, unless a class knows better.
        """
        return self.oracle if family.pools_by_averaging else Oracle(highest=self.oracle.highest)

    def entry(self, name: str, family: Family | None) -> tuple[Kernel[..., Any] | None, bool]:
        """The kernel that answers a question, and whether it is derived from the pieces."""
        return self._among(self.oracle if family is None else self.oracle_for(family), name)

    def entries(self, family: Family) -> list[tuple[Kernel[..., Any] | None, bool]]:
        """The same for all questions."""
        quick = self.oracle_for(family)
        return [self._among(quick, name) for name in ENTRIES]

    def _among(self, quick: Oracle, name: str) -> tuple[Kernel[..., Any] | None, bool]:
        own = getattr(quick, name)
        if own is None and name == "challenger_min" and not self.reads_by_top:
            own = quick.alt_min
        if own is not None or name in ("challenger_costs", "optimistic"):
            return own, False
        return getattr(derived.DERIVED, name), True

    def own_side(self) -> tuple[Shape, Work]:
        """The arrays that the kernels in `oracle` read, and fresh scratch space for them."""
        return self._with_work(self.shape, self.work_size)

    def derived_side(self, comparing: bool) -> tuple[Shape, Work]:
        """The same for what is derived from the pieces."""
        return self._with_work(self.table(comparing), self.table_work)

    def _with_work(self, shape: Shape, size: tuple[int, int]) -> tuple[Shape, Work]:
        return shape, Work(np.empty(size[0]), np.empty(size[1], dtype=np.int64))

    def checked_family(self, family: Family) -> FamilyRecord:
        """The family's record, or an error where this structure can't be used with it."""
        if not isinstance(family, Family):
            raise ArmatureError(
                f"family must be a reward family such as Gaussian(); got {family!r}."
            )
        if declares_pieces(self):
            if not (family.convex or (self.is_order_only and family.pools_by_averaging)):
                raise ArmatureError(
                    f"{type(self).__name__} does not go with {type(family).__name__} rewards, "
                    "whose divergence is not convex in its second argument: use Gaussian, "
                    "Bernoulli or Poisson rewards, or a structure that only orders the arms "
                    "(Unconstrained, Unimodal, Categorised, Sparse)."
                )
            family.check_arms(self.n_arms)
            is_anywhere = family.n_arms is None and self.has_constants
            if not is_anywhere and not self._meets(family.domains):
                raise ArmatureError(
                    f"{type(self).__name__} does not go with {type(family).__name__} rewards: none "
                    f"of its mean vectors has all means in {family.domain}."
                )
        return family.record_for(self.n_arms)

    def _meets(self, ends: tuple[Interval, ...]) -> bool:
        """Whether a piece has points between the ends of the arms' domains: all's, or each's."""
        if all(end[:2] == EVERYTHING for end in ends):
            return True
        if self.has_constants and (len(ends) == 1 or all(end == ends[0] for end in ends)):
            return True
        known: dict[tuple[Interval, ...], bool] = self.__dict__.setdefault("_met", {})
        if ends not in known:
            low, high = np.broadcast_to([end[:2] for end in ends], (self.n_arms, 2)).T
            box = Piece.of_box(low, high)
            known[ends] = any(not (piece & box).is_empty for piece in self.pieces())
        return known[ends]

    def checked_arm(self, arm: int, name: str) -> int:
        """The index of an arm, or an error that says which there are."""
        return checked_index(arm, name, self.n_arms)

    def checked_vector(self, values: npt.ArrayLike, name: str) -> Floats:
        """One finite number for each arm, or an error that says what is wrong."""
        return checked_vector(values, name, self.n_arms)

    def checked_problem(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, family: Family
    ) -> tuple[Floats, Floats]:
        """Means of the family and non-negative weights, one of each for each arm."""
        mu = self.checked_vector(means, "means")
        if family.gaussian:
            family.check_arms(self.n_arms)  # and every number is a mean
        else:
            mu = family.checked(mu)
        w = self.checked_vector(weights, "weights")
        if np.minimum.reduce(w) < 0.0:
            worst = int(np.argmin(w))
            raise ArmatureError(
                f"weights[{worst}] = {w[worst]:g} is negative: weights are non-negative numbers."
            )
        return mu, w

    def _pair(self, best: int, challenger: int) -> tuple[int, int]:
        j, k = self.checked_arm(best, "best"), self.checked_arm(challenger, "challenger")
        if j == k:
            raise ArmatureError(f"best and challenger are both arm {j}: they must differ.")
        return j, k

    def _others(self, arm: int) -> list[int]:
        return [k for k in range(self.n_arms) if k != arm]

    def _entry(self, name: str, family: Family | None) -> tuple[Kernel[..., Any], Shape, Work]:
        kernel, is_derived = self.entry(name, family)
        assert kernel is not None
        comparing = name in derived.COMPARING
        side = self.derived_side(comparing) if is_derived else self.own_side()
        return kernel, *side

    def _problem(
        self, name: str, means: npt.ArrayLike, weights: npt.ArrayLike, family: Family
    ) -> tuple[Kernel[..., Any], Problem]:
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
        return kernel, Problem(record, mu, w, shape, work, marks)

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


def declares_pieces(structure: Structure) -> bool:
    """Whether a structure says what its pieces are."""
    return type(structure).pieces is not Structure.pieces


def overrides(structure: Structure, *names: str) -> bool:
    """Whether a structure has one of these methods of its own."""
    kind = type(structure)
    return any(getattr(kind, name) is not getattr(Structure, name) for name in names or METHODS)
