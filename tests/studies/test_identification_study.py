"""The study of identification: its tables by hand, its rival, and that it goes on."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import armature as am
from studies.identification import run as study
from studies.identification.lucb import LUCB
from studies.identification.size import Size
from studies.identification.tables import error_table, parts_table, ratio_table, saving_table
from studies.identification.told import rounds_if_told

SMALL = Size(panels=2, per_group=1, repetitions=2, errors=4, piece=2, max_rounds=200)


def test_the_rival_by_hand() -> None:
    """The leader, then the rival with the highest upper bound: of equal ones the less pulled."""
    bandit = am.Bandit(LUCB(0.1), am.Unconstrained(3))
    bandit.tell([0, 0, 1, 2, 2], [0.0, 0.0, 0.0, 1.0, 1.0])
    assert [bandit.ask(), bandit.ask()] == [2, 1]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "PANELS", ("categorised-1", "unimodal-2"))
    monkeypatch.setattr(study, "RULES", study.RULES[:1])
    easy = am.Instance(am.Unimodal(3), [0.0, 2.0, 0.0])
    monkeypatch.setattr(study, "random_instances", lambda per_group: {"easy": easy})


@pytest.mark.usefixtures("small")
def test_it_goes_on_and_writes_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(quiet=True)
    first = study.run_study(tmp_path, SMALL, 1, console)
    text = (tmp_path / "tables.md").read_text()
    assert (tmp_path / "ratios.png").is_file()

    def none(*arguments, **options):
        raise AssertionError("all of it is there")

    monkeypatch.setattr(study, "identify", none)
    second = study.run_study(tmp_path, SMALL, 1, console)
    assert (tmp_path / "tables.md").read_text() == text
    for name, found in first.panels.items():
        assert np.array_equal(found.rounds("TopTwo"), second.panels[name].rounds("TopTwo"))
    own = first.panels["unimodal-2"].rounds("TopTwo")[:, 1].mean()
    assert f"| unimodal-2 | {own:.0f} |" in saving_table(first, "TopTwo")
    ratio = own / (am.characteristic_time(first.panels["unimodal-2"].instance).value * np.log(100))
    assert f"{ratio:.2f}" in ratio_table(first.panels, "TopTwo")
    evidence = first.panels["unimodal-2"].runs["TopTwo"].statistics[:, 1].mean() / np.log(100)
    parts = parts_table(first.panels, "TopTwo", 0.01)
    assert f"| {ratio:.2f} | {evidence:.2f} | {ratio / evidence:.2f} |" in parts
    pieces = first.theory["unimodal-2"]
    assert len(pieces) == 2
    rounds = np.concatenate([piece.rounds("TopTwo")[:, 0] for piece in pieces])
    assert len(set(rounds)) > 2
    assert f"{rounds.mean():.0f} |" in error_table(first)


def test_who_is_told_both_values() -> None:
    """Two arms: a random walk between -b and b, where exp(-b) is delta over 1 - delta.

    By Wald's identity, b tanh(b / 2) / (gap^2 / 2) rounds, and as many more as it overshoots by.
    """
    rounds, wrong = rounds_if_told(2, 0.1, [0.2, 0.05], 2000)
    for d, delta in enumerate((0.2, 0.05)):
        b = math.log((1.0 - delta) / delta)
        assert 1.0 <= rounds[:, d].mean() / (200.0 * b * math.tanh(b / 2.0)) < 1.15
        assert 0.5 * delta < wrong[:, d].mean() <= delta
    assert (np.diff(rounds, axis=1) >= 0.0).all()
