"""`armature demo`: visitors come, rewards come late, twice or never, and the program serves."""

from __future__ import annotations

import dataclasses
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import PATIENCE, obeying
from serving import free_port, in_plain_python, serving, sqlite_in

import armature as am
from armature.cli import demo
from armature.client import Client
from armature.errors import ArmatureError


def test_visitors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "LOST", 0.1)
    monkeypatch.setattr(demo, "TWICE", 0.2)
    with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
        story = demo.prices()
        client.create(story.name, story.spec)
        crowd = demo.Crowd(story, client, 0)
        for _ in range(10):
            crowd.step(20)
        client.change("Prices", status="paused")
        for _ in range(demo.DELAY + 1):
            crowd.step(5)  # nobody is served, and rewards still come
        assert 150 < client.experiment("Prices")["rounds"] < 195  # some never do
        assert client.experiment("Prices")["decisions"] == 200


def test_all_experiments_have_visitors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stories = [dataclasses.replace(demo.prices(), name=name) for name in ("first", "second")]
    monkeypatch.setattr(demo, "STORIES", [lambda story=story: story for story in stories])
    monkeypatch.setattr(demo, "STEP", 0.01)
    stopping = threading.Event()
    with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
        visitors = threading.Thread(target=demo.Street(url, stopping).visit)
        visitors.start()
        while [row["rounds"] >= 5 for row in client.experiments()] != [True, True]:
            assert visitors.is_alive()
            time.sleep(0.02)
        stopping.set()
        visitors.join()


@pytest.mark.parametrize("story", demo.STORIES, ids=lambda story: story.__name__)
def test_the_stories_are_true(story: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is simulated fits the structure that the spec claims, in segments and together."""
    from armature.service.domain.spec import parse_spec
    from armature.service.limits import ServiceLimits

    monkeypatch.setattr(demo, "RIVAL_COMES", np.inf)
    told = story()  # type: ignore[operator]
    spec = parse_spec(told.spec, (), ServiceLimits())
    rng = np.random.default_rng(5)
    known = spec.table or spec.structure
    if spec.table:
        in_plain_python(monkeypatch)
    bandit: Any = am.Bandit(am.UCB(), known, spec.family, labels=spec.labels)
    assert list(told.segments) == (bandit.segments if spec.table else [])
    for segment in told.segments or [None]:
        one = bandit if segment is None else bandit.of(segment)
        for label in spec.labels:
            one.tell([label] * 4000, [told.reward(label, segment, rng) for _ in range(4000)])
    assert not bandit.evidence().refuted
    assert bandit.evidence().doubt < 5.0


def test_ports() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ArmatureError, match="taken"):
            demo.free_port(taken.getsockname()[1])
    assert demo.free_port(None) > 0


def test_the_program(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "armature", "demo", "--no-open", "--port", str(port)]
    process = subprocess.Popen(obeying(command), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        with Client(f"http://127.0.0.1:{port}", retries=20) as client:
            while not any(row["rounds"] for row in client.experiments()):
                assert process.poll() is None
                time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert f"http://127.0.0.1:{port}" in said
        assert "Traceback" not in said
        assert list(tmp_path.iterdir()) == []
    finally:
        process.kill()
        process.wait()
