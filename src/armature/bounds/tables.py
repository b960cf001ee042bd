"""Bounds of tables of segments: row by row, or all cells at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from armature.bounds.lower_bound import (
    EVERY_SEGMENT,
    Alternative,
    LowerBound,
    lower_bound,
    solve_program,
)
from armature.structures.instance import Instance


def bound_of_table(instance: Instance, epsilon: float | None) -> LowerBound:
    """The lower bound of a table: row by row, unless segments tell of each other."""
    parts = [lower_bound(one, epsilon) for one in instance.one_by_one]
    separately = float(sum(part.value for part in parts))
    unconstrained = float(sum(part.unconstrained for part in parts))
    if not instance.structure.is_coupled:
        return LowerBound(
            separately,
            np.stack([part.pulls for part in parts]),
            side_by_side(instance, parts),
            max(part.gap for part in parts),
            unconstrained,
            separately,
            instance.structure.segment_names,
        )
    gaps = np.maximum(instance.gaps.reshape(-1), 0.0 if epsilon is None else epsilon)
    bound = solve_program(instance.structure, instance, gaps, EVERY_SEGMENT)
    whole = in_rows(bound, instance)
    return replace(whole, unconstrained=unconstrained, separately=separately)


def in_rows(bound: LowerBound, instance: Instance) -> LowerBound:
    """A bound over cells, with a row for each segment."""
    shape = instance.means.shape
    alternatives = tuple(
        Alternative(one.means.reshape(shape), one.weight) for one in bound.alternatives
    )
    pulls, names = bound.pulls.reshape(shape), instance.structure.segment_names
    return replace(bound, pulls=pulls, alternatives=alternatives, segments=names)


class Binding(Protocol):
    """A bound that says what binds."""

    @property
    def alternatives(self) -> tuple[Alternative, ...]: ...


def side_by_side(
    instance: Instance, parts: Sequence[Binding], first: int = 0
) -> tuple[Alternative, ...]:
    """The alternatives of rows, from the first on, the other rows as they are; heaviest first."""
    found = []
    for c, part in enumerate(parts, first):
        for one in part.alternatives:
            means = instance.means.copy()
            means[c] = one.means
            found.append(Alternative(means, one.weight))
    return tuple(sorted(found, key=lambda a: -a.weight))
