"""The characteristic time: the samples needed to know the best arm, with a certificate."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.bounds.lower_bound import (
    EVERY_SEGMENT,
    Alternative,
    check_fit,
    solve_program,
)
from armature.bounds.tables import in_rows, side_by_side
from armature.errors import ArmatureError
from armature.structures import Segments, Structure
from armature.structures.instance import Instance
from armature.structures.oracles.margin import Margin, WithMargin
from armature.words import Card, Shown, best_first, number, row_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class CharacteristicTime(Shown):
    """The least samples to be sure of the best arm: asymptotically `value` * ln(1 / delta).

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
        segments: of a table of segments, their names; else nothing.
        margin: the margin by which another arm may be better, as it was given; None: no margin.
    """

    value: float
    shares: Floats
    alternatives: tuple[Alternative, ...]
    gap: float
    unconstrained: float
    segments: tuple[Hashable, ...] = ()
    margin: float | str | None = None

    @property
    def _title(self) -> str:
        content = "" if self.margin is None else f" within a margin of {self.margin}"
        return (
            f"Characteristic time{content}: asymptotically at least {number(self.value)} "
            "ln(1/delta) samples as the error delta falls; without the structure "
            f"{number(self.unconstrained)} ln(1/delta)"
        )

    def card(self) -> Card:
        if self.shares.ndim > 1:
            return self._table_card()
        ranked = [k for k in best_first(self.shares.tolist()) if self.shares[k] > 1e-6]
        return Card(
            self._title,
            ("arm", "share of samples"),
            tuple(row_of(k, self.shares[k]) for k in ranked),
            f"Certified to a relative {self.gap:.1g}.",
        )

    def _table_card(self) -> Card:
        return Card(
            self._title,
            ("segment", *(f"arm {k}: share" for k in range(self.shares.shape[1]))),
            tuple(
                row_of(name, *shares)
                for name, shares in zip(self.segments, self.shares, strict=True)
            ),
            f"Certified to a relative {self.gap:.1g}.",
        )


def characteristic_time(
    instance: Instance, segment: Hashable = None, *, margin: float | str | None = None
) -> CharacteristicTime:
    """The characteristic time T* of an instance, and the shares of samples that attain it.

    Solves  1 / T* = max_w min_lam sum_k w_k d(mu_k, lam_k)  over shares w of the arms and the lam
    in M whose best arm is another. With N = T* w it is the program of `lower_bound` in which every
    sample costs 1, those of the best arm as well:  min_N sum_k N_k  such that
    sum_k N_k d(mu_k, lam_k) >= 1  for all these lam.

    In a table of segments it is the time to know the best arm of every segment, or of one that is
    named; samples may be taken in any segment.

    With a margin, a number or a share such as "1%" of an arm's mean, it is the time to know an arm
    than which no other is better by more than that: lam ranges over the mean vectors in which one
    is, and of the arms that are right answers, the one counts that takes least. (With several right
    answers that is the rate which the best rules attain: Degenne and Koolen, 2019.)

    The value is certified to a relative 1e-6, or an `ArmatureError` says that it could not be.

    >>> from armature.structures import Unimodal
    >>> close = Instance(Unimodal(5), [0.2, 0.4, 0.9, 0.899, 0.1])
    >>> times = characteristic_time(close), characteristic_time(close, margin="5%")
    >>> [float(f"{time.value:.3g}") for time in times]
    [8000000.0, 3980.0]
    >>> time = characteristic_time(Instance(Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1]))
    >>> round(time.value, 3), round(time.unconstrained, 3)
    (208.695, 216.175)
    >>> time.shares.round(3).tolist()
    [0.0, 0.042, 0.48, 0.478, 0.0]

    References: Garivier and Kaufmann (2016), "Optimal Best Arm Identification with Fixed
    Confidence"; Degenne, Koolen and Ménard (2019), "Non-Asymptotic Pure Exploration by Solving
    Games"; Degenne and Koolen (2019), "Pure Exploration with Multiple Correct Answers".

    Limits: A value that cannot be certified to 1e-6 is an error. A margin is for ten or
    so arms (more than about 50 are refused), and not for tables of segments.
    """
    check_fit(instance, "characteristic time")
    wanted = Margin.of(margin)
    if instance.structure.is_table:
        if wanted is not None:
            raise ArmatureError("a margin is for one segment: ask for it with its own instance.")
        return time_of_table(instance, segment)
    if segment is not None:
        raise ArmatureError(f"there is no segment {segment!r}: {instance.structure} has none.")
    value, shares, alternatives, gap = time_of(instance.structure, instance, wanted)
    unconstrained = value
    if not instance.structure.assumes_nothing:
        unconstrained = time_of(instance.structure.forgotten(), instance, wanted)[0]
    return CharacteristicTime(
        value, shares, alternatives, gap, unconstrained,
        margin=None if wanted is None else wanted.given,
    )  # fmt: skip


def time_of_table(instance: Instance, segment: Hashable = None) -> CharacteristicTime:
    """The characteristic time of a table, or of one of its segments."""
    table = instance.structure
    assert isinstance(table, Segments)
    c = None if segment is None else table.place(segment)
    parts = [one for k, one in enumerate(instance.one_by_one) if c is None or k == c]
    alone = [characteristic_time(one) for one in parts]
    unconstrained = float(sum(part.unconstrained for part in alone))
    if table.is_coupled:
        best = EVERY_SEGMENT
        if c is not None:
            best = table.segments[c][0] + instance.best_arms[c]
        program = solve_program(table, instance, np.ones(instance.n_arms), best)
        found = in_rows(program, instance)
        value, pulls, alternatives, gap = (
            found.value, found.pulls, found.alternatives, found.gap
        )  # fmt: skip
    else:
        pulls = np.zeros(instance.means.shape)
        pulls[slice(None) if c is None else slice(c, c + 1)] = [a.value * a.shares for a in alone]
        value = float(sum(part.value for part in alone))
        alternatives = side_by_side(instance, alone, 0 if c is None else c)
        gap = max(part.gap for part in alone)
    shares = np.full(pulls.shape, 1.0 / pulls.size) if value == 0.0 else pulls / pulls.sum()
    return CharacteristicTime(value, shares, alternatives, gap, unconstrained, table.names)


def time_of(
    structure: Structure, instance: Instance, margin: Margin | None = None
) -> tuple[float, Floats, tuple[Alternative, ...], float]:
    """(T*, shares, alternatives, gap); the structure need not be the instance's own.

    Where nothing in M has another best arm, T* is 0 and the shares are equal. With a margin, T* is
    the least of those of the arms that may be named.
    """
    K = instance.n_arms
    if margin is None:
        program = solve_program(structure, instance, np.ones(K))
    else:
        near = margin.near(instance.means)
        asked = WithMargin(structure, margin, tuple(near))
        programs = [solve_program(asked, instance, np.ones(K), k) for k in near]
        program = min(programs, key=lambda one: one.value)
    if program.value == 0.0:
        return 0.0, np.full(K, 1.0 / K), (), 0.0
    shares = program.pulls / program.pulls.sum()
    return program.value, shares, program.alternatives, program.gap
