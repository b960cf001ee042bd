"""docs/status.md: everything is listed, every test that it names exists, citations resolve."""

from __future__ import annotations

import re

import pytest
from pointers import ROOT, broken, pointers, rows

import armature as am
from armature.bounds import learners
from armature.testing import discover

DOCUMENT = (ROOT / "docs" / "status.md").read_text()
ROWS = rows(DOCUMENT)
CITED = set(re.findall(r"^- \*\*(.+?)\*\*:", DOCUMENT, re.MULTILINE))


def test_everything_is_listed_once() -> None:
    kinds = [*discover(am.Policy, am), *discover(am.Structure, am), *discover(am.Family, am)]
    parts = [*learners.__all__, "lower_bound", "solve_game", "armature.policies.thresholds"]
    parts += ["characteristic_time", "armature.rounds.stopping", "assess", "replay"]
    expected = [f"`{kind.__name__}`" for kind in kinds] + [f"`{part}`" for part in parts]
    assert sorted(row[0] for row in ROWS) == sorted(expected)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_a_row_names_its_tests_and_its_sources(row: list[str]) -> None:
    assert len(row) == 4
    named = pointers(row[2])
    assert named
    assert all(re.fullmatch(r"tests/\w+/test_\w+\.py::test_\w+", pointer) for pointer in named)
    for source in row[1].split("; "):
        assert source in CITED | {"the paper"} or row[1].startswith("none"), source


@pytest.mark.parametrize("pointer", sorted(set(pointers(DOCUMENT))))
def test_what_is_named_exists(pointer: str) -> None:
    assert broken(pointer) is None


def test_every_reference_is_used() -> None:
    used = {source for row in ROWS for source in row[1].split("; ")}
    assert used >= CITED
