"""Python in a process of its own: what is compiled, cached and imported starts from nothing.

A process inherits which signals are ignored. Whoever starts the tests in the background (`nohup`,
many build systems) ignores SIGINT, so a test that sends a signal starts its process with `obeying`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 600.0  # seconds until what does not happen is a failure; a busy machine is none

_OBEY = (
    "import os, signal, sys\n"
    "for sent in (signal.SIGINT, signal.SIGTERM): signal.signal(sent, signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def obeying(command: Sequence[str]) -> list[str]:
    """The same command, started in a way that SIGINT and SIGTERM end it, whoever ignores them.

    The process keeps its number: what is sent to it reaches the command.
    """
    return [sys.executable, "-c", _OBEY, *command]


def run(code: str, *, cwd: Path | None = None, silent: bool = True, **environment: str) -> str:
    """What the code prints; it must succeed, and say nothing on the side if it is to be silent."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not (silent and result.stderr), result.stderr
    return result.stdout
