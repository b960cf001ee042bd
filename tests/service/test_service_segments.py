"""Segments over HTTP: decided as the library decides, kept, replayed, shown; and old databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from serving import in_plain_python, query, serving, sqlite_in

import armature as am
from armature.client import Client, ServiceError
from armature.service.db import maintenance
from armature.service.db.database import open_database, writing
from armature.service.domain import replay
from armature.service.domain.log import export_log
from armature.service.domain.tables import worth_of_segments

ARMS = [4.99, 6.99, 8.99]
NAMES = ["mobile", "desktop"]
SPEC = {
    "structure": {"kind": "unimodal"},
    "policy": "challenger",
    "labels": ARMS,
    "segments": {"names": NAMES, "coupling": {"kind": "additive"}},
    "rewards": {"window": 3600, "default": None},
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are short."""
    in_plain_python(monkeypatch)


def refused(call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(ServiceError) as caught:
        call(*arguments, **options)
    assert caught.value.code in (409, 422), caught.value
    return f"{caught.value.code} {caught.value}"


def test_it_decides_as_the_library_does(storage: str) -> None:
    """Decision by decision, beside a bandit of the library; with late rewards and a new segment."""
    rng = np.random.default_rng(1)
    table = am.Segments(NAMES, each=am.Unimodal(3), coupling=am.Additive())
    own: Any = am.Bandit(am.Challenger(), table, labels=ARMS)
    with serving(storage) as url, Client(url) as client:
        client.create("prices", SPEC)
        waiting = []
        for step in range(60):
            if step == 30:
                assert len(client.change("prices", add_segment="tablet")["segments"]) == 3
                own.add_segment("tablet")
                client.change("prices", add_segment="tablet")  # again: nothing changes
            names = [*NAMES, "tablet"] if step >= 30 else NAMES
            segment = names[int(rng.integers(len(names)))]
            made = client.decide("prices", segment=segment)
            assert made.arm == own.ask(segment=segment)
            assert made.segment == segment
            waiting.append(made)
            while waiting and rng.random() < 0.6:
                one = waiting.pop(int(rng.integers(len(waiting))))
                value = ARMS.index(one.arm) * 0.5 + float(rng.normal())
                client.reward(one.id, value)
                own.tell(one.arm, value, segment=one.segment)
        made = client.decide("prices", segment="desktop")
        client.cancel(made.id)
        own.ask(segment="desktop")
        own.cancel(made.arm, segment="desktop")
        shown = client.experiment("prices")["segments"]
        assert [[arm["pulls"] for arm in part["arms"]] for part in shown] == own.pulls.tolist()
        assert [[arm["pending"] for arm in part["arms"]] for part in shown] == own.pending.tolist()
        said = client.explain("prices", "tablet")["summary"]
        assert said == own.explain(segment="tablet").summary
        bound = client.bound("prices")
        assert np.array(bound["pulls"]).shape == (3, 3)
        events = list(client.events("prices"))
    assert {e["segment"] for e in events if e["kind"] in ("asked", "told")} == {*NAMES, "tablet"}
    assert sum(e["kind"] == "new segment" for e in events) == 1
    assert query(storage, "SELECT DISTINCT segment FROM decision ORDER BY 1") == [(0,), (1,), (2,)]
    engine = open_database(storage)
    with engine.connect() as connection:
        loaded = replay.load(connection, 1)
        assert loaded is not None
        rebuilt = replay.rebuild(connection, 1, loaded.spec)
        assert loaded.replica.as_text() == rebuilt.as_text()
        again = replay.replica_of(rebuilt.as_text(), ())
        assert again.as_text() == rebuilt.as_text()
        assert rebuilt.divergences == 0
        assert rebuilt.bandit.pulls.tolist() == own.pulls.tolist()
    engine.dispose()


def test_which_segment(file_storage: str) -> None:
    with serving(file_storage) as url, Client(url) as client:
        client.create("prices", SPEC)
        assert "say which segment it is for: 'mobile', 'desktop'" in refused(
            client.decide, "prices"
        )
        said = refused(client.decide, "prices", segment="watch")
        assert said.startswith("422 there is no segment 'watch'")
        assert "no segment" in refused(client.explain, "prices", "watch")
        assert "do not come or go" in refused(client.add_arm, "prices", 7.99, after=6.99)
        assert "do not come or go" in refused(client.retire_arm, "prices", 6.99)
        client.decide("prices", segment="mobile", request_id="r")
        assert "segment = 'mobile'" in refused(
            client.decide, "prices", segment="desktop", request_id="r"
        )
        said = refused(client.change, "prices", floor=0.5, add_segment="watch")
        assert "floor" in said
        assert len(client.experiment("prices")["segments"]) == 2  # all or nothing
        otherwise = {**SPEC["segments"], "otherwise": "desktop"}
        client.create("kind", {**SPEC, "segments": otherwise, "floor": 0.1})
        assert client.decide("kind", segment="watch").segment == "desktop"
        assert client.decide("kind").segment == "desktop"
        client.change("kind", add_segment="watch")
        assert client.decide("kind", segment="watch").segment == "watch"
        assert client.experiment("kind")["floor"] == 0.1
        plain = {key: value for key, value in SPEC.items() if key != "segments"}
        client.create("plain", plain)
        assert "has no segments" in refused(client.decide, "plain", segment="mobile")
        assert "has no segments" in refused(client.change, "plain", add_segment="mobile")
        answer = httpx.post(f"{url}/v1/experiments/plain/decisions", json={})
        assert set(answer.json()["decisions"][0]) == {"id", "arm", "probability"}


def test_units_keep_their_arm_in_each_segment(storage: str) -> None:
    with serving(storage) as url, Client(url) as client:
        client.create("prices", SPEC)
        first = client.decide("prices", segment="mobile", unit="u")
        client.decide("prices", segment="mobile")
        other = client.decide("prices", segment="desktop", unit="u")
        assert client.decide("prices", segment="mobile", unit="v").arm != first.arm
        assert client.decide("prices", segment="mobile", unit="u").arm == first.arm
        assert client.decide("prices", segment="desktop", unit="u").arm == other.arm
        kinds = [event["kind"] for event in client.events("prices")]
    assert kinds == ["created", "asked", "asked", "asked", "asked", "kept", "kept"]
    found = query(storage, "SELECT unit, segment FROM assignment ORDER BY 1, 2")
    assert found == [("u", 0), ("u", 1), ("v", 0)]


def test_what_is_exported(file_storage: str, tmp_path: Path) -> None:
    with serving(file_storage) as url, Client(url) as client:
        client.create("prices", SPEC)
        client.change("prices", add_segment="tablet")
        for name in (*NAMES, "tablet"):
            client.reward(client.decide("prices", segment=name).id, 1.0)
    engine = open_database(file_storage)
    assert export_log(engine, "prices", tmp_path / "log.parquet") == 3
    engine.dispose()
    assert pd.read_parquet(tmp_path / "log.parquet")["segment"].tolist() == [*NAMES, "tablet"]


def test_what_it_is_worth() -> None:
    """Of two arms whose means differ alike in all segments, by what is known of a difference.

    With n and m rewards it is known as from n m / (n + m) pairs; these add up over segments.
    """
    table = am.Segments("abc", each=am.Unconstrained(2), coupling=am.Additive())
    bandit: Any = am.Bandit(am.Challenger(), table)
    counts = {"a": (30, 50), "b": (4, 4), "c": (7, 0)}
    for name, (n, m) in counts.items():
        for arm, times in enumerate((n, m)):
            bandit.tell([arm] * times, [float(arm) + 0.1 * (i % 3) for i in range(times)],
                        segment=name)  # fmt: skip
    pairs = {name: n * m / (n + m) for name, (n, m) in counts.items()}
    a, b, c = worth_of_segments(bandit)
    assert (a.own, b.own, c.own) == (80, 8, 7)
    assert a.effective == pytest.approx(80 * sum(pairs.values()) / pairs["a"], rel=1e-6)
    assert b.effective == pytest.approx(8 * sum(pairs.values()) / pairs["b"], rel=1e-6)
    assert c.effective == np.inf
    assert (a.share, c.share) == (pytest.approx(pairs["a"] / sum(pairs.values())), 0.0)
    alone: Any = am.Bandit(am.Challenger(), am.Segments("ab", each=am.Unconstrained(2)))
    assert [one.effective for one in worth_of_segments(alone)] == [None, None]


def test_the_page_shows_them_side_by_side(
    file_storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armature.service.page.viewing.FRESH", -1.0)
    html = {"Accept": "text/html"}
    with serving(file_storage) as url, Client(url) as client:
        client.create("prices", SPEC)
        assert "no rewards yet" in httpx.get(f"{url}/experiments/prices", headers=html).text
        rng = np.random.default_rng(0)
        for name in (*NAMES * 6, "mobile"):
            made = client.decide_many("prices", 3, segment=name)
            better = {8.99: 2.0}
            client.rewards([(d.id, better.get(d.arm, 0.0) + float(rng.normal())) for d in made])
        client.change("prices", add_segment="<b>tablet</b>")
        page = httpx.get(f"{url}/experiments/prices", headers=html, timeout=60).text
        worth = client.experiment("prices")["segments"]
        listed = httpx.get(url, headers=html, timeout=60).text
    for name in NAMES:
        assert f">{name}</h2>" in page
    assert "<b>tablet" not in page
    assert "What each learns from the others" in page
    assert f"<td>{int(worth[0]['effective']):,}</td>" in page
    assert "all is borrowed" in page
    assert "Do segments have that in common?" in page
    assert page.count('class="chart arms"') == 3
    assert "3 segments" in listed


def test_a_database_from_before_segments(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is migrated with all that it has: units keep their arms, snapshots and logs are read."""
    engine = open_database(storage)
    monkeypatch.setattr(maintenance, "REVISION", "0001")
    maintenance.migrate(engine)
    monkeypatch.undo()
    rows = {
        "experiment": "(1, 'prices', :spec, 0, 'running', 3, 1, 1, 1.0)",
        "event": (
            "(1, 1, 'created', NULL, NULL, NULL, 1.0, :detail), "
            "(1, 2, 'asked', '1-2-00000000', 1, NULL, 2.0, NULL), "
            "(1, 3, 'told', '1-2-00000000', 1, 1.0, 3.0, NULL)"
        ),
        "decision": "('1-2-00000000', 1, 'r', 0, 'u', 1, 1.0, 2, NULL, 'told')",
        "reward": "('1-2-00000000', 1.0, 'applied')",
        "assignment": "(1, 'u', 1, NULL)",
    }
    spec = '{"structure": {"kind": "unconstrained", "n_arms": 2}, "policy": "klucb"}'
    with writing(engine) as connection:
        for table, values in rows.items():
            text = sa.text(f"INSERT INTO {table} VALUES {values}")
            names = [name for name in ("spec", "detail") if f":{name}" in values]
            connection.execute(text, dict.fromkeys(names, spec))
    engine.dispose()
    in_plain_python(monkeypatch)
    with serving(storage) as url, Client(url) as client:
        assert client.decide("prices", unit="u").arm == 1  # it keeps that
        assert client.decide("prices", unit="u", request_id="r").id == "1-2-00000000"
        assert client.reward("1-2-00000000", 1.0).status == "duplicate"
        assert client.experiment("prices")["arms"][1]["pulls"] == 1
        assert [event["segment"] for event in client.events("prices")] == [None] * 4
        client.create("table", SPEC)
        assert client.decide("table", segment="mobile", unit="u").segment == "mobile"
    found = query(storage, "SELECT experiment_id, unit, segment, arm FROM assignment ORDER BY 1")
    assert found == [(1, "u", 0, 1), (2, "u", 0, 0)]


def test_a_file_from_before_segments_is_whole(tmp_path: Path) -> None:
    """Nothing of the old table is left."""
    storage = sqlite_in(tmp_path)
    engine = open_database(storage)
    maintenance.migrate(engine)
    engine.dispose()
    tables = {name for (name,) in query(storage, "SELECT name FROM sqlite_master")}
    assert "assignment_before" not in tables
