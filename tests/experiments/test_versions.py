"""What a run depends on: when the code, a default or an option changes, so does its key."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import armature as am
from armature.experiments import keys
from armature.experiments.keys import package_code, run_key, sources
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, build, spelled_out

INSTANCE = am.Instance(am.Unimodal(3), [0.0, 1.0, 0.5])

MODULE = """
import armature as am
from helpers_for_test import which

class Mine(am.PythonPolicy):
    def choose(self, state, problem, history, rng):
        return which(history)
"""
HELPER = """
def which(history):
    return 0
"""


def key(policy: am.Policy, instance: am.Instance = INSTANCE, horizon: int = 100, seed=0) -> str:
    return run_key(instance, policy, horizon, seed)


def test_everything_that_matters_changes_the_key() -> None:
    keys = [
        key(am.SPk()),
        key(am.SPk(test="raw")),
        key(am.UCB()),
        key(am.UCB(), seed=1),
        key(am.UCB(), horizon=101),
        key(am.UCB(), am.Instance(am.Unimodal(3), [0.0, 1.0, 0.25])),
        key(am.UCB(), am.Instance(am.Unconstrained(3), [0.0, 1.0, 0.5])),
        key(am.UCB(), am.Instance(am.Unimodal(3), [0.0, 1.0, 0.5], am.Gaussian(2.0))),
    ]
    assert len(set(keys)) == len(keys)
    assert key(am.UCB(), seed=np.int64(1), horizon=np.int64(100)) == keys[3]
    assert key(am.SPk()) == keys[0]


def test_a_default_is_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words in a file, with another default behind them, are another run."""

    @dataclasses.dataclass(frozen=True)
    class Before(am.UCB):
        width: float = 1.0

    @dataclasses.dataclass(frozen=True)
    class After(am.UCB):
        width: float = 2.0

    for cls in (Before, After):
        cls.__name__ = cls.__qualname__ = "Wide"
    assert key(Before()) == key(Before(1.0))
    assert key(After()) != key(Before())
    assert key(After(1.0)) == key(Before())


@pytest.mark.parametrize("cls", POLICIES.values(), ids=lambda cls: cls.__name__)
def test_policies_can_be_made_from_all_their_arguments(cls: type[am.Policy]) -> None:
    for policy in cls.examples():
        description = spelled_out(POLICIES, policy)
        assert {field.name for field in dataclasses.fields(policy)} <= set(description)
        assert build(POLICIES, "policy", description) == policy


def test_structures_and_families_too() -> None:
    classes = [cls for cls in STRUCTURES.values() if cls is not am.Polyhedral]
    for structure in (s for cls in classes for s in cls.examples()):
        description = spelled_out(STRUCTURES, structure)
        again = build(STRUCTURES, "structure", description)
        assert spelled_out(STRUCTURES, again) == description
    for family in (am.Gaussian(), am.Gaussian(2.0), am.Bernoulli(), am.Poisson()):
        assert build(FAMILIES, "family", spelled_out(FAMILIES, family)) == family


def test_the_core_is_the_key_and_nothing_else_is(monkeypatch, tmp_path: Path) -> None:
    """Each file of the package is touched once: the key changes with the core's, and only these."""
    copy = tmp_path / "armature"
    shutil.copytree(keys.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(keys, "PACKAGE", copy)
    monkeypatch.setattr(keys, "sources", lambda: sources(copy))
    before = package_code.__wrapped__()
    rooms = set()
    for path in sorted(path for path in copy.rglob("*") if path.is_file()):
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        room = path.relative_to(copy).parts[0]
        in_core = room in keys.CORE and path.suffix == ".py"
        assert (package_code.__wrapped__() != before) == in_core, path
        path.write_bytes(content)
        rooms.add(room)
    assert package_code.__wrapped__() == before
    assert set(keys.CORE) < rooms


def test_the_version_of_the_package_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(am.UCB())
    monkeypatch.setattr(keys, "package_version", lambda: "99.0")
    assert key(am.UCB()) != before


def test_all_code_behind_the_numbers_is_counted() -> None:
    counted = {path.relative_to(keys.PACKAGE).as_posix() for path in sources()}
    for classes in (POLICIES, STRUCTURES, FAMILIES):
        for cls in classes.values():
            assert cls.__module__.removeprefix("armature.").replace(".", "/") + ".py" in counted


def test_the_core_imports_nothing_but_itself_and_what_changes_no_number() -> None:
    beside = {"errors", "storage", "words"}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("armature."):
                room = str(node.module).split(".")[1]
                assert room in {*keys.CORE, *beside}, f"{path}: {node.module}"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes a user's two modules and imports them."""
    monkeypatch.syspath_prepend(tmp_path)
    names = ("mine_for_test", "helpers_for_test")

    def write(module: str = MODULE, helper: str = HELPER) -> ModuleType:
        for name, text in zip(names, (module, helper), strict=True):
            (tmp_path / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("mine_for_test")

    yield write
    for name in names:
        sys.modules.pop(name, None)


def test_a_users_module_and_what_it_uses_count(own) -> None:
    before = key(own().Mine())
    assert key(own().Mine()) == before
    assert key(own(module=MODULE + "\n# edited\n").Mine()) != before
    assert key(own(helper=HELPER.replace("return 0", "return 1")).Mine()) != before
    assert key(own().Mine()) == before
    assert key(am.UCB()) == key(am.UCB())


def test_code_that_can_not_be_found_is_never_the_same() -> None:
    cls = type("Nowhere", (am.UCB,), {"__module__": "no_such_module"})
    policy = dataclasses.dataclass(frozen=True)(cls)()
    assert key(policy) != key(policy)
