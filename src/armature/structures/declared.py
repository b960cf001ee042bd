"""The declaration of a structure, and what compiled code needs of it."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord, Gaussian, Interval
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import check_kind, checked_index, checked_n_arms, checked_vector
from armature.kernels.kernel import Kernel
from armature.solver.chains.rows import turns_of
from armature.structures.changeable import Changeable
from armature.structures.oracles import derived
from armature.structures.oracles.derived_bounds import bounds_of_pairs
from armature.structures.oracles.records import ENTRIES, Oracle, Shape, Work, measure
from armature.structures.oracles.search import scratch_of
from armature.structures.oracles.table import checked_pieces, listed, make_table
from armature.structures.piece import Piece

EVERYTHING = (-math.inf, math.inf)
TOLERANCE = 1e-9  # how far means in M may be from it, relative to their size
SINGULAR = 1e-9  # relative to the largest singular value
ROUNDING = 1e-9  # rows that differ by less are of the same size


class Declared(Changeable):
    """A set M of mean vectors as a union of convex pieces, with what follows for compiled code.

    `Structure` adds what users ask of it.
    """

    oracle: ClassVar[Oracle] = Oracle()  # kernels that are faster than what follows from `pieces`

    # Facts that follow from the pieces, unless a class knows better.
    convex: bool | None = None  # whether M is convex
    order_only: bool | None = None  # orders and levels alone: all families share the minimisers
    orders_arms: bool | None = None  # it says of some arms that one is at least as good as another
    # How "k beats j" is read where all challengers to j are weighed: "order", lam_k >= lam_j, or
    # "top", where besides k can be the best arm. A union of pieces reads it as "top".
    challenge: str | None = None

    # Facts that nothing else tells: a class that says nothing of them is asked in a slower way, or
    # refused. What uses a structure asks for these, never for its name.
    assumes_nothing: bool = False  # M is everything: there is nothing to compare it with, or refute
    arms_in_order: bool = False  # the place of an arm among the others means something
    has_constants: bool = False  # all means may be equal
    cells_depend_on_means: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(self.n_arms))

    def pieces(self) -> Iterable[Piece]:
        """M as a union of convex pieces."""
        raise ArmatureError(
            f"{type(self).__name__} declares no pieces: give it `pieces()`, which yields "
            "am.Piece(A, b, C, d), or both `project` and `alt_min`."
        )

    def checked_pieces(self) -> Iterator[Piece]:
        """The same one by one; refused where a class declares something else."""
        return checked_pieces(self.pieces(), self.n_arms, type(self).__name__)

    @functools.cached_property
    def is_convex(self) -> bool:
        """True if M is known to be convex."""
        if self.convex is not None or not declares_pieces(self):
            return bool(self.convex)
        return len(list(itertools.islice(self.checked_pieces(), 2))) == 1

    @functools.cached_property
    def turns_once(self) -> bool:
        """True if it is a union of chains that differ in where they turn, read by the top."""
        if not (declares_pieces(self) and self.reads_by_top):
            return False
        return turns_of([piece.chain for piece in self._listed()]) is not None

    @functools.cached_property
    def is_ordering(self) -> bool:
        """True if a piece says of two arms that one is at least as good as the other."""
        if self.orders_arms is not None or not declares_pieces(self):
            return bool(self.orders_arms)
        return any(piece.orders_arms for piece in self._listed())

    @functools.cached_property
    def is_order_only(self) -> bool:
        """True if minimisers are the same for every family."""
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
        (piece,) = self.checked_pieces()
        C = np.asarray(piece.C, dtype=float).reshape(-1, self.n_arms)
        if not len(C):
            return None
        import scipy.linalg  # when it is needed: importing the package is quick

        return np.asarray(scipy.linalg.null_space(C, rcond=SINGULAR))

    @functools.cached_property
    def spanning_arms(self) -> Ints:
        """The fewest arms whose means determine all others; all arms where M does not tie them.

        A convex M lies in a flat { lam : C lam = d } of some dimension. So many arms determine all
        means where their rows of a basis of the flat's directions are independent. They are found
        one by one: next is the arm whose row the rows before it leave most of (of several the
        first).
        """
        K = self.n_arms
        left = self.directions
        if left is None or left.shape[1] in (0, K):
            return np.arange(K, dtype=np.int64)
        chosen = []
        for _ in range(left.shape[1]):
            sizes = np.linalg.norm(left, axis=1)
            k = int(np.argmax(sizes >= (1.0 - ROUNDING) * sizes.max()))
            chosen.append(k)
            unit = left[k] / sizes[k]
            left = left - np.outer(left @ unit, unit)
        return np.array(sorted(chosen), dtype=np.int64)

    @property
    def lone_level(self) -> float | None:
        """The level of all arms but one, where one arm alone may be above it; else None.

        Then lam_k >= lam_j tells nothing about k: j is on the level, and so may k be. Who weighs
        challengers has to ask that k is the one arm above it.
        """
        return None

    @functools.cached_property
    def reads_by_top(self) -> bool:
        """True if "k beats j" asks that k can be the best arm."""
        return not self.is_convex if self.challenge is None else self.challenge == "top"

    @functools.cached_property
    def shape(self) -> Shape:
        """The numbers that the kernels in `oracle` read."""
        return Shape(np.empty(0), np.empty(0, dtype=np.int64))

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        """The number of floats and integers of workspace for the kernels in `oracle`."""
        return 0, 0

    def work_size_for(self, family: Family | None) -> tuple[int, int]:
        """The same for the kernels of a family, where these are others."""
        return self.work_size

    def _listed(self) -> list[Piece]:
        return listed(self.checked_pieces(), type(self).__name__)

    def table(self, comparing: bool) -> Shape:
        """The numbers that the kernels derived from the pieces read."""
        known: dict[bool, Shape] = self.__dict__.setdefault("_tables", {})
        if comparing not in known:
            known[comparing] = make_table(
                self.checked_pieces(),
                self.n_arms,
                self.reads_by_top,
                comparing,
                type(self).__name__,
            )
        return known[comparing]

    @functools.cached_property
    def table_work(self) -> tuple[int, int]:
        """The workspace that these need."""
        rows = max(len(piece.b) + len(piece.d) for piece in self._listed())
        return measure(scratch_of, self.n_arms, rows)

    @property
    def n_cells(self) -> int:
        """The number of cells that there can be for an arm."""
        if self.oracle.cells is not None or not declares_pieces(self):
            return self.n_arms
        return len(self._listed()) * self.n_arms

    def n_cells_for(self, family: Family) -> int:
        """The same where rewards are of a family: its cells may be those of the pieces."""
        if self.oracle_for(family).cells is not None or not declares_pieces(self):
            return self.n_cells
        return len(self._listed()) * self.n_arms

    def cells_depend_on(self, family: Family) -> bool:
        """True if the cells depend on the means where rewards are of a family."""
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
        if name == "challenger_bounds":
            is_derived = self._among(quick, "challenger_min")[1]
            if not (self.is_convex or (is_derived and self.turns_once)):
                return None, False
            if not is_derived:
                return bounds_of_pairs, False
        return getattr(derived.DERIVED, name), True

    def own_side(self, family: Family | None) -> tuple[Shape, Work]:
        """The arrays that a family's own kernels read, and fresh scratch space for them."""
        return self._with_work(self.shape, self.work_size_for(family))

    def derived_side(self, comparing: bool) -> tuple[Shape, Work]:
        """The same for what is derived from the pieces."""
        return self._with_work(self.table(comparing), self.table_work)

    def _with_work(self, shape: Shape, size: tuple[int, int]) -> tuple[Shape, Work]:
        return shape, Work(np.zeros(size[0]), np.zeros(size[1], dtype=np.int64))

    def contains(self, means: npt.ArrayLike) -> bool:
        """True if the means lie in M, up to 1e-9 of their size."""
        return self.violation_of(means) is None

    def violation_of(self, means: npt.ArrayLike) -> str | None:
        """A sentence that says why the means are not in M, or None where they are."""
        mu = self.checked_vector(means, "means")
        return self.violation(mu, TOLERANCE * max(1.0, float(np.abs(mu).max())))

    def violation(self, means: Floats, tolerance: float) -> str | None:
        """The sentence of `violation_of`; by default the row that the nearest piece breaks."""
        if not declares_pieces(self):
            return self._moved(means, tolerance)
        least, sentence = math.inf, None
        for piece in self.checked_pieces():
            worst = float(piece.excess(means).max(initial=0.0))
            if worst <= tolerance:
                return None
            if worst < least:
                least, sentence = worst, piece.broken(means, tolerance)
        return sentence

    def _moved(self, means: Floats, tolerance: float) -> str | None:
        fit = self._itself.project(means, np.ones(self.n_arms), Gaussian())
        distance = np.abs(np.asarray(fit.means) - means)
        worst = int(np.argmax(distance))
        if distance[worst] <= tolerance:
            return None
        return (
            f"means[{worst}] = {means[worst]:g} would have to be {fit.means[worst]:g}: "
            f"the means are not in {type(self).__name__}"
        )

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
                    "Bernoulli, bounded or Poisson rewards, or a structure that only orders arms "
                    "and bounds them (such as Unconstrained, Unimodal, Monotone, Box)."
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
        """True if a piece has points between the ends of the arms' domains: all's, or each's."""
        if all(end[:2] == EVERYTHING for end in ends):
            return True
        if self.has_constants and (len(ends) == 1 or all(end == ends[0] for end in ends)):
            return True
        known: dict[tuple[Interval, ...], bool] = self.__dict__.setdefault("_met", {})
        if ends not in known:
            low, high = np.broadcast_to([end[:2] for end in ends], (self.n_arms, 2)).T
            box = Piece.of_box(low, high)
            known[ends] = any(not (piece & box).is_empty for piece in self.checked_pieces())
        return known[ends]

    # Of a table of segments (`Segments`) these say more.
    is_table: bool = False
    is_coupled: bool = False  # whether segments tell of each other
    in_table: bool = False  # whether it is a row of such a table
    segment_names: tuple[Any, ...] = ()

    @property
    def segments(self) -> tuple[tuple[int, int], ...]:
        """From which arm up to before which the arms of each segment are: all, of one."""
        return ((0, self.n_arms),)

    def family_of_cells(self, family: Family) -> Family:
        """The family of all arms, one segment after the other."""
        return family

    def judged(
        self, family: Family, pulls: Floats, sums: Floats
    ) -> tuple[FamilyRecord, Floats, Floats]:
        """The arms whose rewards the cost of a projection is about."""
        return family.record_for(self.n_arms), pulls, sums

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


def declares_pieces(structure: Declared) -> bool:
    """True if a structure says what its pieces are."""
    return type(structure).pieces is not Declared.pieces


def check_is_structure(structure: object) -> None:
    """Refuse what is no structure, and one that does not say how many arms there are."""
    check_kind(structure, Declared, "structure", "Unimodal(5)")
    if not hasattr(structure, "n_arms"):
        raise ArmatureError(f"{type(structure).__name__} needs n_arms, the number of its arms.")
    checked_n_arms(structure.n_arms)
