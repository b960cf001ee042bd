"""Python in a process of its own: what is compiled, cached and imported starts from nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


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
