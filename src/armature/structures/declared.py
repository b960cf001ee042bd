"""What a structure declares, what follows where arms change, and what compiled code needs."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord, Gaussian, Interval
from armature.kernels.arrays import Floats
from armature.kernels.kernel import Kernel
from armature.structures.checks import (
    checked_index,
    checked_n_arms,
    checked_number,
    checked_order,
    checked_vector,
)
from armature.structures.oracles import derived
from armature.structures.oracles.records import ENTRIES, Oracle, Shape, Work, measure
from armature.structures.oracles.table import checked_pieces, listed, make_table
from armature.structures.piece import Piece

if TYPE_CHECKING:
    from armature.structures.structure import Structure

EVERYTHING = (-math.inf, math.inf)
TOLERANCE = 1e-9  # how far means in M may be from it, relative to their size
SINGULAR = 1e-9  # relative to the largest singular value


class Declared:
    """A set M of mean vectors as a union of convex pieces, with what follows for compiled code.

    `Structure` adds what users ask of it.
    """

    n_arms: int
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
    exchangeable: bool = False  # M stays the same however the arms are numbered
    same_for_costs: bool = False  # `about` minus the values say the same, with good and bad swapped
    arms_in_order: bool = False  # the place of an arm among the others means something
    has_constants: bool = False  # all means may be equal
    cells_depend_on_means: ClassVar[bool] = False

    # What must be said of a new arm, by keyword; None where the structure does not say what a new
    # arm would mean. And the parameters in which these facts stand, an entry for each arm: from
    # them follows what is left without an arm, and with the arms renumbered.
    arm_facts: tuple[str, ...] | None = None
    arm_fields: ClassVar[tuple[str, ...] | None] = None

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
        """Whether M is known to be convex."""
        if self.convex is not None or not declares_pieces(self):
            return bool(self.convex)
        return len(list(itertools.islice(self.checked_pieces(), 2))) == 1

    @functools.cached_property
    def is_ordering(self) -> bool:
        """Whether a piece says of two arms that one is at least as good as the other."""
        if self.orders_arms is not None or not declares_pieces(self):
            return bool(self.orders_arms)
        return any(piece.orders_arms for piece in self._listed())

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
        (piece,) = self.checked_pieces()
        C = np.asarray(piece.C, dtype=float).reshape(-1, self.n_arms)
        if not len(C):
            return None
        import scipy.linalg  # when it is needed: importing the package is quick

        return np.asarray(scipy.linalg.null_space(C, rcond=SINGULAR))

    @property
    def lone_level(self) -> float | None:
        """The level of all arms but one, where one arm alone may be above it; else None.

        Then lam_k >= lam_j tells nothing about k: j is on the level, and so may k be. Who weighs
        challengers has to ask that k is the one arm above it.
        """
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

    def work_size_for(self, family: Family | None) -> tuple[int, int]:
        """The same for the kernels of a family, where these are others."""
        return self.work_size

    def _listed(self) -> list[Piece]:
        return listed(self.checked_pieces(), type(self).__name__)

    def table(self, comparing: bool) -> Shape:
        """What the kernels read that are derived from the pieces."""
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
        if name == "challenger_bounds":
            if not self.is_convex:
                return None, False
            if not self._among(quick, "challenger_min")[1]:
                return derived.bounds_of_pairs, False
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
        """Whether the means lie in M, up to 1e-9 of their size."""
        return self.violation_of(means) is None

    def violation_of(self, means: npt.ArrayLike) -> str | None:
        """A sentence that says why the means are not in M, or None where they are."""
        mu = self.checked_vector(means, "means")
        return self.violation(mu, TOLERANCE * max(1.0, float(np.abs(mu).max())))

    def violation(self, means: Floats, tolerance: float) -> str | None:
        """What `violation_of` says; by default the row that the nearest piece breaks."""
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
        """Whether a piece has points between the ends of the arms' domains: all's, or each's."""
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

    @property
    def _itself(self) -> Structure:
        return cast("Structure", self)

    def _others(self, arm: int) -> list[int]:
        return [k for k in range(self.n_arms) if k != arm]

    def relabelled(self, order: Sequence[int]) -> Structure:
        """The same knowledge with the arms renumbered: arm i is what was arm order[i]."""
        if self.exchangeable:
            checked_order(order, self.n_arms)
            return self._itself
        if self.arm_fields:
            permutation = checked_order(order, self.n_arms)
            return self._rebuilt(lambda values, _: [values[i] for i in permutation])._itself
        from armature.structures.composition import Relabelled

        return Relabelled(self._itself, order)

    def with_arm(self, at: int, facts: Mapping[str, Any]) -> Self:
        """The same knowledge with one more arm, number `at`; the others keep their order.

        `facts` says of it what `arm_facts` asks for.
        """
        if self.arm_fields is not None:
            new = {name: self._checked_fact(name, facts[name]) for name in self.arm_facts or ()}
            return self._rebuilt(lambda old, name: [*old[:at], new[name], *old[at:]], 1)
        raise ArmatureError(
            f"{type(self).__name__} does not say what a new arm would mean: make a new bandit with "
            "a structure for all arms, and give it what was learned as its history."
        )

    def without_arm(self, arm: int) -> Self:
        """What is known about the other arms if nothing is said about this one."""
        if self.arm_fields is not None:
            return self._rebuilt(lambda old, _: [*old[:arm], *old[arm + 1 :]], -1)
        raise ArmatureError(
            f"{type(self).__name__} does not say what is left without an arm: exclude it whenever "
            "you ask, or make a new bandit with a structure for the others."
        )

    def forgotten(self) -> Structure:
        """As many arms, of which nothing is known: what is left if the structure is dropped."""
        from armature.structures.unconstrained import Unconstrained

        return Unconstrained(self.n_arms)

    def mirrored(self, about: float) -> Structure:
        """The set of values `about - cost`, where the structure is what is known about costs.

        What a structure says of good and bad stays as it is: one peak of the values is one valley
        of the costs. Numbers, such as bounds and levels, are those of the costs.
        """
        if self.same_for_costs:
            return self._itself
        raise ArmatureError(
            f'{type(self).__name__} can\'t be read as knowledge about costs: leave goal="max", '
            "tell minus the costs, and say what is known about these."
        )

    def _checked_fact(self, name: str, value: Any) -> Any:
        """What is said of a new arm, or an error; by default any number."""
        return checked_number(value, name)

    def _rebuilt(self, change: Callable[[Sequence[Any], str], list[Any]], more: int = 0) -> Self:
        """The same kind of structure, with other entries for the arms, and so many more arms.

        `change` is given the entries of a parameter, and what one of them is called.
        """
        given = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        if "n_arms" in given:
            given["n_arms"] += more
        for fact, field in zip(self.arm_facts or (), self.arm_fields or (), strict=False):
            given[field] = change(given[field], fact)
        return type(self)(**given)


def declares_pieces(structure: Declared) -> bool:
    """Whether a structure says what its pieces are."""
    return type(structure).pieces is not Declared.pieces
