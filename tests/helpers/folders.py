"""Running experiments into folders, for tests that look at what is there afterwards."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import armature as am
from armature.experiments.experiment import parse_experiments
from armature.experiments.run import Runner as Running
from armature.experiments.run import run_all
from armature.experiments.simulation import SimulationPlan
from armature.storage.files import write_text

SPEC = """
title = "three arms"
means = [0.2, 0.9, 0.4]
horizon = 80
repetitions = 12
seed = 5
policies = ["ucb", { kind = "ucb", width = 0.5 }]

[structure]
kind = "unconstrained"
"""


def draw_quickly(results: am.Results, path: Path) -> None:
    """A file in place of the picture, which is other for other results."""
    write_text(path, str({name: results.regret(name).sum() for name in results.names}))


def plans_of(spec: str, allow: tuple[str, ...] = ()) -> list[SimulationPlan]:
    """The simulations of a file: one, or one for each point of its sweep."""
    return [SimulationPlan.of(experiment) for experiment in parse_experiments(spec, allow)]


def quietly(said: io.StringIO | None = None, **options: Any) -> Running:
    """Who plays: without bars; what is said goes to `said`."""
    return Running(Console(file=said or io.StringIO(), width=10_000), quiet=True, **options)


class Runner:
    """Runs a spec into a folder; knows what was said, and which repetitions were played.

    Pictures are only hinted at: drawing takes most of the time.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.played: list[tuple[str, int]] = []
        play = SimulationPlan.play

        def noted(plan, policy, repetition, *rest):
            self.played.append((policy.name, repetition))
            return play(plan, policy, repetition, *rest)

        monkeypatch.setattr(SimulationPlan, "play", noted)
        monkeypatch.setattr(am.Results, "plot", draw_quickly)

    def __call__(self, out: Path, spec: str = SPEC) -> str:
        self.played.clear()
        said = io.StringIO()
        run_all(plans_of(spec), out, quietly(said, workers=2))
        return said.getvalue()


def content(folder: Path) -> dict[str, bytes]:
    """All files but for the parts and what a killed program has left."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".part" and not path.name.startswith(".armature-")
    }


def without_pictures(folder: Path) -> dict[str, bytes]:
    """The same but for pictures of points, which other processes draw as they are."""
    found = content(folder)
    for name in [name for name in found if name.endswith("/regret.png")]:
        assert found.pop(name)
    for name in [name for name in found if name.endswith("/experiment.json")]:
        found[name] = found[name].partition(b'"made"')[0]
    return found


def changed(spec: str, old: str, new: str) -> str:
    assert old in spec
    return spec.replace(old, new)
