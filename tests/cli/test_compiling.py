"""Filling the cache beforehand, and what one is told while kernels are compiled."""

from __future__ import annotations

import importlib
import os
import pkgutil
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from processes import run
from typer.testing import CliRunner

import armature as am
from armature.cli.fill_cache import checked_name, example_of
from armature.cli.program import app
from armature.kernels.compiling import notice
from armature.kernels.compiling.fingerprint import Fingerprint
from armature.kernels.kernel import Kernel, kernel
from armature.storage.registry import FAMILIES, STRUCTURES

USE = """
import armature as am
from armature.kernels.compiling import notice
instance = am.Instance(am.Unconstrained(3), [0.1, 0.2, 0.7])
am.lower_bound(instance)
am.simulate(instance, [am.SPk(), am.UCB(), am.Challenger()], horizon=30, repetitions=2)
bandit = am.Bandit(am.Challenger(), am.Unconstrained(2), am.Bernoulli())
for _ in range(4):
    bandit.tell(bandit.ask(), 1.0)
print(notice.count)
"""


def test_a_filled_cache_is_enough() -> None:
    run(
        "import sys; from armature.cli.program import app; app(['compile', 'unconstrained'])",
        silent=False,
    )
    assert run(USE) == "0\n"


def test_without_it_there_is_something_to_compile(tmp_path: Path) -> None:
    code = (
        "import armature as am; from armature.kernels.compiling import notice\n"
        "am.Unconstrained(2).project([1, 2], [1, 1], am.Gaussian()); print(notice.count)"
    )
    assert int(run(code, ARMATURE_CACHE_DIR=str(tmp_path))) > 0


def test_every_kernel_of_the_library_can_be_kept() -> None:
    kernels = {
        value
        for info in pkgutil.walk_packages(am.__path__, "armature.")
        if not info.name.endswith("__main__")
        for value in vars(importlib.import_module(info.name)).values()
        if isinstance(value, Kernel)
    }
    assert len(kernels) > 200
    am.Unconstrained(2).project([1, 2], [1, 1], am.Gaussian())  # Numba has been taught by now
    for one in kernels:
        Fingerprint(one)


def test_every_structure_has_an_example_with_some_family() -> None:
    alone = [cls for cls in STRUCTURES.values() if not cls.examples()]
    assert alone == [am.Segments]  # which is compiled by steps of its own
    for cls in set(STRUCTURES.values()) - {*alone}:
        found = [example_of(cls.examples()[-1], f.examples()[0]) for f in FAMILIES.values()]
        assert any(found), cls


ALL = """
import armature.cli.fill_cache as compiling
from armature.cli.program import app

solve, played = compiling.solve_game, set()

def counted(instance, *arguments):
    solve(instance, *arguments)
    played.add(type(instance.structure).__name__)

compiling.solve_game = counted
app(["compile"], standalone_mode=False)
print(sorted(cls.__name__ for cls in compiling.STRUCTURES.values() if cls.__name__ not in played))
"""


def test_every_structure_can_be_filled() -> None:
    """Interpreted, which is the same steps; there is no game with rising means, or of segments."""
    last = run(ALL, silent=False, NUMBA_DISABLE_JIT="1").splitlines()[-1]
    assert last == "['Monotone', 'Segments']"


def test_what_can_not_be_filled_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(am.ArmatureError, match="there is no structure 'unimodel'"):
        checked_name("unimodel")
    assert checked_name("Unimodal") == "unimodal"
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("ARMATURE_CACHE_DIR", str(blocker))
    result = CliRunner().invoke(app, ["compile"])
    assert result.exit_code == 2
    assert "can't be written" in result.output.replace("\n", " ")


def test_warm_up_compiles_what_ask_and_tell_need() -> None:
    """And changes nothing."""
    bandit = am.Bandit(am.SPk(), am.Unconstrained(3), floor=0.01)
    before = bandit.to_json()
    bandit.warm_up()
    assert bandit.to_json() == before
    count = notice.count
    for _ in range(6):
        bandit.tell(bandit.ask(), 0.5)
        bandit.tell(bandit.ask(exclude=[0]), 0.5)
    assert notice.count == count
    assert am.Bandit(am.SPk(), am.Unconstrained(3)).ask() == 0


def test_one_sentence_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(notice, "on_wait", heard.append)
    monkeypatch.setattr(notice, "_spent", 0.0)
    monkeypatch.setattr(notice, "_said", False)
    with notice.compiling(kernel(checked_name)):
        assert heard == []
        monkeypatch.setattr(notice, "PATIENCE", 0.0)
        for _ in range(2):
            with notice.compiling(kernel(example_of)):
                pass
    (sentence,) = heard
    assert sentence.startswith("compiling what fill cache needs, once; ")


SLOW = """
from armature.kernels.compiling import notice
notice.PATIENCE = 0.0
import armature as am
am.Unconstrained(2).project([1, 2], [1, 1], am.Gaussian())
"""


@pytest.mark.parametrize("quiet", ["", "1"])
def test_a_terminal_is_told(tmp_path: Path, quiet: str) -> None:
    reader, writer = pty.openpty()
    environment = {**os.environ, "ARMATURE_CACHE_DIR": str(tmp_path), "ARMATURE_QUIET": quiet}
    done = subprocess.run(
        [sys.executable, "-c", SLOW], env=environment, stderr=writer, stdout=subprocess.PIPE
    )
    os.write(writer, b"end\n")
    heard = os.read(reader, 10_000).decode()
    assert done.returncode == 0
    assert done.stdout == b""
    expected = "" if quiet else "compiling the unconstrained oracles, once; kept for the next time"
    assert heard.split("\r\n")[0] == (expected or "end")


def test_a_pipe_is_not(tmp_path: Path) -> None:
    run(SLOW, ARMATURE_CACHE_DIR=str(tmp_path))
