"""OFREP: evaluated by the providers of OpenFeature for Python and for Node, and by hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import PRICES, in_plain_python, query, serving

from armature.client import Client

LABELS = ["a", "b", "c", "d"]
SPEC = {**PRICES, "labels": LABELS, "ofrep": {"visit": "session"}}


@pytest.fixture
def http(file_storage: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    in_plain_python(monkeypatch)
    with serving(file_storage) as url, Client(url) as client, httpx.Client(base_url=url) as http:
        client.create("prices", SPEC)
        client.create("alone", {**PRICES, "labels": [1, 2, 3, 4]})
        segments = {"names": ["pro", "free"]}
        client.create("plans", {**SPEC, "segments": segments, "ofrep": {"segment": "plan"}})
        yield http


def ask(http: httpx.Client, key: str, context: Any, **options: Any) -> httpx.Response:
    return http.post(f"/ofrep/v1/evaluate/flags/{key}", json={"context": context}, **options)


def test_an_evaluation_is_a_decision(http: httpx.Client, file_storage: str) -> None:
    context = {"targetingKey": "u", "session": "s"}
    answer = ask(http, "prices", context)
    assert answer.status_code == 200
    found = answer.json()
    assert found.keys() == {"key", "reason", "variant", "value", "metadata"}
    assert (found["key"], found["reason"], found["variant"]) == ("prices", "SPLIT", found["value"])
    assert found["value"] in LABELS
    assert ask(http, "prices", context).json() == found  # as often as it is evaluated
    assert query(file_storage, "SELECT count(*) FROM decision") == [(1,)]
    other = ask(http, "prices", {**context, "session": "t"}).json()
    assert other["metadata"]["decision"] != found["metadata"]["decision"]
    assert other["value"] == found["value"]  # the unit keeps its arm
    assert ask(http, "alone", {"targetingKey": "u"}).json()["value"] in (1, 2, 3, 4)
    pro = ask(http, "plans", {"targetingKey": "u", "plan": "pro"}).json()
    assert pro["metadata"]["segment"] == "pro"
    with Client(str(http.base_url)) as client:
        client.change("prices", status="paused")
    assert ask(http, "prices", context).json() == found
    new = ask(http, "prices", {"targetingKey": "v"})
    assert new.json() == {"key": "prices", "reason": "DISABLED", "variant": None, "metadata": {}}


def test_rewards(http: httpx.Client) -> None:
    context = {"targetingKey": "u", "session": "s"}
    made = ask(http, "prices", context).json()["metadata"]["decision"]
    body = {"flag": "prices", "context": context, "value": 1.0}
    answer = http.post("/ofrep/v1/rewards", json=body)
    assert answer.json() == {"status": "applied", "detail": None, "decision": made}
    assert http.post("/ofrep/v1/rewards", json=body).json()["status"] == "duplicate"
    assert http.post("/ofrep/v1/rewards", json={**body, "value": 0.0}).status_code == 409
    nobody = {**body, "context": {"targetingKey": "v"}}
    assert http.post("/ofrep/v1/rewards", json=nobody).status_code == 404
    for wrong in ({}, {**body, "value": True}, {**body, "context": {}}, [], {**body, "value": "1"}):
        assert http.post("/ofrep/v1/rewards", json=wrong).status_code == 422
    by_id = ask(http, "prices", {**context, "session": "t"}).json()["metadata"]["decision"]
    assert http.post(f"/v1/decisions/{by_id}/reward", json={"value": 1.0}).status_code == 200


def test_what_is_wrong(http: httpx.Client) -> None:
    """Each by the protocol's code, with a sentence."""
    cases = [
        ("none", {"targetingKey": "u"}, 404, "FLAG_NOT_FOUND"),
        ("prices", {}, 400, "TARGETING_KEY_MISSING"),
        ("prices", {"targetingKey": 7}, 400, "INVALID_CONTEXT"),
        ("prices", "context", 400, "INVALID_CONTEXT"),
        ("prices", {"targetingKey": "u", "session": [1]}, 400, "INVALID_CONTEXT"),
        ("plans", {"targetingKey": "u"}, 400, "INVALID_CONTEXT"),
        ("plans", {"targetingKey": "u", "plan": "gold"}, 400, "INVALID_CONTEXT"),
    ]
    for key, context, status, code in cases:
        answer = ask(http, key, context)
        assert (answer.status_code, answer.json()["errorCode"]) == (status, code), context
        assert answer.json()["key"] == key
        assert answer.json()["errorDetails"].endswith(".")
    json_type = {"Content-Type": "application/json"}
    for path in ("/prices", ""):
        answer = http.post(f"/ofrep/v1/evaluate/flags{path}", content="{", headers=json_type)
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "PARSE_ERROR")
    assert http.post("/ofrep/v1/evaluate/flags", json={"context": {}}).status_code == 400


def test_all_flags(http: httpx.Client, file_storage: str) -> None:
    """Those whose spec has `ofrep`; nothing is decided again, and nothing sent again."""
    body = {"context": {"targetingKey": "u", "plan": "free"}}
    answer = http.post("/ofrep/v1/evaluate/flags", json=body)
    flags = {flag["key"]: flag for flag in answer.json()["flags"]}
    assert set(flags) == {"prices", "plans"}
    assert flags["plans"]["metadata"]["segment"] == "free"
    etag = answer.headers["etag"]
    again = http.post("/ofrep/v1/evaluate/flags", json=body, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert query(file_storage, "SELECT count(*) FROM decision") == [(2,)]
    other = {"context": {"targetingKey": "v", "plan": "gold"}}
    answer = http.post("/ofrep/v1/evaluate/flags", json=other, headers={"If-None-Match": etag})
    assert answer.status_code == 200
    codes = {flag["key"]: flag.get("errorCode") for flag in answer.json()["flags"]}
    assert codes == {"prices": None, "plans": "INVALID_CONTEXT"}


def test_the_provider_for_python(http: httpx.Client) -> None:
    api = pytest.importorskip("openfeature.api", reason="OpenFeature is not installed")
    provider = pytest.importorskip("openfeature.contrib.provider.ofrep")
    context_of = pytest.importorskip("openfeature.evaluation_context").EvaluationContext
    api.set_provider(provider.OFREPProvider(str(http.base_url)))
    flags = api.get_client()
    context = context_of("u", {"session": "s"})
    found = flags.get_string_details("prices", "default", context)
    assert found.error_code is None, found.error_message
    assert found.value in LABELS
    assert (found.variant, str(found.reason.value)) == (found.value, "SPLIT")
    decision = found.flag_metadata["decision"]
    assert http.post(f"/v1/decisions/{decision}/reward", json={"value": 1.0}).status_code == 200
    assert flags.get_integer_value("alone", 0, context) in (1, 2, 3, 4)
    missing = flags.get_string_details("nothing", "default", context)
    assert (missing.value, missing.error_code.value) == ("default", "FLAG_NOT_FOUND")
    nobody = flags.get_string_details("prices", "default", context_of(None, {}))
    assert (nobody.value, nobody.error_code.value) == ("default", "TARGETING_KEY_MISSING")
    with Client(str(http.base_url)) as client:
        client.change("prices", status="stopped")
    stopped = flags.get_string_details("prices", "default", context_of("w", {}))
    assert (stopped.value, stopped.reason.value, stopped.error_code) == (
        "default", "DISABLED", None,
    )  # fmt: skip


NODE = """
import { OpenFeature } from '@openfeature/server-sdk';
import { OFREPProvider } from '@openfeature/ofrep-provider';
await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: process.argv[2] }));
const flags = OpenFeature.getClient();
const who = { targetingKey: 'u', session: 's' };
const found = await flags.getStringDetails('prices', 'default', who);
const missing = await flags.getStringDetails('nothing', 'default', who);
console.log(JSON.stringify({ found, missing }));
process.exit(0);
"""


@pytest.mark.skipif(
    shutil.which("node") is None or "ARMATURE_NODE" not in os.environ,
    reason="no Node, or ARMATURE_NODE does not name a folder with OpenFeature's provider for it",
)
def test_the_provider_for_node(http: httpx.Client) -> None:
    """ARMATURE_NODE: where npm has installed @openfeature/server-sdk and .../ofrep-provider."""
    script = Path(os.environ["ARMATURE_NODE"]) / "evaluate.mjs"
    script.write_text(NODE, encoding="utf-8")
    run = subprocess.run(
        ["node", script, str(http.base_url)], capture_output=True, text=True, timeout=60, check=True
    )
    said = json.loads(run.stdout)
    assert said["found"]["value"] in LABELS
    assert said["found"]["reason"] == "SPLIT"
    assert "decision" in said["found"]["flagMetadata"]
    assert (said["missing"]["value"], said["missing"]["errorCode"]) == (
        "default", "FLAG_NOT_FOUND",
    )  # fmt: skip
