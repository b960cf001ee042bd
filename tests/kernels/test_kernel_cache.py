"""Compiled kernels across processes: never stale, never in another's way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import run

HELPERS = """
import armature as am
FACTOR = 2.0
@am.kernel
def scaled(x):
    return FACTOR * x
"""

USER = """
import armature as am
import helpers
@am.kernel
def ask(x):
    return helpers.scaled(x) + 1.0
"""

COUNT = "print(ask(3.0), sum(ask.dispatcher.stats.cache_hits.values()))"

GREEDY = """
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
import armature as am

class GreedyState(NamedTuple):
    c: float

@am.kernel
def choose(state, model, history, stream):
    best = 0
    for k in range(history.pulls.size):
        if history.means[k] > history.means[best]:
            best = k
    return best

@dataclass(frozen=True)
class FastGreedy(am.CompiledPolicy):
    c: float = 5.0
    choose: ClassVar = choose

    def init(self, structure, family):
        return GreedyState(self.c)
"""

SIMULATE = """
instance = am.Instance(am.Unconstrained(2), [0.0, 1.0])
results = am.simulate(instance, [{policy}], horizon=50, repetitions=2)
bandit = am.Bandit({policy}, am.Unconstrained(2))
for _ in range(4):
    bandit.tell(bandit.ask(), 1.0)
print(len(results.names))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for modules; the cache is another."""
    monkeypatch.setenv("ARMATURE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    modules = tmp_path / "modules"
    modules.mkdir()
    return modules


def kernels_of(place: Path) -> set[str]:
    return {p.name for p in (place.parent / "cache").rglob("*-*") if p.is_file()}


def test_an_edit_in_another_file_is_seen(place: Path) -> None:
    (place / "helpers.py").write_text(HELPERS)
    (place / "user.py").write_text(USER)
    code = "from user import ask\n" + COUNT
    assert run(code, cwd=place) == "7.0 0\n"
    assert run(code, cwd=place) == "7.0 1\n"
    (place / "helpers.py").write_text(HELPERS.replace("FACTOR = 2.0", "FACTOR = 5.0"))
    assert run(code, cwd=place) == "16.0 0\n"
    (place / "helpers.py").write_text(HELPERS.replace("FACTOR * x", "FACTOR - x"))
    assert run(code, cwd=place) == "0.0 0\n"
    (place / "helpers.py").write_text("# as at first\n" + HELPERS)
    assert run(code, cwd=place) == "7.0 1\n"


def test_a_users_policy_is_in_nobodys_way(place: Path) -> None:
    """A process that can't import the user's module works; one that can compiles nothing."""
    (place / "fastgreedy.py").write_text(GREEDY)
    both = "import armature as am, fastgreedy\n"
    code = both + SIMULATE.format(policy="fastgreedy.FastGreedy()")
    assert run(code, cwd=place) == "1\n"
    filled = kernels_of(place)
    assert run(code, cwd=place) == "1\n"
    assert kernels_of(place) == filled
    elsewhere = place.parent
    assert run("import armature as am\n" + SIMULATE.format(policy="am.UCB()"), cwd=elsewhere)


def test_a_script_is_cached_too(place: Path) -> None:
    """Its records belong to `__main__`, which is another module in each process."""
    script = place / "script.py"
    script.write_text(
        GREEDY + SIMULATE.format(policy="FastGreedy()") + "print(choose.dispatcher.stats)\n"
    )
    outputs = [
        subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert "cache_hits=Counter()" in outputs[0]
    assert "cache_misses=Counter()" in outputs[1]


FACTORY = """
import armature as am
def make(c):
    @am.kernel
    def scaled(x):
        return c * x
    return scaled
"""

ADDRESSES = """
import ctypes
import numba
from factory import make
one, other = make(2.0), make(3.0)
def code_of(kernel):
    return kernel.addresses.of(numba.float64(numba.float64))
print(one(1.0), other(1.0), code_of(one) != code_of(other))
print(one.dispatcher.stats.cache_hits, other.dispatcher.stats.cache_hits)
"""


def test_kernels_of_one_definition_are_told_apart(place: Path) -> None:
    """Even if they were compiled in two processes, and meet in a third."""
    (place / "factory.py").write_text(FACTORY)
    for c in (2.0, 3.0):
        assert run(f"from factory import make; print(make({c})(1.0))", cwd=place) == f"{c}\n"
    values, hits = run(ADDRESSES, cwd=place).splitlines()
    assert values == "2.0 3.0 True"
    assert hits == " ".join(["Counter({(float64,): 1})"] * 2)


def test_two_processes_fill_it_at_once(place: Path) -> None:
    (place / "helpers.py").write_text(HELPERS)
    (place / "user.py").write_text(USER)
    code = "from user import ask\n" + COUNT
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=place, stdout=subprocess.PIPE, env=os.environ
        )
        for _ in range(3)
    ]
    assert {p.communicate()[0].split()[0] for p in started} == {b"7.0"}
    assert {name.partition("-")[0] for name in kernels_of(place)} == {"ask", "scaled"}
    assert run(code, cwd=place) == "7.0 1\n"


def test_what_cannot_be_described_is_compiled_each_time(place: Path) -> None:
    (place / "odd.py").write_text(
        "import enum, functools, numba, armature as am\n"
        "@numba.cfunc('float64(float64)')\n"
        "def native(x): return x\n"
        "@am.kernel\n"
        "def ask(x): return native(x)\n"
    )
    for _ in range(2):
        assert run("from odd import ask\n" + COUNT, cwd=place) == "3.0 0\n"
    assert kernels_of(place) == set()


TAUGHT = """
import armature as am
from numba.extending import overload

def one(x): ...
def other(x): ...

def teach(function, c):
    @overload(function)
    def _lesson(x):
        def call(x):
            return x * c
        return call

teach(one, 2.0)
teach(other, 3.0)

@am.kernel
def ask_one(x):
    return one(x)

@am.kernel
def ask_other(x):
    return other(x)

@am.kernel
def ask_both(x):
    return ask_one(x), ask_other(x)
"""


def test_what_numba_was_taught_is_told_apart(place: Path) -> None:
    """The functions behind `one` and `other` have one name, and meet in `ask_both`."""
    (place / "taught.py").write_text(TAUGHT)
    assert run("import taught; print(taught.ask_one(1.0))", cwd=place) == "2.0\n"
    assert run("import taught; print(taught.ask_other(1.0))", cwd=place) == "3.0\n"
    assert run("import taught; print(taught.ask_both(1.0))", cwd=place) == "(2.0, 3.0)\n"


PLAIN = """
import numba
from armature.kernels.kernel import callback

def answer(x):
    return 2.0 * x

@callback
def ask(x):
    with numba.objmode(y="float64"):
        y = answer(x)
    return y
"""


def test_calls_of_plain_python_are_cached_too(place: Path) -> None:
    (place / "plain.py").write_text(PLAIN)
    code = "from plain import ask\n" + COUNT
    assert run(code, cwd=place) == "6.0 0\n"
    assert run(code, cwd=place) == "6.0 1\n"
    (place / "plain.py").write_text(PLAIN.replace("2.0 * x", "5.0 * x"))
    assert run(code, cwd=place) == "15.0 1\n"
