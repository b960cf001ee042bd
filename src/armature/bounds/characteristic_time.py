"""How many samples it takes to know the best arm: the characteristic time, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.bounds.lower_bound import Alternative, check_fit, solve_program
from armature.structures import Structure
from armature.structures.instance import Instance
from armature.words import Card, Shown, best_first, number, row_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class CharacteristicTime(Shown):
    """How long any rule must sample to be sure of the best arm: at least `value` * ln(1 / delta).

    That is the expected number of samples, in the limit of a small probability delta of error, of
    any rule that is wrong with probability at most delta whatever the means in M.

    Attributes
    ----------
        value: T*, the number of samples per ln(1 / delta); 0 where M has no other best arm.
        shares: the share of the samples that each arm gets where T* is attained; they add up to 1.
        alternatives: the confusing instances that bind, heaviest first; their weights add up to T*.
        gap: how far `value` can be from the truth, relatively: T* samples in these shares, which
            tell all alternatives apart, are above it, the total weight of `alternatives` below.
        unconstrained: the same for someone who does not know the structure.
    """

    value: float
    shares: Floats
    alternatives: tuple[Alternative, ...]
    gap: float
    unconstrained: float

    def card(self) -> Card:
        ranked = [k for k in best_first(self.shares.tolist()) if self.shares[k] > 1e-6]
        return Card(
            f"Characteristic time: at least {number(self.value)} ln(1/delta) samples as the "
            f"error delta falls; without the structure {number(self.unconstrained)} ln(1/delta)",
            ("arm", "share of samples"),
            tuple(row_of(k, self.shares[k]) for k in ranked),
            f"Certified to a relative {self.gap:.1g}.",
        )


def characteristic_time(instance: Instance) -> CharacteristicTime:
    """The characteristic time T* of an instance, and the shares of samples that attain it.

    Solves  1 / T* = max_w min_lam sum_k w_k d(mu_k, lam_k)  over shares w of the arms and the lam
    in M whose best arm is another. With N = T* w it is the program of `lower_bound` in which every
    sample costs 1, those of the best arm as well:  min_N sum_k N_k  such that
    sum_k N_k d(mu_k, lam_k) >= 1  for all these lam.

    The value is certified to a relative 1e-6, or an `ArmatureError` says that it could not be.

    >>> from armature.structures import Unimodal
    >>> time = characteristic_time(Instance(Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1]))
    >>> round(time.value, 3), round(time.unconstrained, 3)
    (208.695, 216.175)
    >>> time.shares.round(3).tolist()
    [0.0, 0.042, 0.48, 0.478, 0.0]

    References: Garivier and Kaufmann (2016), "Optimal Best Arm Identification with Fixed
    Confidence"; Degenne, Koolen and Ménard (2019), "Non-Asymptotic Pure Exploration by Solving
    Games".

    Limits: A value that cannot be certified to 1e-6 is an error.
    """
    check_fit(instance, "characteristic time")
    value, shares, alternatives, gap = time_of(instance.structure, instance)
    unconstrained = value
    if not instance.structure.assumes_nothing:
        unconstrained = time_of(instance.structure.forgotten(), instance)[0]
    return CharacteristicTime(value, shares, alternatives, gap, unconstrained)


def time_of(
    structure: Structure, instance: Instance
) -> tuple[float, Floats, tuple[Alternative, ...], float]:
    """(T*, shares, alternatives, gap); the structure need not be the instance's own.

    Where nothing in M has another best arm, T* is 0 and the shares are equal.
    """
    K = instance.n_arms
    program = solve_program(structure, instance, np.ones(K))
    if program.value == 0.0:
        return 0.0, np.full(K, 1.0 / K), (), 0.0
    shares = program.pulls / program.pulls.sum()
    return program.value, shares, program.alternatives, program.gap
