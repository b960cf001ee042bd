"""Walks: how many files of the package one act enters, and how often one file calls another.

    python benchmarks/walks.py                      # all walks
    python benchmarks/walks.py simulate ray --list  # some of them, with the files
    PYTHONPATH=../other/src python benchmarks/walks.py  # of another tree

A walk does its act twice. The first time compiles and imports; the second is counted: the files
whose functions are called, in any thread of this process, compiled kernels and imports aside; and
the hand-overs, calls of a function in one of these files from another (a coroutine that goes on
counts as called again).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

LOGS = Path(__file__).parent.parent / "examples" / "logs"
PEAK = [0.2, 0.4, 0.9, 0.7, 0.1]
BEFORE = {"lower_bound": 22, "ask": 15, "simulate": 30, "http": 21, "assess": 102, "ray": 60}
SPEC = """
means = [0.2, 0.4, 0.9, 0.7, 0.1]
horizon = 500
repetitions = 4
policies = ["challenger", "ucb"]
[structure]
kind = "unimodal"
"""


class Files:
    """The files of the package that are entered while it counts, and the hand-overs."""

    def __init__(self, package: Path) -> None:
        self._root, self._found, self._counts = f"{package}{os.sep}", set[str](), False
        self.handovers = 0

    def hook(self, frame: FrameType, event: str, _: object) -> None:
        """Take note of a call; `sys.setprofile` calls this."""
        if self._counts and event == "call":
            code = frame.f_code
            if code.co_filename.startswith(self._root) and code.co_name != "<module>":
                self._found.add(code.co_filename[len(self._root) :])
                self.handovers += self._caller(frame) not in (None, code.co_filename)

    def _caller(self, frame: FrameType) -> str | None:
        """The file of the package that called, perhaps through other packages; None if none did."""
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self._root):
            caller = caller.f_back
        return None if caller is None else caller.f_code.co_filename

    def entered(self, act: Callable[[], object]) -> list[str]:
        """The files that an act enters, once everything is compiled and imported."""
        act()
        self._found.clear()
        self.handovers, self._counts = 0, True
        sys.setprofile(self.hook)
        try:
            act()
        finally:
            sys.setprofile(None)
            self._counts = False
        return sorted(self._found)


@contextlib.contextmanager
def lower_bound() -> Iterator[Callable[[], object]]:
    """The lower bound of a problem with one peak and Gaussian rewards."""
    import armature as am

    yield lambda: am.lower_bound(am.Instance(am.Unimodal(5), PEAK))


@contextlib.contextmanager
def ask() -> Iterator[Callable[[], object]]:
    """A decision of Challenger on a linear structure."""
    import armature as am

    bandit = am.Bandit(am.Challenger(), am.Linear([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    bandit.tell([0, 1, 2], [0.1, 0.2, 0.3])
    yield bandit.ask


@contextlib.contextmanager
def simulate() -> Iterator[Callable[[], object]]:
    """A simulation of two policies on a problem with one peak."""
    import armature as am

    def act() -> object:
        instance = am.Instance(am.Unimodal(5), PEAK)
        return am.simulate(instance, [am.Challenger(), am.UCB()], horizon=500, repetitions=4)

    yield act


@contextlib.contextmanager
def http() -> Iterator[Callable[[], object]]:
    """A decision over HTTP, of a server in this process."""
    import httpx

    with tempfile.TemporaryDirectory() as folder, _serving(folder) as address:
        spec = {"structure": {"kind": "unimodal", "n_arms": 4}, "policy": "challenger"}
        with httpx.Client(base_url=f"{address}/v1") as client:
            made = client.post("/experiments", json={"name": "prices", "spec": spec}, timeout=600)
            assert made.status_code == 201, made.text

            def decide() -> None:
                answer = client.post("/experiments/prices/decisions", json={}, timeout=600)
                assert answer.status_code in (200, 201), answer.text

            yield decide


@contextlib.contextmanager
def assess() -> Iterator[Callable[[], object]]:
    """`armature assess` on a log, with a page."""
    with tempfile.TemporaryDirectory() as folder:
        log = [str(LOGS / "migraine.csv"), "--spec", str(LOGS / "migraine.toml"), "--draws", "2"]
        yield lambda: _command("assess", *log, "--out", f"{folder}/{time.monotonic_ns()}")


@contextlib.contextmanager
def ray() -> Iterator[Callable[[], object]]:
    """The program that asks in `armature run --engine ray`."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "spec.toml"
        spec.write_text(SPEC, encoding="utf-8")
        engine = ["--engine", "ray", "--workers", "1"]
        yield lambda: _command(
            "run", str(spec), *engine, "--out", f"{folder}/{time.monotonic_ns()}"
        )


WALKS = {act.__name__: act for act in (lower_bound, ask, simulate, http, assess, ray)}


def _command(*arguments: str) -> None:
    """Run a command in this process, and show nothing of it but its errors."""
    from armature.cli import main

    shown, given = io.StringIO(), sys.argv
    sys.argv = ["armature", *arguments]
    try:
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            main()
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(shown.getvalue()) from None
    finally:
        sys.argv = given


@contextlib.contextmanager
def _serving(folder: str) -> Iterator[str]:
    """A server in a thread of this process, as `armature serve` runs it; its address."""
    import socket

    import uvicorn

    app, config = _service(f"sqlite:///{folder}/walk.db")
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(config(app, "127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def _service(storage: str) -> tuple[Any, Any]:
    """The application, and how it is served."""
    from armature.service.api.app import make_app
    from armature.service.api.server import config_of
    from armature.service.db.database import open_database
    from armature.service.db.maintenance import migrate

    engine = open_database(storage)
    migrate(engine)
    return make_app(engine, open_without_keys=True), config_of


def count(walk: str) -> list[str]:
    """The number of hand-overs of a walk in this process, and the files that it enters."""
    import armature

    files = Files(Path(armature.__file__).parent)
    threading.setprofile(files.hook)  # of the threads that begin from now on
    with WALKS[walk]() as act:
        found = files.entered(act)
        return [str(files.handovers), *found]


def main() -> None:
    """Count the walks that are named, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("walks", nargs="*", metavar="WALK", help=", ".join(WALKS))
    parser.add_argument("--list", action="store_true", help="name the files as well")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [walk for walk in options.walks if walk not in WALKS]:
        parser.error(f"there is no walk {unknown[0]!r}: there are {', '.join(WALKS)}")
    if options.here:
        print("\n".join(count(options.walks[0])))
        return
    for walk in options.walks or WALKS:
        command = [sys.executable, __file__, walk, "--here"]
        machine_code = {**os.environ, "ARMATURE_GEAR": "compiled"}  # from the first call on
        done = subprocess.run(
            command, env=machine_code, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{walk}: {done.stderr}")
        handovers, *found = done.stdout.split()
        wanted = f"at most {2 * BEFORE[walk] // 3} wanted"
        print(f"{walk:<12} {len(found):>3} files ({wanted}), {handovers:>4} hand-overs")
        if options.list:
            print("".join(f"    {name}\n" for name in found), end="")


if __name__ == "__main__":
    main()
