"""Demand falls: the chance to buy does not rise with the price."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_distinct, checked_array, checked_n_arms, checked_scale
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Demand(Structure):
    """The chance to buy does not rise with the price, where the reward is the revenue.

    An arm is a price, and its mean is the price times the chance to buy: means / prices do not rise
    from the cheapest arm to the dearest. Where the revenue peaks is left open; `Demand & Unimodal`
    says that it has one peak. Rewards of `Bernoulli(scale=prices)` keep each chance between 0 and
    1; Gaussian ones leave it free.

    Parameters
    ----------
    prices : array_like of shape (n_arms,)
        The price of each arm: at least two, positive, in any order. No two are the same: the chance
        to buy depends on the price alone, so arms at one price are one arm.

    Guarantee
    ---------
    A chain in scaled means: each answer is proved by its multipliers, to 1e-10 of its cost or to
    rounding, or else left to the dense solver. Compared in tests with a convex solver up to 150
    arms. Exponential rewards are refused.

    >>> from armature.families import Bernoulli
    >>> prices = [2.0, 4.0, 8.0]
    >>> demand = Demand(prices)
    >>> demand.violation_of([1.0, 2.4, 1.6])
    'means[1] / 4 = 0.6 is above means[0] / 2 = 0.5: the chance to buy rises with the price'
    >>> demand.project([1.0, 2.4, 1.6], [50] * 3, Bernoulli(scale=prices)).means.round(6)
    array([1.1, 2.2, 1.6])

    Limits
    ------
    Not for exponential rewards, nor for costs. A round of `Challenger` (the first 30 for each arm)
    took 0.02 ms with 50 prices and Gaussian rewards, but 5 ms with sales (0.03 ms with 8 prices):
    its bounds walk along all prices that are tied. `Demand & Unimodal` has a piece for each price;
    with Gaussian rewards, negative estimates lead it to dense programs: add `Box(n_arms, low=0)`.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    prices: Floats

    arm_facts, arm_fields = ("price",), ("prices",)

    @classmethod
    def examples(cls) -> tuple[Demand, ...]:
        return cls([1.0, 1.5]), cls([1.0, 1.2, 1.6, 2.0, 3.0]), cls([3.0, 1.0, 2.5, 1.5])

    def __init__(self, prices: npt.ArrayLike) -> None:
        vector = checked_array(prices, "prices")
        if vector.ndim != 1:
            raise ArmatureError(
                f"prices must be one number for each arm; got an array of shape {vector.shape}."
            )
        object.__setattr__(self, "n_arms", checked_n_arms(vector.size))
        for arm, price in enumerate(vector):
            checked_scale(float(price), f"prices[{arm}]")
        check_distinct(vector, "prices", "arms at the same price are one arm")
        vector.setflags(write=False)
        object.__setattr__(self, "prices", vector)

    def pieces(self) -> Iterable[Piece]:
        K = self.n_arms
        order = np.argsort(self.prices)
        cheaper, dearer = order[:-1], order[1:]
        # The mean at the dearer price is at most that at the cheaper one times their ratio.
        rows = np.zeros((K - 1, K))
        rows[np.arange(K - 1), dearer] = self.prices[cheaper] / self.prices[dearer]
        rows[np.arange(K - 1), cheaper] = -1.0
        yield Piece(rows, np.zeros(K - 1))

    def violation(self, means: Floats, tolerance: float) -> str | None:
        (piece,) = self.pieces()
        rise = piece.A @ means
        worst = int(rise.argmax())
        if rise[worst] <= 2.0 * tolerance:
            return None
        i, k = np.argsort(self.prices)[worst : worst + 2]
        chances = means / self.prices
        return (
            f"means[{k}] / {self.prices[k]:g} = {chances[k]:g} is above means[{i}] / "
            f"{self.prices[i]:g} = {chances[i]:g}: the chance to buy rises with the price"
        )

    def _checked_fact(self, name: str, value: Any) -> Any:
        return checked_scale(value, name)
