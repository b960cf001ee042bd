"""docs/status.md: the code and the tests declare what its tables say, and nothing is left out."""

from __future__ import annotations

import re

import pytest
from declarations import ROOT, all_checks, checks_in, classes, paper, parts, section, text_of, works
from tables import checked_against, checking, status

KINDS = classes()
NAMES = [cls.__name__ for kind in KINDS.values() for cls in kind] + parts()
PAGE = (ROOT / "docs" / "status.md").read_text(encoding="utf-8")


def test_the_page_has_a_table_of_each_kind() -> None:
    asked = re.findall(r"^<!-- table: (\w+) -->$", PAGE, re.MULTILINE)
    assert asked == [*KINDS, "parts"]


@pytest.mark.parametrize("kind", [*KINDS, "parts"])
def test_everything_of_a_kind_has_a_row(kind: str) -> None:
    names = parts() if kind == "parts" else [cls.__name__ for cls in KINDS[kind]]
    rows = re.findall(r"^\| `([\w.]+)` \| [^|]+ \| [^|]* \| [^|]* \|$", status(kind), re.MULTILINE)
    assert rows == names


@pytest.mark.parametrize("name", NAMES)
def test_each_says_where_it_comes_from_and_some_test_checks_it(name: str) -> None:
    (kinds,) = [[kind for kind, found in KINDS.items() if name in {cls.__name__ for cls in found}]]
    checks = checked_against(name) + [by for kind in kinds for by in checked_against(kind)]
    assert checks
    assert "policies" not in kinds or checking(name), "a policy needs a test of its own"
    if kinds:
        assert works(text_of(name)) or section(text_of(name), "References")


def test_what_is_checked_exists() -> None:
    """Each subject is a kind, a class, an item of the paper, or can be looked up."""
    items = {item.name for found in paper().values() for item in found}
    for check in all_checks():
        assert check.subjects, check.test
        assert check.by, check.test
        for subject in set(check.subjects) - items - set(KINDS):
            assert text_of(subject), (check.test, subject)


@pytest.mark.parametrize("subject", ["SPK", "policies.threshold", "Eq. (99)"])
def test_a_wrong_subject_is_noticed(subject: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        text_of(subject)


def test_what_a_test_declares_is_read() -> None:
    source = '@pytest.mark.checks("UCB", "Eq. (1)", by="a case by hand")\ndef test_it(): ...\n'
    (check,) = checks_in(source, "tests/test_x.py")
    assert check == ("tests/test_x.py::test_it", ("UCB", "Eq. (1)"), "a case by hand")
