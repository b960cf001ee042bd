"""docs/paper-map.md: complete by the paper's numbers; each item is in the code or says why not."""

from __future__ import annotations

import re
from collections import Counter

from declarations import ROOT, items_of, paper, places
from tables import checked_against, paper_map, where

ITEMS = [item for section in paper().values() for item in section]
NAMES = {item.name for item in ITEMS}
# How many of each the paper has, appendices included; equation (2) has the parts a, b and c.
NUMBERED = {"Theorem": 6, "Lemma": 10, "Assumption": 7, "Definition": 4, "Algorithm": 1}
EQUATIONS = ["1", "2a", "2b", "2c", *map(str, range(3, 24))]
PANELS = "abcdefgh"
SUBSECTIONS = {"1": 3, "2": 5, "2.3": 2, "3": 0, "4": 0}  # how many each has


def test_every_item_is_listed_once() -> None:
    assert [name for name, n in Counter(item.name for item in ITEMS).items() if n > 1] == []
    expected = {f"{kind} {n + 1}" for kind, count in NUMBERED.items() for n in range(count)}
    expected |= {f"Eq. ({number})" for number in EQUATIONS}
    expected |= {"Figure 1", *(f"Figure 1{panel}" for panel in PANELS)}
    numbered = re.compile(rf"({'|'.join(NUMBERED)}|Eq\.|Figure) [(\w)]+")
    assert {name for name in NAMES if numbered.fullmatch(name)} == expected


def test_each_item_is_in_the_code_or_checked_or_says_why_not() -> None:
    for item in ITEMS:
        declared = places().get(item.name, []) + checked_against(item.name)
        assert bool(declared) != item.remark.startswith("not implemented: "), item


def test_the_code_names_only_items_that_are_listed() -> None:
    assert set(places()) <= NAMES


def test_a_name_that_is_not_listed_is_noticed() -> None:
    assert items_of("It.\n\nPaper: Eq. (3); Eq. (99).") == ["Eq. (3)", "Eq. (99)"]
    assert "Eq. (99)" not in NAMES


def test_the_tables_say_where() -> None:
    assert where(next(item for item in ITEMS if item.name == "Eq. (16)")).startswith("`policies.")
    for line in paper_map().splitlines():
        if line.startswith("|"):
            cells = line.strip("|").split(" | ")
            assert len(cells) == 3, line
            assert cells[2].strip(), line


def test_the_sections_are_those_of_the_paper() -> None:
    """What is quoted from it names a section that it has: there are four."""
    pages = [paper_map(), (ROOT / "docs" / "studies" / "reproduction.md").read_text()]
    named = {name for page in pages for name in re.findall(r"Section (\d(?:\.\d)*)", page)}
    sections = {f"{name}.{n + 1}" for name, count in SUBSECTIONS.items() for n in range(count)}
    assert {"1.1", "2.3.1", "3"} <= named <= sections | set(SUBSECTIONS)
