"""A few peaks: the means rise and fall so many times at most."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from armature.errors import ArmatureError
from armature.structures.checks import checked_integer
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@dataclass(frozen=True, eq=False, repr=False)
class Multimodal(Structure):
    """At most `peaks` peaks along the arms. One peak is `Unimodal`; plateaus count as one arm.

    A piece says at which arms the means turn. With 8 arms there are 64 of them for two peaks and
    120 for three, each a dense quadratic program.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.
    peaks : int
        The most peaks that there may be, at least 1. With half as many as there are
        arms, rounded up, nothing is known.

    Guarantee
    ---------
    Each piece is a chain, whose answer is checked by its multipliers, to 1e-10 of its cost or to
    rounding. Their number makes this a structure for ten or so arms. Compared in tests with a
    convex solver, with `Unimodal` for one peak, and with `Unconstrained` for many.

    >>> two = Multimodal(5, peaks=2)
    >>> two.contains([0.2, 0.9, 0.1, 0.8, 0.3]), two.contains([0.9, 0.1, 0.8, 0.3, 0.7])
    (True, False)

    Limits
    ------
    A chain for each way to turn: for about ten arms.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    n_arms: int
    peaks: int

    arm_facts = arm_fields = ()
    arms_in_order = True
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[Multimodal, ...]:
        return cls(4, 1), cls(5, 2), cls(3, 3)

    def __post_init__(self) -> None:
        super().__post_init__()
        peaks = checked_integer(self.peaks, "peaks")
        if peaks < 1:
            raise ArmatureError(f"peaks = {peaks}: there is at least one peak.")
        object.__setattr__(self, "peaks", peaks)

    def pieces(self) -> Iterable[Piece]:
        K = self.n_arms
        for rising_first in (True, False):
            for n_turns in range(K - 1):
                runs_up = (n_turns + 2) // 2 if rising_first else 1 + (n_turns + 1) // 2
                if runs_up > self.peaks:  # a peak ends each rising run, or is a falling start
                    break
                for turns in itertools.combinations(range(1, K - 1), n_turns):
                    ups = [rising_first ^ (sum(t <= i for t in turns) % 2) for i in range(K - 1)]
                    orders = [(i, i + 1) if up else (i + 1, i) for i, up in enumerate(ups)]
                    yield Piece.of_orders(K, orders)
