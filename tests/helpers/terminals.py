"""The command line in a process of its own: through pipes, and on a terminal of a given width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import armature as am

PACKAGE = str(Path(am.__file__).parent.parent)
ARMATURE = [sys.executable, "-P", "-m", "armature"]  # -P: as the installed command, not in a folder


def environment(**more: str) -> dict[str, str]:
    """Kernels interpreted: small runs need no compiler."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR")}
    return {**inherited, "PYTHONPATH": PACKAGE, "NUMBA_DISABLE_JIT": "1", **more}


def piped(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What the command answers through pipes."""
    return subprocess.run(
        [*ARMATURE, *arguments], cwd=folder, env=environment(**more), capture_output=True,
        encoding="utf-8", check=False,
    )  # fmt: skip


def on_terminal(folder: Path, columns: int, *arguments: str) -> str:
    """What a terminal of so many columns gets to see of the answer, its colours left out."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [*ARMATURE, *arguments], cwd=folder, env=environment(TERM="xterm"),
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(theirs)
    content = b""
    try:
        while part := os.read(ours, 1 << 16):
            content += part
    except OSError:  # how Linux says that the other side has gone
        pass
    os.close(ours)
    _, complaints = process.communicate()
    assert process.returncode == 0, complaints.decode()
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", content.decode())
