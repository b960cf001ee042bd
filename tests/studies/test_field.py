"""The study of the field: its problems, and its table by hand."""

from __future__ import annotations

import numpy as np
import pytest

import armature as am
from studies import field, stuck_runs
from studies.field import TABLES, Score, markdown, scored

EVERY = [(table, name) for table, problems in TABLES.items() for name in problems]


@pytest.mark.parametrize(("table", "name"), EVERY)
def test_all_can_play_a_problem(table: str, name: str) -> None:
    """An `Instance` refuses means that are not in its structure."""
    problem = TABLES[table][name]()
    instance = problem.instance
    assert all(p.supports(instance.structure, instance.family) for p in problem.policies)
    assert len({p.name for p in problem.policies}) == len(problem.policies)


def test_the_instances_are_those_of_the_papers() -> None:
    means = TABLES["Two peaks on a tree"]["sharp"]().instance.means
    away = np.array([[2, 1, 3, 2, 0, 4, 4], [2, 3, 1, 4, 4, 2, 0]])
    assert means == pytest.approx(np.exp(-2.0 * away[0]) + 2.0 * np.exp(-2.0 * away[1]))
    assert TABLES["One peak"]["12 arms"]().instance.best_arm == 5
    assert TABLES["Prices"]["5 prices"]().instance.best_arm == 2
    assert TABLES["Linear"]["end of optimism, 0.02"]().instance.gaps == pytest.approx([1, 0.02, 0])


def test_a_table_by_hand() -> None:
    scores = [
        scored("t", "one", "UCB", np.array([1.0, 3.0])),
        scored("t", "one", "IMED", np.array([4.0, 4.0])),
        Score("t", "two", "IMED", 5, 1234.5, 6.7, 2000.0),
    ]
    assert markdown("t", scores) == [
        "| policy | one (2) | two (5) |",
        "|---|---|---|",
        "| `UCB` | **2** ± 1; 3 |  |",
        "| `IMED` | 4 ± 0; 4 | **1,234** ± 6.7; 2,000 |",
    ]


def test_batches_are_played_to_the_end() -> None:
    instance = am.Instance(am.Unconstrained(2), [1.0, 0.0])
    regret = field.asked_in_batches(instance, am.UniformSampling(), 5000, 0)
    assert regret == 5000.0


def test_stuck_is_less_than_half_of_the_second_half() -> None:
    """Of 1,000 runs, those that pull the best arm in less than 250 of the last 500 rounds."""
    instance = am.Instance(am.Unconstrained(2), [0.0, 1.0])
    results = am.simulate(instance, [am.UniformSampling()], 1000, 3, workers=1)
    assert stuck_runs.stuck_in(results) == 0
    other = am.Instance(am.Unconstrained(3), [0.0, 0.5, 1.0])
    assert stuck_runs.stuck_in(am.simulate(other, [am.UniformSampling()], 1000, 3, workers=1)) == 3
