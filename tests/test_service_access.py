"""Who may do what, what may be sent, and what is refused: with a sentence, and nothing changed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import booleans
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import PRICES, free_port, query, serving, sqlite_in
from typer.testing import CliRunner, Result

import armature as am
from armature.cli import app
from armature.client import Client
from armature.service.database import open_database, writing
from armature.service.keys import SCOPES, Guard, hash_of, make_key, read_keys, revoke_key
from armature.service.limits import Limits
from armature.service.migrate import migrate
from armature.service.writer import Writer


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return sqlite_in(tmp_path)


@pytest.fixture
def http(storage: str) -> Iterator[httpx.Client]:
    """A server with one experiment and one decision, "1-2-..."."""
    with serving(storage) as url, httpx.Client(base_url=url) as http:
        with Client(url) as client:
            client.create("prices", PRICES)
            client.decide("prices")
        yield http


def fingerprint(storage: str) -> list[Any]:
    """All that is stored."""
    return [
        query(storage, f"SELECT * FROM {table}")
        for table in ("experiment", "event", "decision", "reward", "assignment", "api_key")
    ]


def sentence(response: httpx.Response) -> str:
    detail = response.json()["detail"]
    assert isinstance(detail, str)
    return detail


ENDPOINTS = {
    "admin": [
        ("POST", "/v1/experiments", {"name": "new", "spec": PRICES}),
        ("PATCH", "/v1/experiments/prices", {"floor": 0.1}),
        ("POST", "/v1/experiments/prices/arms", {"label": 9, "options": {"after": 0}}),
        ("POST", "/v1/experiments/prices/arms/retire", {"label": 0}),
    ],
    "decide": [("POST", "/v1/experiments/prices/decisions", {})],
    "reward": [
        ("POST", "/v1/decisions/1-2-00000000/reward", {"value": 1}),
        ("POST", "/v1/rewards", {"rewards": []}),
        ("DELETE", "/v1/decisions/1-2-00000000", None),
    ],
    "read": [
        ("GET", "/v1/experiments", None),
        ("GET", "/v1/experiments/prices", None),
        ("GET", "/v1/experiments/prices/explain", None),
        ("GET", "/v1/experiments/prices/bound", None),
        ("GET", "/v1/experiments/prices/events", None),
        ("GET", "/metrics", None),
        ("GET", "/", None),
    ],
}


def test_scopes(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every endpoint takes the keys of its scope and those of administrators, and no others."""
    monkeypatch.setattr("armature.service.keys.FRESH", 0.0)
    engine = open_database(storage)
    migrate(engine)
    keys = {scope: make_key(engine, scope, [scope]) for scope in SCOPES}
    keys["nobody"] = "arm_" + "x" * 43
    with serving(storage) as url, httpx.Client(base_url=url) as http:
        with Client(url, keys["admin"]) as client:
            client.create("prices", PRICES)
        operations = http.get("/openapi.json").json()["paths"]
        tried = {(m, p.replace("prices", "{name}")) for m, p, _ in chain(*ENDPOINTS.values())}
        tried = {(m, p.replace("1-2-00000000", "{id}")) for m, p in tried}
        open_to_all = {("GET", "/healthz"), ("GET", "/readyz")}
        known = {(m.upper(), path) for path, methods in operations.items() for m in methods}
        assert known - open_to_all == tried - {("GET", "/metrics"), ("GET", "/")}
        before = fingerprint(storage)
        for scope, requests in ENDPOINTS.items():
            for method, path, body in requests:
                for name, key in keys.items():
                    if name in (scope, "admin"):
                        continue
                    answer = http.request(
                        method, path, json=body, headers={"Authorization": f"Bearer {key}"}
                    )
                    assert answer.status_code == (401 if name == "nobody" else 403), (name, path)
                    assert sentence(answer)
                assert http.request(method, path, json=body).status_code == 401
        assert fingerprint(storage) == before
        for scope, requests in ENDPOINTS.items():
            for name in (scope, "admin"):
                for method, path, body in requests:
                    header = {"Authorization": f"Bearer {keys[name]}"}
                    answer = http.request(method, path, json=body, headers=header)
                    assert answer.status_code not in (401, 403), (name, path)
        for path in ("/healthz", "/readyz"):
            assert http.get(path).json() == {"status": "ok"}
    engine.dispose()


def test_keys_end(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armature.service.keys.FRESH", 0.0)
    engine = open_database(storage)
    migrate(engine)
    admin = make_key(engine, "admin", ["admin"])
    short = make_key(engine, "short", ["read"], seconds=0.2)
    with pytest.raises(am.ArmatureError, match="already"):
        make_key(engine, "short", ["read"])
    with pytest.raises(am.ArmatureError, match="scopes are"):
        make_key(engine, "other", ["everything"])
    stored = str(query(storage, "SELECT * FROM api_key"))
    assert admin not in stored
    assert hash_of(admin) in stored
    with serving(storage) as url:
        time.sleep(0.3)
        header = {"Authorization": f"Bearer {short}"}
        assert "expired" in sentence(httpx.get(f"{url}/v1/experiments", headers=header))
        header = {"Authorization": f"bearer {admin}"}
        assert httpx.get(f"{url}/v1/experiments", headers=header).status_code == 200
        revoke_key(engine, "admin")
        assert "not known" in sentence(httpx.get(f"{url}/v1/experiments", headers=header))
        revoke_key(engine, "short")
    with pytest.raises(am.ArmatureError, match="no key"):
        revoke_key(engine, "short")
    # nobody has a key now: on an address that others reach, that is no reason to let them in
    guard = Guard(engine, open_without_keys=False)
    guard.refresh()
    assert guard.objection(None, "read") == (401, guard.objection(None, "read")[1])  # type: ignore[index]
    assert read_keys(engine)[0] == {}
    engine.dispose()


HOSTILE: list[bytes] = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"n"',
    b'{"n": 1',
    b'{"n": "1"}',
    b'{"n": 1.5}',
    b'{"n": true}',
    b'{"n": 0}',
    b'{"n": -1}',
    b'{"n": 1001}',
    b'{"n": ' + b"9" * 5000 + b"}",
    b'{"n": 1e400}',
    b'{"n": NaN}',
    b'{"n": Infinity}',
    b'{"n": 1, "m": 2}',
    b'{"unit": 5}',
    b'{"unit": ""}',
    b'{"unit": "' + b"u" * 201 + b'"}',
    b'{"unit": "\\u0000"}',
    b'{"unit": "\\ud800"}',
    b'{"unit": "a\\nb"}',
    b'{"request_id": "\\u0000"}',
    b'{"request_id": ["a"]}',
    b'{"\\ud800": 1}',
    b"[" * 100_000,
    b'{"n":' * 10_000,
    b"\xff\xfe",
    b'{"n": 1}\x00',
]


def test_hostile_bodies(http: httpx.Client, storage: str) -> None:
    before = fingerprint(storage)
    for body in HOSTILE:
        for content_type in ("application/json", "text/plain", "application/xml"):
            answer = http.post(
                "/v1/experiments/prices/decisions",
                content=body,
                headers={"Content-Type": content_type},
            )
            assert answer.status_code in (400, 422), (body[:50], answer.status_code)
            assert sentence(answer)
    decision = query(storage, "SELECT id FROM decision")[0][0]
    for value in ("NaN", "Infinity", "-Infinity", "1e400", '"1"', "true", "null", "[1]", "0.5"):
        answer = http.post(
            f"/v1/decisions/{decision}/reward",
            content=f'{{"value": {value}}}',
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code in (400, 422), value
    assert fingerprint(storage) == before


def test_bodies_that_are_too_large(http: httpx.Client, storage: str) -> None:
    before = fingerprint(storage)
    large = json.dumps({"name": "x" * 1_000_001, "spec": {}}).encode()
    for content in (large, iter([large[:500_000], large[500_000:]])):  # with a length, and without
        answer = http.post(
            "/v1/experiments", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 413
        assert "1000000 bytes" in sentence(answer)
    many = {"rewards": [{"decision": "1-2-0", "value": 1}] * 1_001}
    assert http.post("/v1/rewards", json=many).status_code == 422
    assert fingerprint(storage) == before
    short = iter([b'{"n"', b": 2}"])
    answer = http.post(
        "/v1/experiments/prices/decisions",
        content=short,
        headers={"Content-Type": "application/json"},
    )
    assert len(answer.json()["decisions"]) == 2


NAMES = ["", " ", "a/b", "a\\b", ".", "..", "...", " a", "a ", "a\x00", "a\n", "\ud800", "n" * 101]


ALIKE = [
    ("experiments/prices/decisions", b"{}", {}),
    ("experiments/prices/decisions", b'{"n": 3}', {}),
    ("experiments/prices/decisions", b'{"n": 0}', {}),
    ("experiments/prices/decisions", b'{"n": NaN}', {}),
    ("experiments/prices/decisions", b"\xff", {}),
    ("experiments/prices/decisions", b"{", {}),
    ("experiments/prices/decisions", b"", {}),
    ("experiments/prices/decisions", b"{}", {"Content-Type": "text/plain"}),
    ("experiments/prices/decisions", b"{}", {"Host": "elsewhere"}),
    ("experiments/prices/decisions", b"{}", {"Origin": "http://elsewhere"}),
    ("experiments/nobody/decisions", b"{}", {}),
    ("experiments/%00/decisions", b"{}", {}),
    ("experiments/paused/decisions", b"{}", {}),
    ("decisions/1-2-00000000/reward", b'{"value": 1}', {}),
    ("decisions/nothing/reward", b'{"value": 1}', {}),
    ("decisions/ID/reward", b'{"value": 0.5}', {}),
    ("decisions/ID/reward", b'{"value": "1"}', {}),
    ("decisions/ID/reward", b'{"value": 1}', {}),
]


def test_the_shortcut_answers_as_the_framework_does(http: httpx.Client) -> None:
    """A body of unknown length takes the long way: but for ids and arms, the same is answered."""
    http.post("/v1/experiments", json={"name": "paused", "spec": PRICES})
    http.patch("/v1/experiments/paused", json={"status": "paused"})
    codes = set()
    for path, body, headers in ALIKE:
        found = []
        for content in (body, iter([body])):
            made = http.post("/v1/experiments/prices/decisions", json={}).json()["decisions"]
            answer = http.post(
                "/v1/" + path.replace("ID", made[0]["id"]),
                content=content,
                headers={"Content-Type": "application/json"} | headers,
            )
            text = re.sub(r'"id":"[^"]*","arm":[0-9]+', "", answer.text)
            kept = {k: v for k, v in answer.headers.items() if k not in ("date", "content-length")}
            found.append((answer.status_code, text, kept))
        assert found[0] == found[1], (path, body, headers)
        codes.add((path.startswith("d"), found[0][0]))
    counted = http.get("/metrics").text
    for reward, code in codes:
        endpoint = "/v1/decisions/{id}/reward" if reward else "/v1/experiments/{name}/decisions"
        assert f'armature_requests_total{{code="{code}",endpoint="{endpoint}"}}' in counted


def test_names(http: httpx.Client, storage: str) -> None:
    for name in NAMES:
        answer = http.post(
            "/v1/experiments",
            content=json.dumps({"name": name, "spec": PRICES}),
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 422, name
    for name in ("ümläut 日本", "<script>alert(1)</script>".replace("/", "|"), "a%2Fb", "a?b#c"):
        with Client(str(http.base_url)) as client:
            client.create(name, PRICES)
            client.decide(name)
            assert client.experiment(name)["name"] == name
    page = http.get("/").text
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


PATHS = [
    "/v1/experiments/%00",
    "/v1/experiments/..%2f..%2fetc%2fpasswd",
    "/v1/experiments/" + "n" * 5_000,
    "/v1/experiments/%ed%a0%80",
    "/v1/experiments/prices/",
    "/v1/experiments/prices/events%2f..",
    "/v1/decisions/1",
    "/v1//experiments",
    "/static/../../etc/passwd",
    "/v1/experiments/prices%20",
]


def test_path_tricks(http: httpx.Client) -> None:
    for path in PATHS:
        answer = http.get(path)
        assert answer.status_code in (404, 405), path
        assert sentence(answer)
    for key in ("1-2-%00", "-1-2-3", "1e9-2-3", "٣-2-3", "9" * 30 + "-1-1", "1-2-" + "0" * 500):
        assert http.delete(f"/v1/decisions/{key}").status_code == 404, key


SPECS: list[tuple[Any, str]] = [
    ({}, "needs a structure"),
    ({"structure": "unimodal"}, "n_arms"),
    ({**PRICES, "policy": "os:system"}, "not part of Armature"),
    ({**PRICES, "policy": {"kind": "subprocess:Popen", "args": ["true"]}}, "not part of Armature"),
    ({**PRICES, "family": {"kind": "armature.families:Gaussian"}}, "not part of Armature"),
    ({**PRICES, "policy": {"kind": "guarded", "policy": {"kind": "os:system"}}}, ""),
    ({"structure": {"kind": "union", "parts": [{"kind": "a.b:C"}]}}, ""),
    ({**PRICES, "policy": "chalenger"}, "did you mean"),
    ({**PRICES, "polcy": "ucb"}, "did you mean"),
    ({"structure": {"kind": "unconstrained", "n_arms": 10**9}}, "at most 1000 arms"),
    ({"structure": {"kind": "unconstrained", "n_arms": 10**400}}, "at most 1000 arms"),
    ({"structure": {"kind": "unconstrained", "n_arms": -1}}, ""),
    ({**PRICES, "labels": ["a"] * 4}, "twice"),
    ({**PRICES, "labels": ["a", "b"]}, ""),
    ({**PRICES, "labels": [True, {}, [], None]}, "label"),
    ({**PRICES, "labels": {"a": 1}}, "labels"),
    ({**PRICES, "seed": 2**63}, "seed"),
    ({**PRICES, "seed": -1}, "seed"),
    ({**PRICES, "floor": 0.3}, "floor"),
    ({**PRICES, "floor": "a"}, "floor"),
    ({**PRICES, "rewards": {"window": 0}}, "window"),
    ({**PRICES, "rewards": {"window": -1}}, "window"),
    ({**PRICES, "rewards": {"window": True}}, "window"),
    ({**PRICES, "rewards": {"default": 0.5}}, "lie in"),
    ({**PRICES, "rewards": {"default": "0"}}, "default"),
    ({**PRICES, "rewards": {"windows": 1}}, "rewards"),
    ({**PRICES, "rewards": [1]}, "rewards"),
    ({**PRICES, "sticky": "yes"}, "sticky"),
    ({**PRICES, "horizon": 0}, "horizon"),
    ({**PRICES, "goal": "most"}, ""),
    ({**PRICES, "policy": "catse", "horizon": 9}, "Categorised"),
    ({**PRICES, "family": {"kind": "gaussian", "sigma": -1}}, "sigma"),
    ({**PRICES, "family": {"kind": "gaussian", "sigma": 10**400}}, ""),
]


def test_specs(http: httpx.Client, storage: str) -> None:
    """What a spec may not say, least of all the name of anything to import."""
    before = fingerprint(storage)
    for spec, reason in SPECS:
        answer = http.post("/v1/experiments", json={"name": "bad", "spec": spec})
        assert answer.status_code == 422, (spec, answer.text)
        assert reason in sentence(answer), (spec, sentence(answer))
    deep: Any = 0
    for _ in range(400):
        deep = [deep]
    body = {"name": "bad", "spec": {"structure": {"kind": "linear", "features": deep}}}
    assert http.post("/v1/experiments", json=body).status_code == 422
    assert fingerprint(storage) == before


def test_nothing_is_imported_for_a_request(http: httpx.Client, tmp_path: Path) -> None:
    sys.path.insert(0, str(tmp_path))
    try:
        (tmp_path / "trojan.py").write_text("raise SystemExit('imported')")
        spec = {**PRICES, "policy": {"kind": "trojan:Horse"}}
        assert http.post("/v1/experiments", json={"name": "t", "spec": spec}).status_code == 422
        assert "trojan" not in sys.modules
    finally:
        sys.path.remove(str(tmp_path))


def test_without_keys_other_sites_are_refused(http: httpx.Client, storage: str) -> None:
    """A page that a browser has open must not reach a server of the same machine."""
    before = fingerprint(storage)
    path = "/v1/experiments/prices/decisions"
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        answer = http.post(path, json={}, headers=headers)
        assert answer.status_code == 403
        assert sentence(answer)
    assert fingerprint(storage) == before
    origin = str(http.base_url).rstrip("/")
    assert http.post(path, json={}, headers={"Origin": origin}).status_code == 200


def counted(http: httpx.Client) -> dict[str, float]:
    """The metrics, by their names with labels."""
    lines = [line for line in http.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_metrics(http: httpx.Client) -> None:
    """What a few requests add to each of them, worked out by hand."""
    before = counted(http)
    made = http.post("/v1/experiments/prices/decisions", json={"n": 7}).json()["decisions"]
    rewards = [(made[0], 1.0), (made[0], 1.0), (made[0], 0.0), (made[1], 0.5), ({"id": "?"}, 1.0)]
    body = {"rewards": [{"decision": d["id"], "value": value} for d, value in rewards]}
    assert http.post("/v1/rewards", json=body).status_code == 200
    assert http.post("/v1/experiments/nobody/decisions", json={}).status_code == 404
    http.delete(f"/v1/decisions/{made[2]['id']}")
    after = counted(http)
    added = {name: value - before.get(name, 0.0) for name, value in after.items()}
    for kind, count in (("asked", 7), ("told", 1), ("cancelled", 1)):
        assert added[f'armature_events_total{{kind="{kind}"}}'] == count
    for status in ("applied", "duplicate", "conflict", "refused", "unknown"):
        assert added[f'armature_rewards_total{{status="{status}"}}'] == 1
    for code, endpoint in (
        (200, "/v1/experiments/{name}/decisions"),
        (404, "/v1/experiments/{name}/decisions"),
        (200, "/v1/rewards"),
        (200, "/v1/decisions/{id}"),
        (200, "/metrics"),
    ):
        assert added[f'armature_requests_total{{code="{code}",endpoint="{endpoint}"}}'] == 1
    assert added["armature_group_size_sum"] == added["armature_group_size_count"] == 3
    assert added["armature_transaction_seconds_count"] == 3
    assert after["armature_waiting"] == 0
    assert after["armature_experiments_in_memory"] == 1


def test_too_many_that_wait(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the database is locked, so many requests wait, and no more."""
    serve, begun = Writer._serve, threading.Event()

    def noted(self: Writer, jobs: Any) -> None:
        begun.set()
        serve(self, jobs)

    monkeypatch.setattr(Writer, "_serve", noted)
    with (
        serving(storage, limits=Limits(waiting=2)) as url,
        httpx.Client(base_url=url, timeout=60.0) as http,
        ThreadPoolExecutor(4) as threads,
    ):
        with Client(url) as client:
            client.create("prices", PRICES)
            client.decide("prices")

        def ask() -> httpx.Response:
            return httpx.post(f"{url}/v1/experiments/prices/decisions", json={}, timeout=60.0)

        engine = open_database(storage)
        with writing(engine):
            begun.clear()
            answers = [threads.submit(ask)]
            assert begun.wait(60.0), "the writer has nothing to do"
            for waiting in (1, 2):
                answers.append(threads.submit(ask))
                deadline = time.monotonic() + 60.0
                while counted(http)["armature_waiting"] < waiting:
                    assert time.monotonic() < deadline, "a request does not wait"
                    time.sleep(0.01)
            refused = ask()
            assert refused.status_code == 503
            assert "too many requests are waiting" in sentence(refused)
            assert refused.headers["retry-after"] == "1"
        engine.dispose()
        assert [answer.result().status_code for answer in answers] == [200] * 3
    assert query(storage, "SELECT count(*) FROM decision") == [(4,)]


def test_whatever_the_description_allows(
    storage: str, n_problems: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests made from the OpenAPI description, right and wrong: no 500, nothing undescribed."""
    with serving(storage) as url:
        with Client(url) as client:
            client.create("prices", {**PRICES, "labels": ["a", "b", "c", "d"]})
            client.decide("prices")
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        checks = [
            response_schema_conformance,
            status_code_conformance,
            content_type_conformance,
            schemathesis.checks.not_a_server_error,
        ]

        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) > 14
        with requests.Session() as session:
            for operation in operations:
                modes = list(schemathesis.GenerationMode)
                if not (operation.body or operation.query):  # any text may be a name
                    modes.remove(schemathesis.GenerationMode.NEGATIVE)
                for mode in modes:
                    _try_out(operation, mode, checks, session, n_problems // 2)
            monkeypatch.setattr("armature.service.reading.summary", lambda row: {"name": 5})
            (listing,) = [o for o in operations if o.label == "GET /v1/experiments"]
            with pytest.raises(BaseException, match="violates schema"):
                _try_out(listing, schemathesis.GenerationMode.POSITIVE, checks, session, 1)


def _try_out(operation: Any, mode: Any, checks: Any, session: Any, examples: int) -> None:
    """Half of the requests are about the experiment that is there."""

    quietly = list(HealthCheck)

    @given(case=operation.as_strategy(generation_mode=mode), known=booleans())
    @settings(max_examples=examples, phases=[Phase.generate], suppress_health_check=quietly)
    def check(case: Any, known: bool) -> None:
        if known and "name" in case.path_parameters:
            case.path_parameters["name"] = "prices"
        case.call_and_validate(checks=checks, session=session)

    check()


def test_the_program(tmp_path: Path) -> None:
    """`armature serve` as people start it; without a key it is for this machine alone."""
    environment = {**os.environ, "ARMATURE_STORAGE": sqlite_in(tmp_path)}
    command = [sys.executable, "-m", "armature"]

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, words, env={"ARMATURE_STORAGE": sqlite_in(tmp_path)})

    refused = run("serve", "--host", "0.0.0.0", "--port", str(free_port()))
    assert refused.exit_code == 2
    assert "armature keys create" in refused.stderr
    port = free_port()
    server = subprocess.Popen(
        [*command, "serve", "--port", str(port)], env=environment, stderr=subprocess.PIPE
    )
    try:
        with Client(f"http://127.0.0.1:{port}", retries=30) as client:
            client.create("prices", PRICES)
            for decision in client.decide_many("prices", 5):
                client.reward(decision.id, float(decision.arm == 2))
        listed = run("experiments", "list")
        assert "prices" in listed.stdout
        assert "running" in listed.stdout
        shown = run("experiments", "show", "prices")
        assert "KLUCB" in shown.stdout
        exported = run("experiments", "export", "prices", "--out", str(tmp_path / "log.csv"))
        assert exported.exit_code == 0, exported.stderr
        rows = (tmp_path / "log.csv").read_text().splitlines()
        assert rows[0].startswith("arm,reward,probability,")
        assert len(rows) == 6
        key = run("keys", "create", "me", "--scope", "admin", "--days", "1")
        token = key.stdout.strip()
        assert "me" in run("keys", "list").stdout
        time.sleep(2.1)  # the server reads keys every two seconds
        assert httpx.get(f"http://127.0.0.1:{port}/v1/experiments").status_code == 401
        with Client(f"http://127.0.0.1:{port}", token) as client:
            assert len(client.experiments()) == 1
        assert run("keys", "revoke", "me").exit_code == 0
        assert run("experiments", "show", "nothing").exit_code == 2
        assert "is no storage" in run("experiments", "list", "--storage", "mysql://x").stderr
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) in (0, -signal.SIGTERM)
        assert server.stderr is not None
        server.stderr.close()
