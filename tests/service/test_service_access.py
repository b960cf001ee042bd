"""Who may do what, what may be sent, and what is refused: with a sentence, and nothing changed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import pytest
from processes import PATIENCE, obeying
from serving import PRICES, fingerprint, free_port, query, sentence, serving, sqlite_in
from typer.testing import CliRunner, Result

import armature as am
from armature.cli.program import app
from armature.client import Client
from armature.service.api.router import Guard
from armature.service.db.database import open_database, writing
from armature.service.db.keys import SCOPES, hash_of, make_key, read_keys, revoke_key
from armature.service.db.maintenance import migrate
from armature.service.domain.writer import Writer
from armature.service.limits import Refused, ServiceLimits

ENDPOINTS = {
    "admin": [
        ("POST", "/v1/experiments", {"name": "new", "spec": PRICES}),
        ("PATCH", "/v1/experiments/prices", {"floor": 0.1}),
        ("POST", "/v1/experiments/prices/arms", {"label": 9, "options": {"after": 0}}),
        ("POST", "/v1/experiments/prices/arms/retire", {"label": 0}),
    ],
    "decide": [
        ("POST", "/v1/experiments/prices/decisions", {}),
        ("POST", "/ofrep/v1/evaluate/flags/prices", {"context": {"targetingKey": "u"}}),
        ("POST", "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "u"}}),
    ],
    "reward": [
        ("POST", "/v1/decisions/1-2-00000000/reward", {"value": 1}),
        ("POST", "/v1/rewards", {"rewards": []}),
        ("POST", "/ofrep/v1/rewards", {"flag": "prices", "context": {}, "value": 1}),
        ("DELETE", "/v1/decisions/1-2-00000000", None),
    ],
    "read": [
        ("GET", "/v1/experiments", None),
        ("GET", "/v1/experiments/prices", None),
        ("GET", "/v1/experiments/prices/explain", None),
        ("GET", "/v1/experiments/prices/bound", None),
        ("GET", "/v1/experiments/prices/events", None),
        ("GET", "/v1/experiments/prices/export", None),
        ("GET", "/metrics", None),
        ("GET", "/", None),
    ],
}


def test_scopes(file_storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every endpoint takes the keys of its scope and those of administrators, and no others."""
    monkeypatch.setattr("armature.service.api.router.FRESH", 0.0)
    engine = open_database(file_storage)
    migrate(engine)
    keys = {scope: make_key(engine, scope, [scope]) for scope in SCOPES}
    keys["nobody"] = "arm_" + "x" * 43
    with serving(file_storage) as url, httpx.Client(base_url=url) as http:
        with Client(url, keys["admin"]) as client:
            client.create("prices", PRICES)
        operations = http.get("/openapi.json").json()["paths"]
        tried = {(m, p.replace("prices", "{name}")) for m, p, _ in chain(*ENDPOINTS.values())}
        tried = {(m, p.replace("1-2-00000000", "{id}")) for m, p in tried}
        tried = {(m, p) for m, p in tried if not p.startswith("/ofrep")}  # which OFREP describes
        open_to_all = {("GET", "/healthz"), ("GET", "/readyz")}
        known = {(m.upper(), path) for path, methods in operations.items() for m in methods}
        assert known - open_to_all == tried - {("GET", "/metrics"), ("GET", "/")}
        before = fingerprint(file_storage)
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
        assert fingerprint(file_storage) == before
        for scope, requests in ENDPOINTS.items():
            for name in (scope, "admin"):
                for method, path, body in requests:
                    header = {"Authorization": f"Bearer {keys[name]}"}
                    answer = http.request(method, path, json=body, headers=header)
                    assert answer.status_code not in (401, 403), (name, path)
        for path in ("/healthz", "/readyz"):
            assert http.get(path).json() == {"status": "ok"}
    engine.dispose()


def test_keys_end(file_storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armature.service.api.router.FRESH", 0.0)
    engine = open_database(file_storage)
    migrate(engine)
    admin = make_key(engine, "admin", ["admin"])
    short = make_key(engine, "short", ["read"], seconds=0.2)
    with pytest.raises(am.ArmatureError, match="already"):
        make_key(engine, "short", ["read"])
    with pytest.raises(am.ArmatureError, match="scopes are"):
        make_key(engine, "other", ["everything"])
    stored = str(query(file_storage, "SELECT * FROM api_key"))
    assert admin not in stored
    assert hash_of(admin) in stored
    with serving(file_storage) as url:
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
    with pytest.raises(Refused) as caught:
        guard.check(None, "read")
    assert caught.value.code == 401
    assert not guard.is_open
    assert read_keys(engine)[0] == {}
    engine.dispose()


def test_a_server_that_had_keys_stays_closed(
    file_storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is started again on the loopback address without any."""
    monkeypatch.setattr("armature.service.api.router.FRESH", 0.0)
    engine = open_database(file_storage)
    with serving(file_storage) as url, httpx.Client(base_url=url) as http:
        assert http.get("/v1/experiments").status_code == 200
        make_key(engine, "me", ["admin"])
        assert http.get("/v1/experiments").status_code == 401
        revoke_key(engine, "me")
        for method, path, body in chain(*ENDPOINTS.values()):
            answer = http.request(method, path, json=body, headers={"Accept": "text/html"})
            assert answer.status_code == 401, path
            assert "last key was revoked" in answer.text, path
        again = make_key(engine, "again", ["admin"])
        header = {"Authorization": f"Bearer {again}"}
        assert http.get("/v1/experiments", headers=header).status_code == 200
        revoke_key(engine, "again")
    with serving(file_storage) as url:
        assert httpx.get(f"{url}/v1/experiments").status_code == 200
    engine.dispose()


def test_without_keys_other_sites_are_refused(http: httpx.Client, file_storage: str) -> None:
    """A page that a browser has open must not reach a server of the same machine."""
    before = fingerprint(file_storage)
    path = "/v1/experiments/prices/decisions"
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        answer = http.post(path, json={}, headers=headers)
        assert answer.status_code == 403
        assert sentence(answer)
    assert fingerprint(file_storage) == before
    origin = str(http.base_url).rstrip("/")
    assert http.post(path, json={}, headers={"Origin": origin}).status_code == 200


def counted(http: httpx.Client) -> dict[str, float]:
    """The metrics, by their names with labels."""
    lines = [line for line in http.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_other_addresses_and_methods(http: httpx.Client) -> None:
    """Refused with what there is instead, as a page for browsers; and counted."""
    before = counted(http)
    answer = http.put("/v1/experiments/prices/decisions", json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "takes POST, not PUT" in sentence(answer)
    assert http.get("/v1/experiments/prices").status_code == 200
    assert http.get("/experiments/prices/more").status_code == 404
    page = http.get("/nothing", headers={"Accept": "text/html"})
    assert (page.status_code, "<h1>Not found</h1>" in page.text) == (404, True)
    page = http.put("/experiments", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["allow"], "takes POST" in page.text) == (
        405, "POST", True,
    )  # fmt: skip
    for path in ("/openapi-json", "/faviconxico", "/healthz/", "/v1/experiments/"):
        assert http.get(path).status_code == 404, path
    made = http.post("/v1/experiments/prices/decisions", json={"unit": "a\nb"})
    assert (made.status_code, sentence(made)) == (422, "unit: only printable characters")
    after = counted(http)
    name = 'armature_requests_total{code="%d",endpoint="%s"}'
    assert after[name % (404, "other")] - before.get(name % (404, "other"), 0.0) == 6
    assert after[name % (405, "other")] - before.get(name % (405, "other"), 0.0) == 2


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


def test_too_many_that_wait(file_storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the database is locked, so many requests wait, and no more."""
    write, begun = Writer._write_all, threading.Event()

    def noted(self: Writer, *arguments: Any) -> None:
        begun.set()
        write(self, *arguments)

    monkeypatch.setattr(Writer, "_write_all", noted)
    with (
        serving(file_storage, limits=ServiceLimits(waiting=2)) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as http,
        ThreadPoolExecutor(4) as threads,
    ):
        with Client(url) as client:
            client.create("prices", PRICES)
            client.decide("prices")

        def ask() -> httpx.Response:
            return httpx.post(f"{url}/v1/experiments/prices/decisions", json={}, timeout=PATIENCE)

        engine = open_database(file_storage)
        with writing(engine):
            begun.clear()
            answers = [threads.submit(ask)]
            assert begun.wait(PATIENCE), "the writer has nothing to do"
            for waiting in (1, 2):
                answers.append(threads.submit(ask))
                deadline = time.monotonic() + PATIENCE
                while counted(http)["armature_waiting"] < waiting:
                    assert time.monotonic() < deadline, "a request does not wait"
                    time.sleep(0.01)
            refused = ask()
            assert refused.status_code == 503
            assert "too many requests are waiting" in sentence(refused)
            assert refused.headers["retry-after"] == "1"
        engine.dispose()
        assert [answer.result().status_code for answer in answers] == [200] * 3
    assert query(file_storage, "SELECT count(*) FROM decision") == [(4,)]


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
        obeying([*command, "serve", "--port", str(port)]), env=environment, stderr=subprocess.PIPE
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
        deadline = time.monotonic() + PATIENCE
        while httpx.get(f"http://127.0.0.1:{port}/v1/experiments").status_code != 401:
            assert time.monotonic() < deadline, "the key is not read"
            time.sleep(0.1)  # the server reads keys every two seconds
        with Client(f"http://127.0.0.1:{port}", token) as client:
            assert len(client.experiments()) == 1
        assert run("keys", "revoke", "me").exit_code == 0
        assert run("experiments", "show", "nothing").exit_code == 2
        assert "is no storage" in run("experiments", "list", "--storage", "mysql://x").stderr
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) in (0, -signal.SIGTERM)
        assert server.stderr is not None
        server.stderr.close()
