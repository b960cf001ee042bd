"""A cluster that plays at once, in this process: what the program that asks does with it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from folders import SPEC, content, draw_quickly, plans_of, quietly, without_pictures
from test_sweep import SWEEP

import armature as am
from armature.experiments.identification import IdentificationPlan
from armature.experiments.plan import run_in_memory
from armature.experiments.run import run_all
from armature.experiments.simulation import SimulationPlan
from armature.experiments.sweep import point_folder


class Cluster:
    """Takes the place of the module `ray`; counts how often it is opened and closed."""

    exceptions = SimpleNamespace(RayError=ConnectionError, RayTaskError=ConnectionError)

    def __init__(self) -> None:
        self.opened, self.closed = 0, 0

    def is_initialized(self) -> bool:
        return self.opened > self.closed

    def init(self, **_: Any) -> None:
        self.opened += 1

    def shutdown(self) -> None:
        self.closed += 1

    def remote(self, **_: Any) -> Callable[[Any], Any]:
        def task(play: Callable[..., Any]) -> Any:
            once = SimpleNamespace(remote=lambda *words: (play, words))
            return SimpleNamespace(remote=once.remote, options=lambda **_: once)

        return task

    def put(self, value: Any) -> Any:
        return value

    def wait(self, waiting: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        return waiting[:1], []

    def get(self, reference: Any) -> Any:
        play, words = reference
        return play(*words)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    monkeypatch.setitem(sys.modules, "ray", found)  # type: ignore[arg-type]
    monkeypatch.setattr(am.Results, "plot", draw_quickly)
    return found


@pytest.mark.parametrize("spec", [SPEC, SWEEP], ids=["one", "sweep"])
def test_it_is_opened_once_for_all_points(cluster: Cluster, tmp_path: Path, spec: str) -> None:
    run_all(plans_of(spec), tmp_path / "cluster", quietly(engine="ray"))
    assert (cluster.opened, cluster.closed) == (1, 1)
    run_all(plans_of(spec), tmp_path / "threads", quietly(workers=2))
    seen = content if spec == SPEC else without_pictures
    assert seen(tmp_path / "cluster") == seen(tmp_path / "threads")
    assert (cluster.opened, cluster.closed) == (1, 1)


def identifications(*seeds: int) -> list[IdentificationPlan]:
    return [
        IdentificationPlan(
            instance=am.Instance(am.Unimodal(3), [0.0, 1.0, 0.5]),
            policies=(am.TopTwo(),),
            horizon=500,
            repetitions=3,
            seed=seed,
            point={"seed": seed},
            deltas=(0.2,),
            threshold="practical",
        )
        for seed in seeds
    ]


def test_it_is_opened_once_for_all_identifications(cluster: Cluster, tmp_path: Path) -> None:
    points = identifications(1, 2)
    run_all(points, tmp_path / "cluster", quietly(engine="ray"))
    assert (cluster.opened, cluster.closed) == (1, 1)
    run_all(points, tmp_path / "threads", quietly(workers=2))
    name = f"{point_folder({'seed': 2})}/identification.parquet"
    assert content(tmp_path / "cluster")[name] == content(tmp_path / "threads")[name]


def test_progress_counts_the_rounds_that_were_played(cluster: Cluster) -> None:
    """A run that stops early has not had all rounds that it might have had."""
    (plan,) = identifications(1)
    simulation = SimulationPlan(
        instance=plan.instance, policies=(am.UCB(),), horizon=50, repetitions=3, seed=1
    )
    for one in (plan, simulation):
        rounds: dict[str, list[int]] = {"ray": [], "threads": []}
        for engine, told in rounds.items():
            run_in_memory(one, 1, lambda *words, t=told: t.append(words[2]), engine, None)
        assert sum(rounds["ray"]) == sum(rounds["threads"]) > 0
