"""docs/paper-map.md: complete by the paper's numbers, and everything it points to exists."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from pointers import ROOT, broken, pointers, rows

import armature as am
from armature.bounds import learners
from armature.testing import discover

DOCUMENT = (ROOT / "docs" / "paper-map.md").read_text()
ROWS = rows(DOCUMENT)
# How many of each the paper has, appendices included; equation (2) has the parts a, b and c.
NUMBERED = {"Theorem": 6, "Lemma": 10, "Assumption": 7, "Definition": 4, "Algorithm": 1}
EQUATIONS = ["1", "2a", "2b", "2c", *map(str, range(3, 24))]
PANELS = "abcdefgh"
SUBSECTIONS = {"1": 3, "2": 5, "2.3": 2, "3": 0, "4": 0}  # how many each has


def test_every_item_is_there_once() -> None:
    items = Counter(row[0] for row in ROWS)
    assert [item for item, n in items.items() if n > 1] == []
    expected = {f"{kind} {n + 1}" for kind, count in NUMBERED.items() for n in range(count)}
    expected |= {f"Eq. ({number})" for number in EQUATIONS}
    expected |= {"Figure 1", *(f"Figure 1{panel}" for panel in PANELS)}
    numbered = re.compile(rf"({'|'.join(NUMBERED)}|Eq\.|Figure) [(\w)]+")
    assert {item for item in items if numbered.fullmatch(item)} == expected


def test_rows_have_three_cells_and_say_where_or_why_not() -> None:
    for row in ROWS:
        assert len(row) == 3, row
        assert pointers(row[2]) or row[2].startswith("not implemented: "), row


@pytest.mark.parametrize("pointer", sorted(set(pointers(DOCUMENT))))
def test_what_is_pointed_to_exists(pointer: str) -> None:
    assert broken(pointer) is None


def test_the_sections_are_those_of_the_paper() -> None:
    """What is quoted from it names a section that it has: there are four."""
    pages = [DOCUMENT, (ROOT / "docs" / "reproduction.md").read_text()]
    named = {name for page in pages for name in re.findall(r"Section (\d(?:\.\d)*)", page)}
    sections = {f"{name}.{n + 1}" for name, count in SUBSECTIONS.items() for n in range(count)}
    assert {"1.1", "2.3.1", "3"} <= named <= sections | set(SUBSECTIONS)


def test_every_class_has_a_place() -> None:
    """Policies, structures, families, learners and bounds, of the paper or beyond it."""
    classes = [*discover(am.Policy, am), *discover(am.Structure, am), *discover(am.Family, am)]
    classes += [getattr(learners, name) for name in learners.__all__]
    classes += [am.LowerBound, am.Alternative, am.Game, am.Instance]
    named = {pointer for row in ROWS for pointer in pointers(row[2])}
    missing = [
        kind.__name__
        for kind in classes
        if f"src/{kind.__module__.replace('.', '/')}.py::{kind.__name__}" not in named
    ]
    assert missing == []


@pytest.mark.parametrize(
    "pointer",
    [
        "src/armature/policies/spk.py::SPK",
        "src/armature/policies/sp_k.py::SPk",
        "src/armature/policies/spk.py::SPk.start",
        "src/armature/experiments/panels/unimodal-3.toml",
    ],
)
def test_a_wrong_pointer_is_noticed(pointer: str) -> None:
    assert broken(pointer) is not None
