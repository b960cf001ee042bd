"""The rooms of the house: what may be imported where, and whom nobody names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import armature as am
from armature.testing import discover

PACKAGE = Path(am.__file__).parent
ROOT = PACKAGE.parent.parent


def imports_of(source: str) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []


def tree_of(package: Path) -> dict[str, list[str]]:
    """The folders of the package, each with the files and folders in it."""
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*")):
        if "__pycache__" not in path.parts and (path.is_dir() or path.suffix == ".py"):
            found.setdefault(path.parent.relative_to(package).as_posix(), []).append(path.name)
    return found


def test_the_house_is_seen_at_a_glance() -> None:
    tree = tree_of(PACKAGE)
    assert len(tree["."]) <= 22
    for folder, names in tree.items():
        assert len([name for name in names if name.endswith(".py")]) <= 22, folder


def test_no_module_is_private() -> None:
    """Rooms are small: what is private to a file has an underscore there, files have none."""
    names = [name for names in tree_of(PACKAGE).values() for name in names]
    assert [name for name in names if name.startswith("_") and not name.startswith("__")] == []


def class_names(sources: dict[str, str]) -> dict[str, list[str]]:
    """The files in which each class name is defined."""
    found: dict[str, list[str]] = {}
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path)
    return found


def sources_of(folder: str = "") -> dict[str, str]:
    paths = sorted((PACKAGE / folder).rglob("*.py"))
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in paths
    }


def test_a_class_name_has_one_meaning() -> None:
    """But for the client's `Decision`, the same as the bandit's. Private names may recur."""
    several = {name: files for name, files in class_names(sources_of()).items() if len(files) > 1}
    assert several == {"Decision": ["client/calls.py", "live/outstanding.py"]}


def test_two_classes_of_one_name_are_found() -> None:
    assert class_names({"a": "class Work: ...", "b": "def f():\n    class Work: ..."}) == {
        "Work": ["a", "b"]
    }


def riddles_in(source: str) -> list[str]:
    """Docstrings that go round the thing they should name: "What is kept of ..."."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [
        ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, kinds)
    ]
    return [
        text for text in texts if text.startswith(("What ", "Whoever ", "Of ", "Where ", "Who "))
    ]


ROOMS = ("assess", "bounds", "cli", "experiments", "live", "rounds", "service", "storage", "views")


@pytest.mark.parametrize("folder", ROOMS)
def test_docstrings_begin_with_the_thing_they_name(folder: str) -> None:
    found = {path: riddles_in(source) for path, source in sources_of(folder).items()}
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_a_riddle_is_found() -> None:
    assert riddles_in('class A:\n    """What is kept."""') == ["What is kept."]


@pytest.mark.parametrize("folder", ["benchmarks", "studies", "examples"])
def test_what_stands_beside_the_package_imports_no_private_name(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for module, names in imports_of(path.read_text(encoding="utf-8")):
            if module.split(".")[0] == "armature":
                assert [name for name in names if name.startswith("_")] == [], path


def structure_names(source: str, names: set[str]) -> set[str]:
    """The structures that a module names in its code."""
    tree = ast.parse(source)
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found & names


@pytest.mark.parametrize(
    "folder", ["kernels", "families", "solver", "bounds", "policies", "rounds", "live", "views"]
)
def test_general_code_names_no_structure(folder: str) -> None:
    """It asks for what a structure declares. A policy for one structure declares which."""
    names = {cls.__name__ for cls in discover(am.Structure, am)}
    specialised = {
        Path(*cls.__module__.split(".")[1:]).with_suffix(".py")
        for cls in discover(am.Policy, am)
        if cls.structures is not None
    }
    named = {}
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        if path.relative_to(PACKAGE) not in specialised:
            named[path.name] = structure_names(path.read_text(encoding="utf-8"), names)
    assert {name: found for name, found in named.items() if found} == {}
    assert structure_names("x = am.Sparse(3, 1, 0.0)", names) == {"Sparse"}


def asks_of_all_arms(source: str) -> list[str]:
    """Calls of a family's formula with the family of all arms: `f(model.family, ...)`."""
    formulas = {"divergence", "upper", "lower", "slope", "curvature", "variance"}
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in formulas
        and ast.unparse(node.args[0]) == "model.family"
    ]


@pytest.mark.parametrize("folder", ["policies", "bounds"])
def test_formulas_are_asked_of_one_arm(folder: str) -> None:
    """The arms may have parameters of their own: `divergence(of_arm(model.family, k), ...)`."""
    assert asks_of_all_arms("x = divergence(model.family, 0.1, 0.2)")
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        assert asks_of_all_arms(path.read_text(encoding="utf-8")) == [], path
