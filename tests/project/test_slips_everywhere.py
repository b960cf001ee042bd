"""Every public call with every argument wrong: what comes out is a sentence.

Calls are found, not listed: functions and methods that users call, with a good value for each
argument by its name. Each argument is then replaced by what people give by mistake, and exchanged
for its neighbour. TypeErrors are for Python to raise, where a call does not have an argument.
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armature as am

STRUCTURES = (am.Unimodal(3), am.Sparse(3, 1, 0.0), am.Linear([[1.0], [2.0], [3.0]]))
FAMILIES = (am.Gaussian(), am.Bernoulli(scale=[1.0, 2.0, 3.0]), am.Exponential())
INSTANCE = am.Instance(am.Unimodal(3), [0.1, 0.9, 0.5])
RESULTS = am.simulate(INSTANCE, [am.UCB(), am.IMED()], 20, 2, workers=1)
FOUND = am.identify(INSTANCE, [am.TopTwo()], 0.5, 1, workers=1)
LOG = [(n % 3, float(n % 3)) for n in range(30)]

GOOD: dict[str, Any] = {
    "a": "UCB", "about": 1.0, "address": None, "after": None, "allow": (), "arm": 1, "arms": None,
    "at": 1, "b": "IMED", "before": None, "best": 0, "candidates": [], "cell": am.Cell(0, 1),
    "challenger": 1, "clock": None, "columns": None, "delta": 0.1, "draws": 2, "engine": "threads",
    "epsilon": 0.1, "exclude": [0], "false_alarms": 0.01, "family": am.Gaussian(), "floor": 0.1,
    "forget": None, "frequencies": None, "goal": "max",
    "high": [1.0, 2.0, 3.0], "history": None, "horizon": 20, "id": 0, "ids": False,
    "instance": INSTANCE, "label": None, "labels": None, "learner": "k", "level": 0.9,
    "log": LOG, "low": [0.0, 0.5, 0.1], "margin": None, "max_rounds": 50, "mean": 0.5,
    "means": [0.1, 0.9, 0.5], "method": "queues", "n": 2, "n_arms": 3, "name": "means",
    "order": [1, 0, 2], "policies": [am.UCB()], "policy": am.UCB(), "progress": None,
    "repetitions": 1, "reward": 1.0, "rng": np.random.default_rng(0), "rounds": 10, "seed": 0,
    "segment": None, "size": None, "spread": "common", "strict": True, "structure": am.Unimodal(3),
    "text": am.Bandit(am.UCB(), am.Unimodal(3)).to_json(), "threshold": "practical",
    "title": "x", "traffic": None, "uniform": True, "unit": "x", "weights": [1.0, 2.0, 3.0],
    "workers": 1, "x": [0.5, 0.5, 0.5], "y": [0.4, 0.4, 0.4],
}  # fmt: skip
WITH_A_PATH = {"save", "load", "plot"}
CALLED_BACK = {"progress", "rng"}  # what is called, or drawn from
FOR_AUTHORS = {
    "cells_depend_on", "checked_arm", "checked_cell", "checked_family", "checked_problem",
    "checked_vector", "derived_side", "entries", "entry", "oracle_for", "own_side", "table",
    "violation", "with_arm", "without_arm", "without_runs", "clipped", "estimate", "record_for",
    "from_frame", "n_cells_for", "dropped", "explain", "examples", "init", "pieces", "to_frame",
    "about", "mirrored", "for_arm", "check_arms", "could_be", "choose",
    "work_size_for", "update", "learning_cost", "basis", "restarted", "judged", "go_on",
}  # fmt: skip


def wrong_values() -> list[Any]:
    """What people give by mistake."""
    return [
        None, "x", "", b"1", math.nan, math.inf, -math.inf, -1, -1.0, 0, 2.5, 1e300, 10**400, True,
        1j, [], {}, (), [[]], ["x"], ["x", "y", "z"], [None], [1, [2]], [math.nan] * 3,
        [True] * 3, [1.0] * 4, [-1.0] * 3, {"a"}, {"a": 1}, range(3), object(), am.UCB, am.UCB(),
        am.Unimodal(3), am.Gaussian(), am.Gaussian, INSTANCE, print, (k for k in [1]),
        np.array(1.0), np.array("x"), np.array(None), np.zeros(0), np.zeros((2, 2)), np.zeros(3),
        np.array([None] * 3), np.array(["x"] * 3), np.float32(0.5), np.datetime64("2026-01-01"),
        np.ma.masked, Path("x"),
    ]  # fmt: skip


def arguments_of(call: Callable[..., Any], **instead: Any) -> dict[str, Any]:
    """A good value for each argument; what has none here and no default fails the test."""
    found = {}
    for name, parameter in inspect.signature(call).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD and name != "path":
            found[name] = {**GOOD, **instead}[name]
    return found


def bandit() -> am.Bandit:
    """One with rewards, and a decision that is open."""
    made = am.Bandit(am.UCB(), am.Unimodal(3))
    made.tell([0, 1, 2], [0.0, 1.0, 0.5])
    made.ask(ids=True)
    made.ask(2)
    return made


def methods(owner: Any) -> Iterator[str]:
    """The names of the methods that users call."""
    for name, member in inspect.getmembers(type(owner)):
        if name[0] != "_" and callable(member) and name not in FOR_AUTHORS | WITH_A_PATH:
            yield name


def calls() -> Iterator[Any]:
    """Each call by its name: what makes it, and its arguments."""
    for name in am.__all__:
        member = getattr(am, name)
        if inspect.isfunction(member) and name != "kernel":
            yield pytest.param(lambda m=member: m, {}, id=name)
    yield pytest.param(lambda: am.Bandit, {}, id="Bandit")
    yield pytest.param(lambda: am.Instance, {}, id="Instance")
    for name in methods(bandit()):
        instead = {"horizon": None, "policy": None, "structure": None, "family": None}
        yield pytest.param(lambda n=name: getattr(bandit(), n), instead, id=f"Bandit.{name}")
    owners = [(RESULTS, {"policy": "UCB"}), (FOUND, {"policy": "TopTwo"}), (am.UCB(), {})]
    owners += [(structure, {}) for structure in STRUCTURES]
    owners += [(family, {"mean": [0.5, 0.5, 0.5], "level": [0.1, 0.1, 0.1]}) for family in FAMILIES]
    for owner, instead in owners:
        for name in methods(owner):
            if isinstance(owner, am.Family) and name == "relabelled":
                continue  # its structure has checked the order
            call = getattr(owner, name)
            yield pytest.param(lambda c=call: c, instead, id=f"{type(owner).__name__}.{name}")


def edits(arguments: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each argument with each wrong value, and each pair of them exchanged."""
    for name in arguments:
        if name not in CALLED_BACK:
            for wrong in wrong_values():
                yield f"{name}={wrong!r:.60}", {**arguments, name: wrong}
    for one, two in itertools.combinations(arguments, 2):
        if not {one, two} & CALLED_BACK:
            swapped = {**arguments, one: arguments[two], two: arguments[one]}
            yield f"{one} and {two} exchanged", swapped


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "instead"), list(calls()))
def test_slips(make: Callable[[], Callable[..., Any]], instead: dict[str, Any]) -> None:
    good = arguments_of(make(), **instead)
    bare = []
    for what, arguments in edits(good):
        try:
            make()(**arguments)
        except am.ArmatureError as error:
            if not str(error).endswith((".", "?", ")")):
                bare.append(f"{what}: no sentence: {error}"[:300])
        except Exception as error:
            bare.append(f"{what}: {type(error).__name__}: {error}"[:300])
    assert not bare, f"{len(bare)}:\n" + "\n".join(bare)


@pytest.mark.parametrize("name", ["save", "load", "plot"])
@pytest.mark.parametrize("owner", [bandit(), RESULTS, FOUND], ids=lambda o: type(o).__name__)
def test_paths(owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no path, or one that leads nowhere."""
    monkeypatch.chdir(tmp_path)
    folder, missing = tmp_path, tmp_path / "no" / "file.png"
    bare = []
    for path in [*wrong_values(), folder, str(folder), missing, "a\0b", "x" * 500, "."]:
        if (name == "plot" and path is None) or (isinstance(path, str) and path == "x"):
            continue
        try:
            getattr(owner, name)(path)
        except (am.ArmatureError, OSError):  # or what the system says of a name
            pass
        except Exception as error:
            bare.append(f"{path!r:.60}: {type(error).__name__}: {error}"[:300])
    assert not bare, "\n".join(bare)
    assert set(os.listdir(tmp_path)) <= {"x"}


def test_the_client_without_the_extra() -> None:
    """A sentence that says what to install."""
    program = (
        "import sys; sys.modules['httpx'] = None\n"
        "try:\n    from armature.client import Client\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "armature.client needs httpx: pip install 'armature-bandits[service]'.\n"
