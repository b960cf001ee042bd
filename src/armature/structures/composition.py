"""Structures made of structures: both hold, at least one holds, the same with other numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from armature.errors import ArmatureError
from armature.kernels.checks import checked_list, checked_order
from armature.structures.piece import Piece
from armature.structures.structure import Structure


def _checked_parts(parts: Sequence[Structure], word: str) -> tuple[Structure, ...]:
    """At least two structures over the same arms, those of the same kind of composition opened."""
    parts = checked_list(parts, "parts")
    for part in parts:
        if not isinstance(part, Structure):
            raise ArmatureError(f"{word} is of structures, such as Unimodal(5); got {part!r}.")
        if part.is_table:
            raise ArmatureError(
                f"{word} is not of tables of segments: say what is known of a row with `each`, as "
                "in each=Unimodal(5) & Lipschitz(5, 0.2), and what rows have in common with "
                "`coupling`, as in coupling=Additive() & Alike(0.1)."
            )
    if len(parts) < 2:
        raise ArmatureError(f"{word} is of at least two structures; got {len(parts)}.")
    sizes = {part.n_arms for part in parts}
    if len(sizes) > 1:
        said = " and ".join(f"{type(part).__name__} has {part.n_arms}" for part in parts)
        raise ArmatureError(f"{word} is of structures over the same arms, but {said}.")
    for part in parts:
        part.pieces()  # which says so where there are none
    return tuple(parts)


class _Composition(Structure):
    """A structure that is made of parts, and changed by changing each of them."""

    parts: tuple[Structure, ...]
    sign: ClassVar[str]  # how it is written

    def __init__(self, parts: Sequence[Structure]) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        inner = [isinstance(p, _Composition) and p.sign != self.sign for p in self.parts]
        shown = [f"({p!r})" if x else repr(p) for p, x in zip(self.parts, inner, strict=True)]
        return f" {self.sign} ".join(shown)

    def _set_parts(self, parts: tuple[Structure, ...]) -> None:
        """The parts; what they ask for of a new arm is what each needs, if all can have one."""
        facts: dict[str, None] | None = {}
        for part in parts:
            known = None if facts is None or part.arm_facts is None else part.arm_facts
            facts = None if known is None else {**(facts or {}), **dict.fromkeys(known)}
        values = {
            "parts": parts,
            "n_arms": parts[0].n_arms,
            "arm_facts": None if facts is None else tuple(facts),
            "arms_in_order": any(part.arms_in_order for part in parts),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def relabelled(self, order: Sequence[int]) -> Self:
        return type(self)([part.relabelled(order) for part in self.parts])

    def with_arm(self, at: int, facts: Mapping[str, Any]) -> Self:
        return type(self)([part.with_arm(at, facts) for part in self.parts])

    def without_arm(self, arm: int) -> Self:
        return type(self)([part.without_arm(arm) for part in self.parts])

    def mirrored(self, about: float) -> Self:
        return type(self)([part.mirrored(about) for part in self.parts])


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Intersection(_Composition):
    """All of its parts hold: `a & b`.

    Its pieces are those of the parts, intersected; empty ones are left out.

    Parameters
    ----------
    parts : sequence of Structure
        Structures for the same number of arms, each made of pieces. If no piece is left, the parts
        contradict each other, and that is refused.

    Guarantee
    ---------
    A convex program for each piece, whose answer is checked by its multipliers, to 1e-10 of its
    cost or to rounding: a chain where `solved_by` says so, else dense. The pieces of two parts
    multiply. Compared in tests with a convex solver; its lower bound is at most that of any part.

    >>> from armature.structures import Lipschitz, Unimodal
    >>> smooth_peak = Unimodal(4) & Lipschitz(4, 0.2)
    >>> smooth_peak.contains([0.3, 0.5, 0.4, 0.2]), smooth_peak.contains([0.3, 0.6, 0.4, 0.2])
    (True, False)
    >>> smooth_peak.violation_of([0.3, 0.5, 0.4, 0.45])
    'means[3] = 0.45 should be at most means[2] = 0.4'

    Limits
    ------
    A program for each pair of pieces: a thousand arms if both parts are single chains, 300 (with
    1.3 GB) if one has a piece for each arm; tens where programs are dense.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    sign = "&"
    parts: tuple[Structure, ...]
    n_arms: int

    @classmethod
    def examples(cls) -> tuple[Intersection, ...]:
        from armature.structures import Box, Categorised, Lipschitz, Unimodal

        return (
            cls([Unimodal(4), Lipschitz(4, 0.3)]),
            cls([Categorised("aabb"), Box(4, 0.1, [0.9, 0.8, 0.7, 0.9])]),
        )

    def __init__(self, parts: Sequence[Structure]) -> None:
        self._set_parts(_checked_parts(parts, "an intersection"))
        if not self._pieces:
            names = " & ".join(type(part).__name__ for part in self.parts)
            raise ArmatureError(
                f"{names} is empty: no mean vector has all of these properties at once."
            )

    @functools.cached_property
    def _pieces(self) -> tuple[Piece, ...]:
        found: list[Piece] = list(self.parts[0].pieces())
        for part in self.parts[1:]:
            both = (one & other for other in part.pieces() for one in found)
            found = [piece for piece in both if not piece.is_empty]
        return tuple(found)

    def pieces(self) -> Iterable[Piece]:
        return self._pieces


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Union(_Composition):
    """At least one of its parts holds: `a | b`.

    Its pieces are those of the parts: which of them holds is left to the data.

    Parameters
    ----------
    parts : sequence of Structure
        Structures for the same number of arms, each made of pieces.

    Guarantee
    ---------
    A convex program for each piece, whose answer is checked by its multipliers, to 1e-10 of its
    cost or to rounding: a chain where `solved_by` says so, else dense, for tens of arms. Compared
    in tests with a convex solver; its lower bound is at least that of any part that holds.

    >>> from armature.structures import Categorised, Unimodal
    >>> either = Unimodal(4) | Categorised("aabb")
    >>> either.contains([0.9, 0.8, 0.1, 0.3]), either.contains([0.9, 0.2, 0.4, 0.3])
    (True, False)

    Limits
    ------
    A program for each piece; where they are dense, for tens of arms.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    sign = "|"
    parts: tuple[Structure, ...]
    n_arms: int

    @classmethod
    def examples(cls) -> tuple[Union, ...]:
        from armature.structures import Categorised, Lipschitz, Monotone, Simplex, Unimodal

        return (
            cls([Unimodal(4), Categorised("abab")]),
            cls([Monotone(3), Lipschitz(3, 0.2), Simplex(3)]),
        )

    def __init__(self, parts: Sequence[Structure]) -> None:
        self._set_parts(_checked_parts(parts, "a union"))

    def pieces(self) -> Iterable[Piece]:
        for part in self.parts:
            yield from part.pieces()


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Relabelled(Structure):
    """A structure whose arms are in another order: arm i is what was arm order[i].

    `structure.relabelled(order)` gives one, or the structure's own kind where that can say it.

    Parameters
    ----------
    structure : Structure
        What is relabelled; it must be made of pieces.
    order : sequence of int
        Each arm once.

    Guarantee
    ---------
    A convex program for each piece, whose answer is checked by its multipliers, to 1e-10 of its
    cost or to rounding; the kernels of what it relabels are not used, but a chain stays one.
    Compared in tests with a convex solver.

    >>> from armature.structures import Unimodal
    >>> shuffled = Unimodal(3).relabelled([1, 0, 2])
    >>> shuffled.contains([0.9, 0.1, 0.5]), shuffled.contains([0.1, 0.9, 0.5])
    (True, False)

    Limits
    ------
    It uses no kernels of the structure inside.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    structure: Structure
    order: tuple[int, ...]
    n_arms: int

    @classmethod
    def examples(cls) -> tuple[Relabelled, ...]:
        from armature.structures import Unimodal

        return (cls(Unimodal(4), [2, 0, 3, 1]),)

    def __init__(self, structure: Structure, order: Sequence[int]) -> None:
        if not isinstance(structure, Structure):
            raise ArmatureError(f"structure must be a structure; got {structure!r}.")
        structure.pieces()
        object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "n_arms", structure.n_arms)
        object.__setattr__(self, "challenge", "top" if structure.reads_by_top else "order")
        permutation = checked_order(order, structure.n_arms)
        object.__setattr__(self, "order", tuple(permutation.tolist()))

    def pieces(self) -> Iterable[Piece]:
        return (piece.relabelled(self.order) for piece in self.structure.pieces())

    def relabelled(self, order: Sequence[int]) -> Structure:
        permutation = checked_order(order, self.n_arms)
        return self.structure.relabelled([self.order[i] for i in permutation])

    def mirrored(self, about: float) -> Structure:
        return self.structure.mirrored(about).relabelled(self.order)
