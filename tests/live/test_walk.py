"""How far a decision is from `ask` to the policy: few files, and three hand-overs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import armature as am

PACKAGE = f"{Path(am.__file__).parent}{os.sep}"


def walk(bandit: am.Bandit) -> tuple[set[str], list[str]]:
    """The files of the package that a decision enters, and the calls that lead to the policy."""
    files: set[str] = set()
    chain: list[str] = []
    to_policy: list[str] = []

    def hook(frame: FrameType, event: str, _: object) -> None:
        nonlocal to_policy
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return
        if event == "call":
            files.add(code.co_filename[len(PACKAGE) :])
            chain.append(code.co_name)
            if code.co_name == "__call__":  # of a kernel
                to_policy = chain.copy()
        elif event == "return":
            chain.pop()

    sys.setprofile(hook)
    try:
        bandit.ask()
    finally:
        sys.setprofile(None)
    return files, to_policy


@pytest.mark.parametrize("waiting", [0, 1, 3])
def test_a_decision_is_three_hand_overs_away(waiting: int) -> None:
    angles = np.linspace(0.0, 5.0, 6)
    structure = am.Linear(np.column_stack([np.cos(angles), np.sin(angles)]))
    bandit = am.Bandit(am.Challenger(), structure)
    bandit.warm_up()
    bandit.tell([0, 1, 2], [0.1, 0.2, 0.3])
    for _ in range(waiting):
        bandit.ask()
    files, chain = walk(bandit)
    assert len(files) <= 9, sorted(files)
    assert chain == ["ask", "choose", "next", "__call__"]  # the last is the policy's own `choose`
