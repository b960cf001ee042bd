"""Policies for tests of clusters: they sleep, fail, or kill the process that plays them.

They choose as if nothing had happened: what they find is the same whether they have died or not.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import armature as am


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Steady(am.PythonPolicy):
    """Pulls one arm after the other, and takes its time."""

    seconds: float = 0.0  # a round

    def choose(self, state, problem, history, rng):
        time.sleep(self.seconds)
        return int(history.clock[0] * 7 % 5) % history.pulls.size


@dataclass(frozen=True)
class Dying(am.PythonPolicy):
    """Kills its process in the 30th round, or when its part is about to be written or just was.

    Each time it leaves a file in a folder, and no more often than `times`.
    """

    folder: str
    when: str = "computing"
    times: int = 1

    def choose(self, state, problem, history, rng):
        if history.clock[0] == 30 and len(os.listdir(self.folder)) < self.times:
            (Path(self.folder) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
            if self.when == "computing":
                die()
            rename = os.replace

            def replace(*paths: object) -> None:
                if self.when == "just written":
                    rename(*paths)  # type: ignore[arg-type]
                die()

            os.replace = replace  # type: ignore[assignment]
        return int(history.clock[0] % history.pulls.size)


@dataclass(frozen=True)
class Failing(am.PythonPolicy):
    """Raises an exception while its folder is there, and leaves a file for each time."""

    folder: str

    def choose(self, state, problem, history, rng):
        if history.clock[0] == 30 and os.path.isdir(self.folder):
            (Path(self.folder) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
            raise ZeroDivisionError("a mistake of the policy's")
        return int(history.clock[0] % history.pulls.size)
