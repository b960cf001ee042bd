"""The study of identification: its tables by hand, its rival, and that it goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import armature as am
from studies.identification import run as study
from studies.identification.lucb import LUCB
from studies.identification.size import Size
from studies.identification.tables import error_table, ratio_table, saving_table

SMALL = Size(panels=2, per_group=1, repetitions=2, errors=3, max_rounds=200)


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
    assert f"{first.theory['unimodal-2'].rounds('TopTwo').mean():.0f} |" in error_table(first)
