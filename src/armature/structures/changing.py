"""A bandit problem whose means change while it is played."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.checks import MOST_COUNTED, as_real, checked_count, is_whole
from armature.kernels.streams import key_of
from armature.structures import Structure
from armature.structures.instance import Floats, Instance
from armature.words import Card, best_first, row_of


class Changing(Instance):
    """Means that change: piece after piece, each in the structure, each from a round on.

    It is an instance, and simulations take it like any other. `means`, `gaps` and `best_arm` are
    those of the first round. The regret of a round is how much worse the arm is than the best one
    of that round (*dynamic* regret). The rewards of an arm change with its mean only: the noise of
    its n-th pull is the same, whenever that is. There is no lower bound.

    >>> from armature.structures import Unimodal
    >>> problem = Changing([(0, [0.2, 0.9, 0.1]), (500, [0.2, 0.4, 0.8])], Unimodal(3))
    >>> problem.best_arm, problem.at(499).tolist(), problem.at(500).tolist(), problem.changes
    (1, [0.2, 0.9, 0.1], [0.2, 0.4, 0.8], (500,))

    Parameters
    ----------
    path : sequence of (round, means), or an array (T, K)
        The means from each of some rounds on, the first of them 0; or those of each round, of which
        the last ones stay.
    structure, family, strict
        As for `Instance`. In a piece several arms may be best.
    """

    starts: npt.NDArray[np.int64]
    path: Floats

    def __init__(
        self,
        path: Any,
        structure: Structure,
        family: Family | None = None,
        strict: bool = True,
    ) -> None:
        if structure.is_table:
            raise ArmatureError("the means of a table of segments do not change: give an Instance.")
        starts, rows = _pieces(path)
        super().__init__(structure, rows[0], family, strict)
        pieces = [np.asarray(self.means)]
        for start, row in zip(starts[1:], rows[1:], strict=True):
            pieces.append(_checked(row, self, start))
        array = np.array(pieces)
        array.setflags(write=False)
        object.__setattr__(self, "starts", np.array(starts, dtype=np.int64))
        object.__setattr__(self, "path", array)

    @classmethod
    def wandering(
        cls,
        structure: Structure,
        rounds: int,
        family: Family | None = None,
        *,
        step: float = 0.05,
        slope: float = 0.25,
        top: float = 1.0,
        seed: int = 0,
    ) -> Changing:
        """One peak that wanders: a random walk along the arms, which turns back at both ends.

        In each round its place moves by `step` times a normal number. The mean at the place is
        `top`, and `slope` less for each arm of distance. The walk depends on the seed alone.

        >>> from armature.structures import Unimodal
        >>> Changing.wandering(Unimodal(5), 1000).at(0).tolist()
        [0.5, 0.75, 1.0, 0.75, 0.5]
        """
        K, T = structure.n_arms, checked_count(rounds, "rounds")
        for name, value in (("step", step), ("slope", slope), ("top", top)):
            if not math.isfinite(as_real(value)):
                raise ArmatureError(f"{name} must be a finite number; got {value!r}.")
        moves = step * np.random.default_rng(key_of(seed)).normal(size=T - 1)
        line = 0.5 * (K - 1) + np.concatenate([[0.0], np.cumsum(moves)])
        place = (K - 1) - np.abs(line % (2.0 * (K - 1)) - (K - 1))  # folded onto the arms
        return cls(top - slope * np.abs(np.arange(K) - place[:, None]), structure, family)

    @classmethod
    def seasonal(
        cls,
        means: Any,
        swing: Any,
        period: float,
        rounds: int,
        structure: Structure,
        family: Family | None = None,
        *,
        steps: int = 24,
        strict: bool = True,
    ) -> Changing:
        """Means that come and go: mean + swing sin(2 pi t / period), in some steps a period.

        `swing` is a number for each arm: of opposite signs, their seasons are at opposite times.

        >>> from armature.structures import Unconstrained
        >>> shop = Changing.seasonal([0.5, 0.4], [0.2, -0.2], 8, 8, Unconstrained(2), steps=4)
        >>> shop.changes, shop.at(2).round(3).tolist()
        ((2, 4, 6), [0.7, 0.2])
        """
        T, n = checked_count(rounds, "rounds"), checked_count(steps, "steps")
        base = structure.checked_vector(means, "means")
        swings = structure.checked_vector(swing, "swing")
        if not as_real(period) > 0.0 or math.isinf(period):
            raise ArmatureError(f"period must be a positive number of rounds; got {period!r}.")
        phase = np.floor(np.arange(T) / period * n) / n
        path = base + swings * np.sin(2.0 * math.pi * phase)[:, None]
        return cls(path, structure, family, strict)

    @property
    def changes(self) -> tuple[int, ...]:
        """The rounds (from 0) in which the means are not those of the round before."""
        moved = (np.diff(self.path, axis=0) != 0.0).any(axis=1)
        return tuple(self.starts[1:][moved].tolist())

    def at(self, round: int) -> Floats:
        """The means of a round, counted from 0."""
        row: Floats = self.path[int(np.searchsorted(self.starts, round, side="right")) - 1]
        return row

    def card(self) -> Card:
        ranked = best_first(self.means.tolist())
        return Card(
            f"Changing: {self.structure!r}, {self.family!r}, {len(self.changes):,} changes",
            ("arm", "first mean", "last mean"),
            tuple(row_of(k, self.means[k], self.path[-1, k]) for k in ranked),
        )


def instance_of(
    structure: Structure,
    means: Any,
    changes: Any,
    family: Family,
    strict: bool,
    frequencies: Any = None,
) -> Instance:
    """An instance as files have it: means, and pairs of a round and the means from then on."""
    if not changes:
        return Instance(structure, means, family, strict, frequencies=frequencies)
    if not isinstance(changes, list):
        raise ArmatureError(
            f"changes must be a list of pairs, [[500, [0.2, 0.9]], ...]; got {changes!r}."
        )
    return Changing([(0, means), *changes], structure, family, strict)


def _pieces(path: Any) -> tuple[list[int], list[Any]]:
    """Rounds and means, from either way to write them."""
    if isinstance(path, np.ndarray):
        if path.ndim != 2 or len(path) == 0:
            raise ArmatureError(
                f"a path of means is an array (rounds, arms); got one of shape {path.shape}."
            )
        same = np.concatenate([[True], (np.diff(path, axis=0) != 0.0).any(axis=1)])
        begins = np.flatnonzero(same)
        return begins.tolist(), list(path[begins])
    pairs = list(path) if isinstance(path, Sequence) and not isinstance(path, str) else []
    if not pairs or not all(isinstance(one, (tuple, list)) and len(one) == 2 for one in pairs):
        raise ArmatureError(
            "means that change are written as [(0, means), (500, means), ...], or as an array with "
            f"a row for each round; got {path!r}."
        )
    starts = [start for start, _ in pairs]
    rising = all(is_whole(start) for start in starts) and sorted(set(starts)) == starts
    if not rising or starts[0] != 0 or starts[-1] > MOST_COUNTED:
        raise ArmatureError(
            "the rounds from which means hold must rise from 0: 0, 500, ..., to 2**53 at most; got "
            f"{starts}."
        )
    return [int(start) for start in starts], [row for _, row in pairs]


def _checked(row: Any, first: Instance, start: int) -> Floats:
    """Means of a later piece."""
    structure, family = first.structure, first.family
    vector = family.checked(structure.checked_vector(row, f"the means from round {start}"))
    violation = structure.violation_of(vector) if first.strict else None
    if violation is not None:
        raise ArmatureError(
            f"the means from round {start} are not in {type(structure).__name__}: {violation}. To "
            "study a structure that is wrong, say strict=False."
        )
    return vector
