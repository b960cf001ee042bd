"""What may be sent to the service, and what is refused: with a sentence, and nothing changed."""

from __future__ import annotations

import json
import re
import sys
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
from serving import PRICES, fingerprint, query, sentence, serving

from armature.client import Client

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


def test_hostile_bodies(http: httpx.Client, file_storage: str) -> None:
    before = fingerprint(file_storage)
    for body in HOSTILE:
        for content_type in ("application/json", "text/plain", "application/xml"):
            answer = http.post(
                "/v1/experiments/prices/decisions",
                content=body,
                headers={"Content-Type": content_type},
            )
            assert answer.status_code in (400, 422), (body[:50], answer.status_code)
            assert sentence(answer)
    decision = query(file_storage, "SELECT id FROM decision")[0][0]
    for value in ("NaN", "Infinity", "-Infinity", "1e400", '"1"', "true", "null", "[1]", "0.5"):
        answer = http.post(
            f"/v1/decisions/{decision}/reward",
            content=f'{{"value": {value}}}',
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code in (400, 422), value
    assert fingerprint(file_storage) == before


def test_bodies_that_are_too_large(http: httpx.Client, file_storage: str) -> None:
    before = fingerprint(file_storage)
    large = json.dumps({"name": "x" * 1_000_001, "spec": {}}).encode()
    for content in (large, iter([large[:500_000], large[500_000:]])):  # with a length, and without
        answer = http.post(
            "/v1/experiments", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 413
        assert "1000000 bytes" in sentence(answer)
    many = {"rewards": [{"decision": "1-2-0", "value": 1}] * 1_001}
    assert http.post("/v1/rewards", json=many).status_code == 422
    assert fingerprint(file_storage) == before
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


def test_a_body_in_chunks_is_answered_like_one_of_known_length(http: httpx.Client) -> None:
    """But for ids and arms, the answers are the same, and so are the counts."""
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


def test_names(http: httpx.Client, file_storage: str) -> None:
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
    ({**PRICES, "labels": ["1", 1, "1.0", 2]}, "different types"),
    ({**PRICES, "labels": ["a", "b", "c", 1.5]}, "different types"),
    ({**PRICES, "labels": ["a", "b", "c", "\ud800"]}, "half of a character"),
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
    (
        {
            "structure": {
                "kind": "segments",
                "names": ["a"],
                "each": {"kind": "unimodal", "n_arms": 3},
            },
            "labels": ["x", "y", "z"],
        },
        "name these beside it",
    ),
    ({**PRICES, "segments": ["a", "b"]}, "segments must be a table"),
    ({**PRICES, "changes": "ignore"}, "changes is"),
    ({**PRICES, "changes": ["restart"]}, "changes is"),
    ({**PRICES, "forget": "soon"}, "half-life"),
    ({**PRICES, "forget": -1}, ""),
    ({**PRICES, "forget": True}, "forget must be a number"),
    ({**PRICES, "forget": "1d", "segments": {"names": ["a", "b"]}}, "does not go with segments"),
    ({**PRICES, "segments": {"names": []}}, "names must be a list"),
    ({**PRICES, "segments": {"names": ["a", "a"]}}, "there twice"),
    ({**PRICES, "segments": {"names": ["a", None]}}, "a label is"),
    ({**PRICES, "segments": {"names": ["a", "b"], "otherwise": "c"}}, "no segment 'c'"),
    ({**PRICES, "segments": {"names": ["a", "b"], "coupling": "likes"}}, "likes"),
    ({**PRICES, "segments": {"names": ["a", "b"], "coupling": {"kind": "os:system"}}}, "os:system"),
    ({**PRICES, "segments": {"names": [*map(str, range(251))]}}, "at most 1000 arms"),
]


def test_specs(http: httpx.Client, file_storage: str) -> None:
    """What a spec may not say, least of all the name of anything to import."""
    before = fingerprint(file_storage)
    for spec, reason in SPECS:
        answer = http.post(
            "/v1/experiments",
            content=json.dumps({"name": "bad", "spec": spec}),
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 422, (spec, answer.text)
        assert reason in sentence(answer), (spec, sentence(answer))
    deep: Any = 0
    for _ in range(400):
        deep = [deep]
    body = {"name": "bad", "spec": {"structure": {"kind": "linear", "features": deep}}}
    assert http.post("/v1/experiments", json=body).status_code == 422
    assert fingerprint(file_storage) == before


def test_a_price_without_a_scale(http: httpx.Client) -> None:
    """Such an experiment is made, and the answer says what it looks for."""
    labels = [4.99, 5.99, 6.99, 7.99]
    scaled = {"kind": "bernoulli", "scale": labels}
    hinted: list[tuple[dict[str, Any], bool]] = [
        ({**PRICES, "labels": labels}, True),
        ({**PRICES, "labels": labels, "family": "bernoulli"}, True),
        ({**PRICES, "labels": [str(label) for label in labels]}, True),
        ({**PRICES, "labels": [f"$ {label}" for label in labels]}, True),
        ({**PRICES, "labels": labels, "family": {"kind": "Bernoulli"}}, True),
        ({**PRICES, "labels": labels, "family": "BERNOULLI"}, True),
        ({**PRICES, "labels": labels, "family": scaled}, False),
        ({**PRICES, "labels": labels, "family": "gaussian", "policy": "ucb"}, False),
        ({**PRICES, "labels": ["a", "b", "c", "d"]}, False),
        (PRICES, False),
    ]
    for number, (spec, has_hint) in enumerate(hinted):
        answer = http.post("/v1/experiments", json={"name": f"prices {number}", "spec": spec})
        assert answer.status_code == 201
        hint = answer.json()["hint"]
        assert ("scale" in hint) if has_hint else (hint is None), spec


def test_the_form_has_the_hint_too(http: httpx.Client) -> None:
    """It is shown once, before anything is made; and a price or nothing may be chosen there."""
    headers = {"Sec-Fetch-Site": "same-origin"}
    fields = {"name": "x", "arms": "5\n6\n7", "structure": "unimodal", "family": "bernoulli"}
    shown = http.post("/experiments", data=fields, headers=headers)
    assert shown.status_code == 200
    assert "the one with the most money" in shown.text
    assert http.get("/v1/experiments/x").status_code == 404
    assert 'name="hinted" value="yes"' in shown.text
    again = http.post("/experiments", data={**fields, "hinted": "yes"}, headers=headers)
    assert again.status_code == 303
    sale = http.post(
        "/experiments", data={**fields, "name": "y", "family": "sale"}, headers=headers
    )
    assert sale.status_code == 303
    family = http.get("/v1/experiments/y").json()["spec"]["family"]
    assert "[5.0, 6.0, 7.0]" in json.dumps(family["scale"])


def test_nothing_is_imported_for_a_request(http: httpx.Client, tmp_path: Path) -> None:
    sys.path.insert(0, str(tmp_path))
    try:
        (tmp_path / "trojan.py").write_text("raise SystemExit('imported')")
        spec = {**PRICES, "policy": {"kind": "trojan:Horse"}}
        assert http.post("/v1/experiments", json={"name": "t", "spec": spec}).status_code == 422
        assert "trojan" not in sys.modules
    finally:
        sys.path.remove(str(tmp_path))


def test_whatever_the_description_allows(
    file_storage: str, n_problems: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests made from the OpenAPI description, right and wrong: no 500, nothing undescribed."""
    with serving(file_storage) as url:
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
            monkeypatch.setattr("armature.service.domain.reading.summary", lambda row: {"name": 5})
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
