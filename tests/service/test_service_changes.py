"""Rewards that change, over HTTP: noticed, begun anew, forgotten, switched, replayed and shown."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from serving import in_plain_python, serving

import armature as am
from armature.client import Client, ServiceError
from armature.service.db.database import open_database
from armature.service.domain import replay

SPEC = {
    "structure": {"kind": "unconstrained", "n_arms": 2},
    "family": "bernoulli",
    "policy": "challenger",
    "rewards": {"window": 3600, "default": None},
}
AT = 160  # rewards before the change


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are short."""
    in_plain_python(monkeypatch)


def play(client: Client, own: Any, rounds: int, start: int = 0, seed: int = 3) -> None:
    """Rounds in which the best arm changes, beside a bandit of the library that must agree."""
    rng = np.random.default_rng([seed, start])
    done = 0
    while done < rounds:
        made = client.decide_many("prices", 8)
        assert [one.arm for one in made] == own.ask(8)
        good = 0 if start + done < AT else 1
        values = [float(rng.random() < (0.9 if one.arm == good else 0.1)) for one in made]
        client.rewards([(one.id, value) for one, value in zip(made, values, strict=True)])
        own.tell([one.arm for one in made], values)
        done += 8


def rebuilt(storage: str) -> Any:
    """The experiment from its log, the same as it is kept."""
    engine = open_database(storage)
    with engine.connect() as connection:
        loaded = replay.load(connection, 1)
        assert loaded is not None
        found = replay.rebuild(connection, 1, loaded.spec)
        assert loaded.replica.as_text() == found.as_text()
        assert replay.replica_of(found.as_text(), ()).as_text() == found.as_text()
    engine.dispose()
    assert found.divergences == 0
    return found


def changes_in(client: Client) -> list[dict[str, Any]]:
    return [event for event in client.events("prices") if event["kind"] == "changed"]


def test_noticed(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the log once, and no decision depends on it."""
    monkeypatch.setattr("armature.service.page.viewing.FRESH", -1.0)
    own = am.Bandit(am.Challenger(), am.Unconstrained(2), am.Bernoulli())
    html = {"Accept": "text/html"}
    with serving(storage) as url, Client(url) as client:
        client.create("prices", SPEC)
        play(client, own, AT)
        assert changes_in(client) == []
        assert "Rewards changed" not in httpx.get(f"{url}/experiments/prices", headers=html).text
        play(client, own, 120, AT)
        (event,) = changes_in(client)
        assert abs(event["value"] - AT) < 24
        assert "until about decision" in event["detail"]["words"]
        shown = client.experiment("prices")
        assert shown["changes"] == "notice"
        assert shown["changed"] == [{"since": event["value"], "segment": None}]
        page = httpx.get(f"{url}/experiments/prices", headers=html).text
    assert 'class="changed"' in page  # in the charts
    assert "All numbers here are of both times together." in page
    found = rebuilt(storage)
    assert found.changed == {0: event["value"]}
    change = own.change()
    assert change is not None


def test_begun_anew(storage: str) -> None:
    """As the library's policy does that restarts; the log says when."""
    policy = am.Restarting(am.Challenger())
    own = am.Bandit(policy, am.Unconstrained(2), am.Bernoulli())
    with serving(storage) as url, Client(url) as client:
        assert client.create("prices", {**SPEC, "changes": "restart"})["spec"]["changes"]
        play(client, own, AT)
        play(client, own, 120, AT)
        (event,) = changes_in(client)
        assert event["value"] == policy.restarted(own._decisions.state)
        assert client.experiment("prices")["changes"] == "restart"
        belief = client.explain("prices")
        page = httpx.get(f"{url}/experiments/prices", headers={"Accept": "text/html"}).text
    assert belief["leader"] == 1
    assert f"after the first {event['value']:,.0f} rewards" in page
    assert "rewards since the change" in page
    assert page.count('class="changed"') == 1  # in the traffic; what was earned is since then
    assert rebuilt(storage).changed == {0: event["value"]}


def test_switched(storage: str) -> None:
    """From then on it decides as one that restarts and was told what is known; and back."""
    own = am.Bandit(am.Challenger(), am.Unconstrained(2), am.Bernoulli())
    with serving(storage) as url, Client(url) as client:
        client.create("prices", SPEC)
        play(client, own, 80)
        known = {"counts": own.pulls.tolist(), "sums": (own.pulls * own.means).round().tolist()}
        client.change("prices", changes="restart")
        client.change("prices", changes="restart")  # again: nothing changes
        restarting = am.Restarting(am.Challenger())
        again = am.Bandit(restarting, am.Unconstrained(2), am.Bernoulli(), history=known)
        play(client, again, 80, 80)
        play(client, again, 120, AT)
        assert restarting.restarted(again._decisions.state) is not None
        assert client.explain("prices")["leader"] == 1
        client.change("prices", changes="notice")
        client.decide("prices")
        kinds = [event["kind"] for event in client.events("prices")]
        assert kinds.count("when changed") == 2
        assert kinds.count("changed") == 1
        segments = {"names": ["a", "b"]}
        client.create("table", {**SPEC, "segments": segments})
        with pytest.raises(ServiceError, match="settled where there are segments"):
            client.change("table", changes="restart")
    assert rebuilt(storage).changes == "notice"


def test_an_arm_that_is_added_again_after_another(storage: str) -> None:
    """As by a client that got no answer: it is there, wherever it would be added now."""
    with serving(storage) as url, Client(url) as client:
        labels = ["a", "b", "c"]
        spec = {**SPEC, "structure": {"kind": "unimodal"}, "labels": labels}
        client.create("prices", spec)
        client.add_arm("prices", "d", after="c")
        client.add_arm("prices", "e", before="d")
        client.add_arm("prices", "d", after="c")  # "e" stands between them now
        with pytest.raises(ServiceError, match="d"):
            client.add_arm("prices", "d", after="a")
        kinds = [event["kind"] for event in client.events("prices")]
        assert [arm["label"] for arm in client.experiment("prices")["arms"]] == [*labels, "e", "d"]
    assert kinds == ["created", "arm added", "arm added"]
    assert rebuilt(storage).added == {3: {"after": "c"}, 4: {"before": "d"}}


def test_forgotten(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By number as the library forgets; by the clock of the database, also from the log."""
    own = am.Bandit(am.Challenger(), am.Unconstrained(2), am.Bernoulli(), forget=40)
    with serving(storage) as url, Client(url) as client:
        client.create("prices", {**SPEC, "forget": 40})
        play(client, own, 80)
    rebuilt(storage)


def test_forgotten_by_the_clock(storage: str) -> None:
    with serving(storage) as url, Client(url) as client:
        client.create("prices", {**SPEC, "forget": "1s"})
        for _ in range(6):
            client.reward(client.decide("prices").id, 1.0)
        at = [event["at"] for event in client.events("prices")]
    found = rebuilt(storage)
    fading = found.bandit._outstanding.fading
    assert fading.seconds == 1.0
    assert fading.now == at[-1]
    weight = sum(2.0 ** -(at[-1] - asked) for asked in at[1::2])  # a reward is as old as its ask
    assert float(found.bandit._decisions.basis.pulls.sum()) == pytest.approx(weight, rel=1e-9)
