"""The service over HTTP, on SQLite and on PostgreSQL: what each request does, and does once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from processes import PATIENCE
from serving import PRICES, query, serving, sqlite_in

import armature as am
from armature.client import AsyncClient, Client, ServiceError, UnreachableError
from armature.service.db.database import open_database
from armature.service.domain import replay
from armature.service.domain.commands import RETIRED


@pytest.fixture
def client(storage: str) -> Iterator[Client]:
    with serving(storage) as url, Client(url) as client:
        yield client


def make(client: Client, name: str = "prices", **spec: Any) -> str:
    client.create(name, {**PRICES, **spec})
    return name


def kinds(client: Client, name: str = "prices") -> list[str]:
    return [event["kind"] for event in client.events(name)]


def refused(code: int, call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(ServiceError) as caught:
        call(*arguments, **options)
    assert caught.value.code == code, caught.value
    return str(caught.value)


def test_from_the_first_decision_to_the_bound(client: Client) -> None:
    make(client, labels=["4.99", "5.99", "6.99", "7.99"])
    made = client.decide_many("prices", 8)
    assert [decision.arm for decision in made[:4]] == ["4.99", "5.99", "6.99", "7.99"]
    assert len({decision.id for decision in made}) == 8
    values = [float(k == 1) for k in range(8)]
    results = client.rewards([(d.id, v) for d, v in zip(made, values, strict=True)])
    assert {result.status for result in results} == {"applied"}
    shown = client.experiment("prices")
    assert (shown["status"], shown["rounds"], shown["decisions"]) == ("running", 8, 8)
    assert sum(arm["pulls"] for arm in shown["arms"]) == 8
    assert all(arm["pending"] == 0 for arm in shown["arms"])
    assert all(arm["low"] <= arm["mean"] <= arm["high"] for arm in shown["arms"])
    belief = client.explain("prices")
    assert belief["leader"] == "5.99"
    assert belief["summary"] in belief["text"]
    bound = client.bound("prices")
    assert bound["value"] > 0.0
    assert bound["value"] <= bound["unconstrained"] + 1e-9
    assert kinds(client) == ["created"] + ["asked"] * 8 + ["told"] * 8
    events = list(client.events("prices", after=9))
    assert [event["decision"] for event in events] == [decision.id for decision in made]
    assert [event["value"] for event in events] == values
    assert [event["arm"] for event in events] == [decision.arm for decision in made]
    (listed,) = client.experiments()
    assert listed == {key: shown[key] for key in listed}


def test_making_an_experiment_twice(client: Client) -> None:
    first = client.create("prices", PRICES)
    assert client.create("prices", PRICES) == first
    refused(409, client.create, "prices", {**PRICES, "seed": 1})
    assert kinds(client) == ["created"]


def test_a_request_that_is_repeated_gets_the_same_decisions(client: Client) -> None:
    make(client)
    made = client.decide_many("prices", 3, unit="u", request_id="r")
    assert client.decide_many("prices", 3, unit="u", request_id="r") == made
    client.change("prices", status="paused")  # what was decided stays decided
    assert client.decide_many("prices", 3, unit="u", request_id="r") == made
    assert "n = 3" in refused(409, client.decide_many, "prices", 2, unit="u", request_id="r")
    refused(409, client.decide_many, "prices", 3, unit="v", request_id="r")
    make(client, "other")
    other = client.decide_many("other", 3, unit="u", request_id="r")
    assert {d.id for d in other}.isdisjoint({d.id for d in made})
    assert kinds(client).count("asked") + kinds(client).count("kept") == 3


def test_the_same_request_from_many_threads_is_one_request(client: Client, storage: str) -> None:
    make(client)
    answers: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(client.decide_many("prices", 2, request_id="r"))
        )
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 12
    assert all(answer == answers[0] for answer in answers)
    assert query(storage, "SELECT count(*) FROM decision") == [(2,)]


def test_rewards(client: Client) -> None:
    make(client)
    a, b, c = client.decide_many("prices", 3)
    assert client.reward(a.id, 1.0).status == "applied"
    assert client.reward(a.id, 1.0).status == "duplicate"
    assert "another reward" in refused(409, client.reward, a.id, 0.0)
    refused(404, client.reward, "1-99-00000000", 1.0)
    refused(404, client.reward, "77-2-00000000", 1.0)
    refused(404, client.reward, a.id[:-1] + ("0" if a.id[-1] != "0" else "1"), 1.0)
    assert "lie in {0, 1}" in refused(422, client.reward, b.id, 0.5)
    statuses = client.rewards([(a.id, 1.0), (b.id, 7.0), (b.id, 0.0), (b.id, 0.0), ("?", 1.0)])
    assert [r.status for r in statuses] == [
        "duplicate",
        "refused",
        "applied",
        "duplicate",
        "unknown",
    ]
    assert kinds(client) == ["created"] + ["asked"] * 3 + ["told"] * 2
    shown = client.experiment("prices")
    assert [arm["pulls"] for arm in shown["arms"]] == [1, 1, 0, 0]
    assert [arm["pending"] for arm in shown["arms"]] == [0, 0, 1, 0]
    assert shown["rounds"] == 2
    assert c.arm == 2


def test_cancelling(client: Client) -> None:
    make(client)
    a, b = client.decide_many("prices", 2)
    client.cancel(a.id)
    client.cancel(a.id)  # again: nothing
    assert "cancelled" in refused(409, client.reward, a.id, 1.0)
    client.reward(b.id, 1.0)
    assert "its reward" in refused(409, client.cancel, b.id)
    refused(404, client.cancel, "1-99-00000000")
    assert kinds(client) == ["created", "asked", "asked", "cancelled", "told"]
    assert client.decide("prices").arm == a.arm  # as if it had not been asked


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def test_a_window_closes_with_a_default_reward(client: Client) -> None:
    make(client, rewards={"window": 0.3, "default": 0})
    a, b = client.decide_many("prices", 2)
    wait_for(lambda: kinds(client).count("expired") == 2)
    late = client.reward(a.id, 1.0)
    assert late.status == "late"
    assert "not applied" in str(late.detail)
    assert client.reward(a.id, 1.0).status == "duplicate"
    refused(409, client.reward, a.id, 0.0)
    refused(409, client.cancel, b.id)
    shown = client.experiment("prices")
    assert shown["rounds"] == 2
    assert [arm["mean"] for arm in shown["arms"][:2]] == [0.0, 0.0]
    assert kinds(client) == ["created", "asked", "asked", "expired", "expired", "late"]


def test_a_window_closes_without_a_trace(client: Client) -> None:
    make(client, rewards={"window": 0.3, "default": None})
    a, _ = client.decide_many("prices", 2)
    wait_for(lambda: kinds(client).count("expired") == 2)
    assert client.reward(a.id, 1.0).status == "late"
    shown = client.experiment("prices")
    assert shown["rounds"] == 0
    assert [arm["pulls"] + arm["pending"] for arm in shown["arms"]] == [0, 0, 0, 0]


def test_a_unit_keeps_its_arm(client: Client) -> None:
    make(client, sticky=None)
    first = client.decide("prices", unit="u")
    assert client.decide("prices", unit="v").arm != first.arm
    again = client.decide_many("prices", 3, unit="u")
    assert {decision.arm for decision in again} == {first.arm}
    assert first.id not in {decision.id for decision in again}
    assert kinds(client) == ["created", "asked", "asked", "kept", "kept", "kept"]
    assert client.experiment("prices")["arms"][0]["pending"] == 4


def test_a_unit_keeps_its_arm_for_a_while(client: Client) -> None:
    make(client, sticky=0.2)
    first = client.decide("prices", unit="u")
    time.sleep(0.3)
    assert client.decide("prices", unit="u").arm != first.arm
    assert kinds(client) == ["created", "asked", "asked"]


def test_no_unit_keeps_its_arm_when_sticky_is_zero(client: Client) -> None:
    make(client, sticky=0)
    first, second = client.decide_many("prices", 2, unit="u")
    third = client.decide("prices", unit="u")
    assert len({first.arm, second.arm, third.arm}) == 3
    assert kinds(client) == ["created", "asked", "asked", "asked"]
    assert client.experiment("prices")["spec"]["sticky"] == 0
    assert "0 for not at all" in refused(422, make, client, "other", sticky=-1)


def test_a_spec_is_shown_as_it_was_written(client: Client) -> None:
    """Lists as lists; tuples only where a list would say something else, as in labels."""
    categories: list[Any] = ["a", "a", "b"]
    order = {"kind": "relabelled", "structure": {"kind": "unimodal", "n_arms": 3}}
    for name, structure in (
        ("plain", {"kind": "categorised", "categories": categories}),
        ("tree", {"kind": "unimodaltree", "edges": [[0, 1], [1, 2]]}),
        ("order", {**order, "order": [2, 0, 1]}),
        ("tuples", {"kind": "categorised", "categories": [{"tuple": ["a", 1]}, "b", "b"]}),
    ):
        made = client.create(name, {"structure": structure})
        for shown in (made, client.experiment(name), client.create(name, made["spec"])):
            written = {key.lower(): value for key, value in shown["spec"]["structure"].items()}
            for key, value in structure.items():
                if key not in ("kind", "structure"):
                    assert written[key] == value
        (created,) = client.events(name)
        assert created["detail"]["spec"] == made["spec"]


def test_pausing_and_stopping(client: Client) -> None:
    make(client)
    a, b = client.decide_many("prices", 2)
    assert client.change("prices", status="paused")["status"] == "paused"
    assert "paused" in refused(409, client.decide, "prices")
    assert client.reward(a.id, 1.0).status == "applied"
    client.change("prices", status="paused")
    client.change("prices", status="running")
    client.decide("prices")
    client.change("prices", status="stopped")
    refused(409, client.decide, "prices")
    assert client.reward(b.id, 1.0).status == "applied"
    assert "for good" in refused(409, client.change, "prices", status="running")
    assert kinds(client) == [
        "created", "asked", "asked", "paused", "told", "running", "asked", "stopped", "told",
    ]  # fmt: skip


def test_floors(client: Client) -> None:
    make(client, floor=0.1, policy="ucb")
    for decision in client.decide_many("prices", 4):
        client.reward(decision.id, 0.0)
    probabilities = {d.probability for d in client.decide_many("prices", 50)}
    assert {round(p or 0.0, 9) for p in probabilities} == {0.1, 0.7}
    client.change("prices", floor=0.25)
    assert {round(d.probability or 0.0, 9) for d in client.decide_many("prices", 20)} == {0.25}
    assert client.change("prices", floor=0.25)["floor"] == 0.25
    refused(422, client.change, "prices", floor=0.3)
    assert kinds(client).count("floor") == 1


def test_a_policy_that_draws_by_known_odds_says_them(client: Client) -> None:
    """The same number as a bandit that was told the same."""
    make(client, policy={"kind": "challenger", "randomised": True})
    bandit = am.Bandit(am.Challenger(randomised=True), am.Unimodal(4), am.Bernoulli())
    said = []
    for n in range(30):
        decision = client.decide("prices")
        expected = bandit.probabilities().values[decision.arm]
        said.append(decision.probability)
        assert decision.probability == pytest.approx(expected, abs=1e-12)
        client.reward(decision.id, float(n % 3 == 0))
        bandit.tell(decision.arm, float(n % 3 == 0))
    assert min(said) < 1.0


def test_arms_come_and_go(client: Client, storage: str) -> None:
    make(client, labels=["a", "b", "c", "d"])
    a, b, *_ = client.decide_many("prices", 4)
    shown = client.add_arm("prices", "a half", after="a")
    assert [arm["label"] for arm in shown["arms"]] == ["a", "a half", "b", "c", "d"]
    assert client.decide("prices").arm == "a half"
    assert client.add_arm("prices", "a half", after="a")["arms"] == shown_now(client)
    assert client.add_arm("prices", "a half", before="b")["arms"] == shown_now(client)
    refused(422, client.add_arm, "prices", "a half", after="b")
    refused(422, client.add_arm, "prices", "a half")
    refused(422, client.add_arm, "prices", "a half", after="a", colour="blue")
    refused(422, client.add_arm, "prices", "x")
    refused(422, client.add_arm, "prices", "x", after="a", colour="blue")
    shown = client.retire_arm("prices", "a")
    assert [arm["label"] for arm in shown["arms"]] == ["a half", "b", "c", "d"]
    client.retire_arm("prices", "a")
    refused(404, client.retire_arm, "prices", "z")
    late = client.reward(a.id, 1.0)  # it was asked for in time
    assert (late.status, late.detail) == ("applied", RETIRED)
    assert client.experiment("prices")["rounds"] == 0  # what the bandit has learned from
    client.reward(b.id, 1.0)
    assert client.experiment("prices")["rounds"] == 1
    assert "a" not in {decision.arm for decision in client.decide_many("prices", 30)}
    client.add_arm("prices", "a", before="a half")
    assert kinds(client).count("arm added") == 2
    labels = [event["arm"] for event in client.events("prices") if event["kind"] == "arm added"]
    assert labels == ["a half", "a"]
    assert_rebuilt(storage)


def shown_now(client: Client) -> Any:
    """The arms as the service shows them."""
    return client.experiment("prices")["arms"]


@pytest.mark.parametrize(
    ("structure", "family", "same", "other"),
    [
        ({"kind": "unconstrained"}, "gaussian", {}, {"colour": "blue"}),
        ({"kind": "unimodal"}, "gaussian", {"after": "a"}, {"after": "b"}),
        (
            {"kind": "concave", "positions": [0.0, 1.0, 2.0]},
            "gaussian",
            {"position": 0.5},
            {"position": 0.25},
        ),
        (
            {"kind": "categorised", "categories": [0, 0, 1]},
            "gaussian",
            {"category": 1},
            {"category": 0},
        ),
        (
            {"kind": "unconstrained"},
            {"kind": "bernoulli", "scale": [1.0, 2.0, 3.0]},
            {"scale": 1.5},
            {"scale": 1.25},
        ),
    ],
    ids=["unconstrained", "unimodal", "concave", "categorised", "scale"],
)
def test_adding_an_arm_again_changes_nothing(
    client: Client, storage: str, structure: Any, family: Any, same: Any, other: Any
) -> None:
    """An arm that is there with the same options is no error; with others it is."""
    make(client, labels=["a", "b", "c"], structure=structure, family=family)
    for decision in client.decide_many("prices", 5):
        client.reward(decision.id, 0.0)
    client.add_arm("prices", "x", **same)
    before = shown_now(client), kinds(client)
    client.add_arm("prices", "x", **same)
    refused(422, client.add_arm, "prices", "x", **other)
    assert (shown_now(client), kinds(client)) == before
    if structure["kind"] == "unconstrained":  # others that came later change nothing about it
        client.add_arm("prices", "y", **same)
        client.add_arm("prices", "x", **same)
        refused(422, client.add_arm, "prices", "x", **other)
        assert kinds(client) == [*before[1], "arm added"]
    assert_rebuilt(storage)


def assert_rebuilt(storage: str) -> None:
    """What the log alone gives is what is loaded; nothing diverges."""
    engine = open_database(storage)
    with engine.connect() as connection:
        loaded = replay.load(connection, 1)
        assert loaded is not None
        rebuilt = replay.rebuild(connection, 1, loaded.spec)
    engine.dispose()
    assert rebuilt.as_text() == loaded.replica.as_text()
    assert rebuilt.divergences == 0


def test_a_retired_arm_is_kept_by_nobody(client: Client) -> None:
    make(client)
    first = client.decide("prices", unit="u")
    client.retire_arm("prices", first.arm)
    assert client.decide("prices", unit="u").arm != first.arm


def test_two_servers_on_one_database(storage: str) -> None:
    """Each sees at once what the other did, and both together are one bandit."""
    with (
        serving(storage) as one,
        serving(storage) as two,
        Client(one) as first,
        Client(two) as second,
    ):
        make(first, policy="thompsonsampling", floor=0.05)
        for k in range(20):
            here, there = (first, second) if k % 2 else (second, first)
            made = here.decide_many("prices", 2, request_id=str(k))
            assert there.decide_many("prices", 2, request_id=str(k)) == made
            assert there.reward(made[0].id, 1.0).status == "applied"
            assert here.reward(made[0].id, 1.0).status == "duplicate"
            shown = [client.experiment("prices") for client in (first, second)]
            assert shown[0] == shown[1]
        assert shown[0]["divergences"] == 0
    assert_rebuilt(storage)


def test_a_restart_changes_nothing(
    storage: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path = tmp_path_factory.mktemp("twin")
    monkeypatch.setattr(replay, "EVERY", 7)

    def some(client: Client) -> list[Any]:
        arms = []
        for k in range(6):
            made = client.decide_many("prices", 3, unit=f"u{k % 2}" if k % 3 == 0 else None)
            client.rewards([(d.id, float(d.arm == 2)) for d in made[:2]])
            arms += [d.arm for d in made]
        return arms

    with serving(storage) as url, Client(url) as client:
        make(client, policy="thompsonsampling")
        before = some(client)
    with serving(storage) as url, Client(url) as client:
        after = some(client)
        shown = client.experiment("prices")
    assert query(storage, "SELECT count(*) FROM snapshot WHERE experiment_id = 1") == [(2,)]
    # another experiment of the same seed, in one go
    with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
        make(client, policy="thompsonsampling")
        assert some(client) == before
        assert some(client) == after
        assert client.experiment("prices")["arms"] == shown["arms"]
    assert_rebuilt(storage)


def test_the_asynchronous_client(storage: str) -> None:
    async def talk(url: str) -> None:
        async with AsyncClient(url) as client:
            await client.create("prices", PRICES)
            made = await asyncio.gather(*(client.decide("prices") for _ in range(20)))
            await client.rewards([(decision.id, 1.0) for decision in made[:10]])
            await client.reward(made[10].id, 0.0)
            await client.cancel(made[11].id)
            assert len({decision.id for decision in made}) == 20
            assert [e["kind"] async for e in client.events("prices")].count("asked") == 20
            assert (await client.experiment("prices"))["rounds"] == 11
            assert len(await client.experiments()) == 1
            assert (await client.explain("prices"))["arms"] == [0, 1, 2, 3]
            assert (await client.change("prices", status="paused"))["status"] == "paused"
            with pytest.raises(ServiceError):
                await client.decide("prices")

    with serving(storage) as url:
        asyncio.run(talk(url))


def test_a_client_gives_up_in_the_end() -> None:
    client = Client("http://127.0.0.1:1", retries=1)
    with pytest.raises(UnreachableError, match="asked 2 times"):
        client.experiments()
    client.close()


def test_a_client_repeats_what_was_not_answered(storage: str) -> None:
    """Three answers are lost on the way; the decision is made once, and so is an arm."""
    lost: list[bytes] = []
    with serving(storage) as url, Client(url) as client:
        make(client)
        transport: Any = client._http._transport
        send = transport.handle_request

        def lose(request: httpx.Request) -> httpx.Response:
            response: httpx.Response = send(request)
            if request.url.path.endswith(("/decisions", "/arms")) and len(lost) not in (3, 6):
                lost.append(response.read())
                raise httpx.ReadError("cut")
            return response

        transport.handle_request = lose
        client.decide("prices")
        assert len(lost) == 3
        assert kinds(client) == ["created", "asked"]
        lost.append(b"")
        client.add_arm("prices", 9, after=0)
        assert len(lost) == 6
        assert kinds(client) == ["created", "asked", "arm added"]
