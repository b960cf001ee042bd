"""Whatever the rewards were: pages, explanations and bounds answer, and concern one experiment."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from serving import PRICES, serving

import armature as am
from armature.client import Client

TINY, HUGE = 1e-30, 1e30


def _features(x: float, y: float) -> list[list[float]]:
    return [[a * x, b * y] for a, b in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, 1.0))]


STRUCTURES: list[dict[str, Any]] = [
    {"kind": "unconstrained", "n_arms": 4},
    {"kind": "unimodal", "n_arms": 4},
    {"kind": "monotone", "n_arms": 4},
    {"kind": "concave", "n_arms": 4},
    {"kind": "lipschitz", "n_arms": 4, "constant": 1.0},
    {"kind": "categorised", "categories": ["a", "a", "b", "b"]},
    {"kind": "sparse", "n_arms": 4, "support": 2, "level": 0.0},
    {"kind": "sparse", "n_arms": 4, "support": 2, "level": 0.5},
    {"kind": "linear", "features": _features(1.0, 1.0)},
    {"kind": "linear", "features": _features(TINY, TINY)},
    {"kind": "linear", "features": _features(HUGE, HUGE)},
    {"kind": "linear", "features": _features(TINY, HUGE)},
]
FAMILIES: list[Any] = ["bernoulli", {"kind": "gaussian"}, {"kind": "gaussian", "sigma": None}]
REWARDS = {
    "huge": [HUGE],
    "huge both ways": [HUGE, -HUGE],
    "huge or small": [-HUGE, 1.0, TINY],
    "ones": [1.0],
    "zeros": [0.0],
    "zeros and ones": [0.0, 1.0],
    "equal": [2.5],
}


def _fill(http: httpx.Client, name: str, rewards: list[float], rng: np.random.Generator) -> int:
    """Decide and learn; how many rewards the family could have given."""
    codes = []
    for k in range(12):
        made = http.post(f"/v1/experiments/{quote(name)}/decisions", json={"n": 2})
        for decision in made.json()["decisions"]:
            value = rewards[(k if rng.random() < 0.5 else decision["arm"]) % len(rewards)]
            path = f"/v1/decisions/{decision['id']}/reward"
            codes.append(http.post(path, json={"value": value}).status_code)
    assert set(codes) <= {200, 422}
    return codes.count(200)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("what", REWARDS)
def test_rewards_without_measure(
    file_storage: str, what: str, family: Any, rng: np.random.Generator
) -> None:
    """Nothing but answers and refusals with a sentence, for each structure; all are in the list."""
    if family == "bernoulli" and not set(REWARDS[what]) <= {0.0, 1.0}:
        pytest.skip("its rewards are 0 and 1")
    with serving(file_storage) as url, httpx.Client(base_url=url, timeout=120.0) as http:
        made = []
        for number, structure in enumerate(STRUCTURES):
            name = f"{structure['kind']} {number}"
            spec = {"structure": structure, "family": family}
            created = http.post("/v1/experiments", json={"name": name, "spec": spec})
            assert created.status_code in (201, 422)  # not every family goes with every structure
            if created.status_code == 201:
                assert _fill(http, name, REWARDS[what], rng) > 0
                made.append(name)
        assert len(made) >= 8
        for name in made:
            where = quote(name)
            for path in (f"/v1/experiments/{where}", f"/v1/experiments/{where}/explain"):
                assert http.get(path).status_code == 200, (name, http.get(path).text)
            bound = http.get(f"/v1/experiments/{where}/bound")
            assert bound.status_code in (200, 409), (name, bound.text)
            page = http.get(f"/experiments/{where}", headers={"Accept": "text/html"})
            assert page.status_code == 200, (name, page.text)
            assert not re.search(r'\b(d|[cxy]?[xyr][12]?|width|height)="[^"]*(nan|inf)', page.text)
        listed = http.get("/").text
        assert all(name in listed for name in made)


class Broken(am.PythonPolicy):
    """A policy that can't be explained."""

    def choose(self, state: Any, problem: Any, history: Any, rng: Any) -> int:
        return int(rng.integers(4))


def test_trouble_is_of_one_experiment(file_storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be worked out is said in words, on its own page and in the list."""
    from armature.live.bandit import Bandit

    usual = Bandit.explain

    def explain(self: Bandit) -> Any:
        if isinstance(self.policy, Broken):
            raise OverflowError("too large")
        return usual(self)

    monkeypatch.setattr(Bandit, "explain", explain)
    spec = {**PRICES, "policy": f"{Broken.__module__}:Broken"}
    with serving(file_storage, allow=[Broken.__module__]) as url, Client(url) as client:
        client.create("broken", spec)
        client.create("prices", PRICES)
        client.reward(client.decide("broken").id, 1.0)
        with httpx.Client(base_url=url, headers={"Accept": "text/html"}, timeout=60.0) as http:
            for path in ("/v1/experiments/broken/explain", "/v1/experiments/broken"):
                answer = http.get(path)
                assert answer.status_code == 409
                assert "can't be worked out" in answer.json()["detail"]
            page = http.get("/experiments/broken")
            assert page.status_code == 409
            assert "decisions and rewards go on" in page.text
            listed = http.get("/")
            assert listed.status_code == 200
            assert "be worked out of the rewards so far" in listed.text
            assert http.get("/experiments/prices").status_code == 200
        client.decide("broken")


FORMS: list[dict[str, str]] = [
    {"name": "x", "spec": '{"\\ud800": 1}'},
    {"name": "x", "spec": '{"structure": {"kind": "\\udfff"}}'},
    {"name": "x", "spec": '{"structure": "unimodal", "labels": ["\\ud800", "b"]}'},
    {"name": "x", "spec": '{"structure": {"kind": "categorised", "categories": ["\\ud800", "b"]}}'},
    {"name": "x", "spec": "[" * 50_000},
    {"name": "x", "spec": "1e999"},
    {"name": "\x00", "arms": "a\nb", "structure": "unimodal", "family": "bernoulli"},
    {"name": "x", "arms": "a\nb", "structure": "unimodal", "family": "bernoulli", "window": "nan"},
    {"name": "x", "arms": "a\nb", "structure": "unimodal", "family": "bernoulli", "window": "1e99"},
    {"name": "x", "arms": "a\nb", "structure": "unimodal", "family": "bernoulli", "default": "inf"},
    {"name": "x", "arms": "a\na", "structure": "unimodal", "family": "bernoulli"},
]


def test_forms_with_anything_in_them(http: httpx.Client) -> None:
    """Each is refused with a page that says why, half characters in a JSON text included."""
    headers = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
    for fields in FORMS:
        answer = http.post("/experiments", data=fields, headers=headers)
        assert 400 <= answer.status_code < 500, (fields, answer.status_code)
        assert 'role="alert"' in answer.text
    raw = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    for body in (
        b"name=%ed%a0%80",
        b"name=\xff",
        b"&" * 100,
        b"name=%00&spec=%7b",
        b"key=%ed%a0%80",
    ):
        for path in ("/experiments", "/experiments/prices/status"):
            answer = http.post(path, content=body, headers=raw)
            assert 400 <= answer.status_code < 500, (path, body)
        answer = http.post("/login", content=body, headers=raw)
        assert answer.status_code < 500, body
    for key in ("日本", "a;b", "\n", '"', "\x00", "é" * 5_000):
        answer = http.post(
            "/login", data={"key": key, "back": "//elsewhere\ud7ff"}, headers=headers
        )
        assert answer.status_code < 500, key
    for name in ("%ed%a0%80", "%00", "n" * 500):
        answer = http.get(f"/experiments/{name}", headers=headers)
        assert answer.status_code == 404
