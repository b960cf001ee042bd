"""What the code and the tests say of themselves: references, limits, checks, items of the paper.

A docstring says where a thing comes from ("References"), what it cannot do ("Limits"), and which
items of the paper it implements ("Paper: Eq. (5); Algorithm 1."). A test says what it checks, and
against what: `@pytest.mark.checks("SPk", by="a slow twin")`. The pages are written from these.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import armature as am
from armature.bounds import learners
from armature.testing import discover

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "armature"
KINDS = {"policies": am.Policy, "structures": am.Structure, "families": am.Family}
PAPER_LINE = re.compile(r"^[ #]*Paper: (.+?)\.$", re.MULTILINE | re.DOTALL)
PARTICLE = r"(?:De |van )?"
WORK = re.compile(rf"(?:{PARTICLE}[A-Z][\w-]+(?:, | and ))*{PARTICLE}[A-Z][\w-]+ \(\d{{4}}\)")
THE_PAPER = "Degenne, Shao and Koolen (2020)"


class Check(NamedTuple):
    """A test, what it checks, and against what."""

    test: str
    subjects: tuple[str, ...]
    by: str


class Item(NamedTuple):
    """Something the paper has: its name, what it says, and a remark on it, perhaps empty."""

    name: str
    says: str
    remark: str = ""


def checks_in(source: str, path: str) -> Iterator[Check]:
    """The checks that a file of tests declares."""
    for node in ast.parse(source).body:
        for call in getattr(node, "decorator_list", []):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.checks":
                subjects = tuple(ast.literal_eval(argument) for argument in call.args)
                (by,) = (ast.literal_eval(keyword.value) for keyword in call.keywords)
                yield Check(f"{path}::{node.name}", subjects, by)


@functools.cache
def all_checks() -> tuple[Check, ...]:
    """The checks of all tests, sorted by file."""
    found: list[Check] = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        found += checks_in(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    return tuple(found)


def documented(source: str) -> Iterator[tuple[str, str]]:
    """Each function, class and method of a file, with its docstring."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    yield f"{node.name}.{method.name}", ast.get_docstring(method) or ""


def items_of(text: str) -> list[str]:
    r"""The items of the paper that a docstring names.

    >>> items_of("The nearest one.\n\nPaper: Eq. (3); Appendix C.2, f(t).")
    ['Eq. (3)', 'Appendix C.2, f(t)']
    """
    return [
        name.strip()
        for line in PAPER_LINE.findall(text)
        for name in re.sub(r"\s+", " ", line).split(";")
    ]


@functools.cache
def places() -> dict[str, list[str]]:
    """For each item of the paper that the code names, where: `bounds.game.play_k`, or a file."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for name, text in documented(path.read_text(encoding="utf-8")):
            for item in items_of(text):
                found.setdefault(item, []).append(f"{module}.{name}")
    for path in sorted(PACKAGE.rglob("*.toml")):
        for item in items_of(path.read_text(encoding="utf-8")):
            found.setdefault(item, []).append(path.relative_to(PACKAGE).as_posix())
    return found


@functools.cache
def paper() -> dict[str, list[Item]]:
    """The sections of the paper, and what is in them."""
    listed = tomllib.loads((ROOT / "docs" / "paper.toml").read_text(encoding="utf-8"))
    return {one["title"]: [Item(*item) for item in one["items"]] for one in listed["section"]}


def classes() -> dict[str, list[type[Any]]]:
    """All policies, structures and families."""
    return {kind: list(discover(base, am)) for kind, base in KINDS.items()}


def parts() -> list[str]:
    """What else tests check: functions, learners, modules."""
    named = {name for check in all_checks() for name in check.subjects}
    known = {cls.__name__ for kind in classes().values() for cls in kind} | set(KINDS)
    items = {item.name for section in paper().values() for item in section}
    return sorted(named - known - items)


def text_of(name: str) -> str:
    """The docstring of something public, of a learner, or of a module, by its name."""
    holder = next((place for place in (am, learners) if hasattr(place, name)), None)
    thing = getattr(holder, name) if holder else importlib.import_module(f"armature.{name}")
    return inspect.getdoc(thing) or ""


def section(text: str, title: str) -> str:
    r"""What a docstring has under a title, as one line; empty where it has no such section.

    >>> section("A.\n\nLimits\n------\nTens of\narms.\n\nReferences\n---", "Limits")
    'Tens of arms.'
    >>> section("A.\n\nLimits: tens of arms.\n\nMore.", "Limits")
    'tens of arms.'
    """
    pattern = rf"^{title}(?:\n-+\n|: )(.*?)(?=\n\n|\nPaper: |\Z)"
    found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    return re.sub(r"\s+", " ", found[1]) if found else ""


def works(text: str) -> list[str]:
    """The works that a docstring names as its references, short; none where it defines the thing.

    >>> works('References: Auer (2002), "A"; Dani, Hayes and Kakade (2008), "B".')
    ['Auer (2002)', 'Dani et al. (2008)']
    """
    cited = section(text, "References")
    own = cited.startswith("None") or "for what a structure is asked" in cited
    found = [] if own else WORK.findall(cited)
    return ["the paper" if work == THE_PAPER else shortened(work) for work in found]


def shortened(work: str) -> str:
    """Three and more authors are "et al."."""
    authors, year = work.rsplit(" ", 1)
    names = re.split(r", | and ", authors)
    return f"{names[0]} et al. {year}" if len(names) > 2 else work
