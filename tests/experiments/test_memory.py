"""More runs than the memory holds are refused before anything is made room for."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments import plan

INSTANCE = am.Instance(am.Unimodal(3), [0.1, 0.9, 0.5])
HUGE = (10**9, 10**12, 2**53)
SPEC = """
means = [0.1, 0.9, 0.5]
horizon = 100
repetitions = {repetitions}
policies = ["ucb"]

[structure]
kind = "unimodal"
n_arms = 3
"""


@pytest.mark.parametrize("repetitions", HUGE)
def test_huge_repetitions(repetitions: int) -> None:
    with pytest.raises(am.ArmatureError, match="repetitions of 2 policies take about"):
        am.simulate(INSTANCE, [am.UCB(), am.IMED()], 1000, repetitions)
    with pytest.raises(am.ArmatureError, match=r"this machine has \d.* give fewer repetitions\."):
        am.identify(INSTANCE, [am.TopTwo()], repetitions=repetitions)


def test_huge_numbers_of_replays_and_draws() -> None:
    log = pd.DataFrame({"arm": [0, 1, 2] * 4, "reward": [0.5, 1.0, 0.0, 0.1, 0.9, 0.2] * 2})
    with pytest.raises(am.ArmatureError, match=r"repetitions of 1 policies take .* fewer rep"):
        am.replay(log, am.UCB(), am.Unimodal(3), repetitions=10**11)
    with pytest.raises(am.ArmatureError, match=r"1,000,000,000,000 draws take .* give fewer draws"):
        am.assess(log, am.Unimodal(3), draws=10**12)


def test_the_memory_is_for_all_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two policies, and not for three."""
    one = sum(a.nbytes for a in vars(am.simulate(INSTANCE, [am.UCB()], 50, 1).runs["UCB"]).values())
    monkeypatch.setattr(plan, "memory", lambda: 25 * (one + plan.OF_TASK))
    am.simulate(INSTANCE, [am.UCB(), am.IMED()], 50, 10)
    with pytest.raises(am.ArmatureError, match="10 repetitions of 3 policies"):
        am.simulate(INSTANCE, [am.UCB(), am.IMED(), am.KLUCB()], 50, 10)


def test_a_system_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.sysconf")
    assert plan.memory() == 10**12


@pytest.mark.parametrize("repetitions", HUGE)
@pytest.mark.parametrize("command", ["run", "identify"])
def test_of_a_file(repetitions: int, command: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.format(repetitions=repetitions))
    found = CliRunner().invoke(app, [command, str(spec), "--out", str(tmp_path / "out")])
    assert found.exit_code == 2
    assert "give fewer repetitions" in " ".join(found.output.split())
