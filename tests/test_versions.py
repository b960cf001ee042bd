"""What a run depends on: when the code, a default or an option changes, so does its key."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import armature as am
from armature.descriptions import FAMILIES, POLICIES, STRUCTURES, build, spelled_out
from armature.simulation import versions
from armature.simulation.versions import package_code, run_key, sources

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


def test_a_change_of_the_package_is_another_code(monkeypatch, tmp_path: Path) -> None:
    before = key(am.UCB())
    policies, engine = tmp_path / "policies", tmp_path / "simulation"
    for path in (policies / "ucb.py", engine / "engine.py", engine / "results.py"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("x = 1\n")
    monkeypatch.setattr(versions, "PACKAGE", tmp_path)
    monkeypatch.setattr(versions, "sources", lambda: sources(tmp_path))
    codes = []
    for path in (engine / "results.py", policies / "ucb.py", engine / "engine.py"):
        package_code.cache_clear()
        codes.append(package_code())
        path.write_text("x = 2\n")
    package_code.cache_clear()
    codes.append(package_code())
    assert codes[0] == codes[1]  # what only writes results does not matter
    assert len(set(codes[1:])) == 3
    assert key(am.UCB()) != before
    monkeypatch.undo()
    package_code.cache_clear()
    assert key(am.UCB()) == before


def test_the_version_of_the_package_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(am.UCB())
    monkeypatch.setattr(versions, "package_version", lambda: "99.0")
    assert key(am.UCB()) != before


def test_all_code_behind_the_numbers_is_counted() -> None:
    counted = {path.relative_to(versions.PACKAGE).as_posix() for path in sources()}
    folders = {name.partition("/")[0] for name in counted if "/" in name}
    assert {"families", "structures", "policies", "learners", "bounds", "simulation"} <= folders
    assert {"streams.py", "decisions.py", "instance.py", "_compile.py"} <= counted
    assert {"simulation/engine.py", "simulation/play.py", "simulation/rewards.py"} <= counted
    for classes in (POLICIES, STRUCTURES, FAMILIES):
        for cls in classes.values():
            assert cls.__module__.removeprefix("armature.").replace(".", "/") + ".py" in counted
    assert not counted & {"cli.py", "plotting.py", "simulation/parts.py"}
    for name in versions.WITHOUT_INFLUENCE:
        assert (versions.PACKAGE / name).exists(), f"{name} is not there any more"


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
