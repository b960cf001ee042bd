"""Scratch space: no kernel of any structure leaves what it was given, or changes the structure."""

from __future__ import annotations

import numpy as np
import pytest

import armature as am
from armature.structures.oracles.records import ENTRIES, OracleProblem, Work
from armature.testing import DeclaredAgain, discover, random_problem, supported_families

GUARD = 16
REAL, INTEGER = -1.2345e67, -987654321
STRUCTURES = [example for cls in discover(am.Structure, am) for example in cls.examples()]


class Guarded:
    """Scratch space with guard values on both sides."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.real = np.full(size[0] + 2 * GUARD, REAL)
        self.integer = np.full(size[1] + 2 * GUARD, INTEGER, dtype=np.int64)
        self.work = Work(self.real[GUARD : GUARD + size[0]], self.integer[GUARD : GUARD + size[1]])

    @property
    def is_intact(self) -> bool:
        return all(
            bool((side == value).all())
            for array, value in ((self.real, REAL), (self.integer, INTEGER))
            for side in (array[:GUARD], array[-GUARD:])
        )


def ask_everything(structure: am.Structure, family: am.Family, rng: np.random.Generator) -> None:
    """Every entry of a structure on a random problem, in guarded scratch space."""
    p = random_problem(structure, family, rng)
    K = structure.n_arms
    for name in ENTRIES:
        kernel, derived = structure.entry(name, family)
        if kernel is None:
            continue
        shape = structure.table(True) if derived else structure.shape
        before = [part.copy() for part in shape]
        room = Guarded(structure.table_work if derived else structure.work_size_for(family))
        marks, numbers = (
            np.zeros(K, dtype=np.int64),
            np.zeros(structure.n_cells_for(family), dtype=np.int64),
        )
        record = family.record_for(K)
        problem = OracleProblem(record, p.means, p.weights, shape, room.work, marks)
        out = np.empty(K)
        if name == "challenger_bounds":  # it finds a projection there, and from what on it matters
            out = np.concatenate([p.means, np.full(K, np.inf)])
        if name == "highest":
            kernel(shape, room.work, p.means - 0.1, p.means + 0.1, out)
        elif name == "optimistic":
            kernel(problem, 1.0, out)
        elif name == "cells":
            kernel(problem, p.best, numbers)
        elif name == "cell_min":
            cells = structure.cells(p.best, p.means, p.weights, family)
            for cell in cells[:5]:
                marks[: len(cell.marks)] = cell.marks
                kernel(problem, p.best, cell.number, out)
        else:
            kernel(problem, p.best, p.challenger, out)
        assert room.is_intact, (structure, name)
        assert all((now == then).all() for now, then in zip(shape, before, strict=True))


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: type(s).__name__)
def test_no_kernel_leaves_its_scratch_space(
    structure: am.Structure, rng: np.random.Generator
) -> None:
    for family in supported_families(structure):
        for _ in range(3):
            ask_everything(structure, family, rng)


def test_what_is_derived_stays_inside_too(rng: np.random.Generator) -> None:
    for structure in (am.Unimodal(5), am.Sparse(4, 2, 0.3), am.Linear(np.eye(4)[:, :2] + 0.1)):
        for family in supported_families(structure):
            ask_everything(DeclaredAgain(structure), family, rng)


def test_a_kernel_that_needs_more_is_noticed(rng: np.random.Generator) -> None:
    class Greedy(am.Unimodal):
        """Says that it needs one number less than it does."""

        @property
        def work_size(self) -> tuple[int, int]:
            return super().work_size[0] - self.n_arms, 1

    with pytest.raises((AssertionError, ValueError)):
        ask_everything(Greedy(6), am.Gaussian(), rng)
