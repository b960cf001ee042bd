"""The page over HTTP: who may see and change what, and what it says. No browser is needed."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from processes import PATIENCE
from serving import PRICES, query, serving, sqlite_in

from armature.client import Client
from armature.service.api.app import make_app
from armature.service.db.database import open_database
from armature.service.db.keys import make_key
from armature.service.db.maintenance import migrate
from armature.service.domain import log as timeline
from armature.service.domain.log import Timeline
from armature.service.page import routes

HTML = {"Accept": "text/html"}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """An open server, as a browser sees it."""
    monkeypatch.setattr("armature.service.page.viewing.FRESH", -1.0)
    with (
        serving(sqlite_in(tmp_path)) as url,
        httpx.Client(base_url=url, headers={**HTML, "Origin": url}) as http,
    ):
        yield http


def make(page: httpx.Client, name: str = "prices", **spec: Any) -> Client:
    client = Client(str(page.base_url))
    client.create(name, {**PRICES, "labels": ["a", "b", "c", "d"], **spec})
    return client


def figures(text: str) -> dict[str, str]:
    """The numbers of the page, by what stands beside them."""
    found = re.findall(r"<dt>([^<]*)</dt><dd[^>]*>(?:<time[^>]*>)?([^<]*)<", text)
    return {name: value.replace(",", "") for name, value in found}


def test_what_happened_to_rewards(page: httpx.Client) -> None:
    with make(page, rewards={"window": 3600, "default": None}) as client:
        made = client.decide_many("prices", 12)
        client.rewards([(d.id, float(d.arm == "b")) for d in made[:8]])
        client.reward(made[0].id, float(made[0].arm == "b"))
        client.cancel(made[8].id)
        shown = figures(page.get("/experiments/prices").text)
    assert (shown["decisions"], shown["rewards"], shown["arms"]) == ("12", "8", "4")
    assert shown["best so far"] == "b"
    assert shown["outstanding"] == "3"
    assert shown["arrived in time"] == "8"
    assert shown["decisions cancelled"] == "1"
    late, expired = shown["arrived late, not applied"], shown["never arrived (window closed)"]
    assert (late, expired) == ("0", "0")
    assert shown["sent twice (since this server started)"] == "1"
    assert shown["events in the log"] == "22"


def test_it_says_what_the_library_says(page: httpx.Client) -> None:
    with make(page) as client:
        made = client.decide_many("prices", 40)
        every = {"a": 5, "b": 2, "c": 3, "d": 7}
        client.rewards([(d.id, float(i % every[d.arm] == 0)) for i, d in enumerate(made)])
        text = page.get("/experiments/prices").text
        belief, bound = client.explain("prices"), client.bound("prices")
    assert belief["summary"].replace("'", "&#39;") in text
    verdict = belief["verdict"]
    assert not verdict["sure"]
    assert verdict["words"].replace("'", "&#39;") in text
    rows = re.findall(r"<tr[^>]*><th scope=\"row\">(.*?)</th>(.*?)</tr>", text)
    assert [name for name, _ in rows] == ["a", "b", "c", "d"]
    for k, (_, cells) in enumerate(rows):
        values = re.findall(r"<td>(.*?)</td>", cells)
        assert int(values[0]) == belief["pulls"][k]
        assert float(values[3]) == pytest.approx(belief["means"][k], abs=1e-3)
        assert float(values[6]) == pytest.approx(belief["projected"][k], abs=1e-3)
        if k != belief["arms"].index(belief["leader"]):
            wanted = bound["pulls"][k] * 3.6888794541139363  # ln 40
            assert float(values[1]) == pytest.approx(wanted, abs=0.06)


def test_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While there is something to wait for, the list says what, and not that there is nothing."""
    made: list[Any] = []

    def noted(*arguments: Any, **options: Any) -> Any:
        made.append(make_app(*arguments, **options))
        return made[0]

    monkeypatch.setattr("serving.make_app", noted)
    with serving(sqlite_in(tmp_path)) as url:
        assert "There are no experiments yet." in httpx.get(url).text
        made[0].state.notice = "Please <wait>."
        text = httpx.get(url).text
    assert '<p class="sentence" role="status">Please &lt;wait&gt;.</p>' in text
    assert "There are no experiments yet." not in text


def test_a_browser_finds_no_icon(page: httpx.Client) -> None:
    assert page.get("/favicon.ico").status_code == 204


def test_forms(page: httpx.Client) -> None:
    fields = {"name": "new", "arms": "x\ny\nz", "structure": "unimodal", "family": "bernoulli"}
    fields |= {"window": "2", "unit": "hours", "default": "0"}
    answer = page.post("/experiments", data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, "/experiments/new")
    with Client(str(page.base_url)) as client:
        spec = client.experiment("new")["spec"]
        assert spec["labels"] == ["x", "y", "z"]
        assert spec["rewards"] == {"window": 7200.0, "default": 0.0}
        for status, sure in (("paused", ""), ("running", ""), ("stopped", "yes")):
            answer = page.post("/experiments/new/status", data={"status": status, "sure": sure})
            assert answer.status_code == 303
            assert client.experiment("new")["status"] == status
    again = page.post("/experiments/new/status", data={"status": "running"})
    assert again.status_code == 409
    assert "for good" in again.text


WRONG = [
    {"arms": "x"},
    {"structure": "nonsense"},
    {"family": ""},
    {"structure": "categorised"},
    {"window": "soon"},
    {"spec": "{"},
    {"spec": '{"structure": "nonsense"}'},
    {"name": "a/b"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_is_wrong_with_a_form(page: httpx.Client, wrong: dict[str, str]) -> None:
    """The form again, with a sentence and all that was typed; nothing is made."""
    fields = {"name": "new", "arms": "x\ny", "structure": "unimodal", "family": "bernoulli"}
    answer = page.post("/experiments", data={**fields, **wrong})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert 'action="/experiments"' in answer.text
    assert {**fields, **wrong}["arms"] in answer.text
    with Client(str(page.base_url)) as client:
        assert client.experiments() == []


def test_stopping_asks_first(page: httpx.Client) -> None:
    with make(page) as client:
        answer = page.post("/experiments/prices/status", data={"status": "stopped"})
        assert answer.status_code == 422
        assert client.experiment("prices")["status"] == "running"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},
    ],
    ids=str,
)
def test_forms_of_other_sites_are_refused(page: httpx.Client, headers: dict[str, str]) -> None:
    with make(page) as client:
        for path, fields in (
            ("/experiments/prices/status", {"status": "paused"}),
            ("/experiments", {"name": "evil", "arms": "x\ny", "structure": "unimodal"}),
            ("/login", {"key": "arm_x"}),
        ):
            answer = page.post(path, data=fields, headers=headers)
            assert answer.status_code == 403, path
            assert "Set-Cookie" not in answer.headers
        assert client.experiment("prices")["status"] == "running"
        assert [row["name"] for row in client.experiments()] == ["prices"]


def test_keys_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armature.service.api.router.FRESH", 0.0)
    storage = sqlite_in(tmp_path)
    engine = open_database(storage)
    migrate(engine)
    reader, admin = make_key(engine, "reader", ["read"]), make_key(engine, "admin", ["admin"])
    other = make_key(engine, "other", ["decide"])
    engine.dispose()
    pause = {"status": "paused"}
    with serving(storage) as url:
        with Client(url, admin) as client:
            client.create("prices", PRICES)
        with httpx.Client(base_url=url, headers={**HTML, "Origin": url}) as http:
            first = http.get("/experiments/prices")
            assert first.status_code == 401
            assert 'action="/login"' in first.text
            assert "unimodal" not in first.text
            assert http.post("/login", data={"key": "arm_wrong"}).status_code == 401
            assert http.post("/login", data={"key": other}).status_code == 403
            assert not http.cookies
            back = {"key": reader, "back": "/experiments/prices"}
            entered = http.post("/login", data=back)
            assert (entered.status_code, entered.headers["location"]) == (303, back["back"])
            cookie = entered.headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=strict" in cookie
            shown = http.get("/experiments/prices")
            assert shown.status_code == 200
            assert "Pause" not in shown.text
            assert http.post("/experiments/prices/status", data=pause).status_code == 403
            assert http.get("/new").status_code == 403
            # The cookie is for the page alone.
            assert http.get("/v1/experiments").status_code == 401
            away = http.post("/login", data={"key": admin, "back": "//evil.example"})
            assert away.headers["location"] == "/"
            assert "Pause" in http.get("/experiments/prices").text
            assert http.post("/experiments/prices/status", data=pause).status_code == 303
            http.post("/logout", data={"x": ""})
            assert http.get("/").status_code == 401


def test_all_that_shows_or_changes_anything_needs_a_key(tmp_path: Path) -> None:
    """Whatever the page has: without a key it is refused, and with one for decisions alone."""
    storage = sqlite_in(tmp_path)
    engine = open_database(storage)
    migrate(engine)
    key = make_key(engine, "shop", ["decide"])
    engine.dispose()
    open_to_all = {"/login", "/logout", "/static/{name}", "/favicon.ico"}
    assert open_to_all < {entry.path for entry in routes.table}
    with serving(storage) as url, httpx.Client(base_url=url, headers={"Origin": url}) as http:
        for entry in routes.table:
            if entry.path in open_to_all:
                continue
            for cookies, code in (({}, 401), ({"armature_key": key}, 403)):
                http.cookies = httpx.Cookies(cookies)
                path = entry.path.replace("{name}", "prices")
                answer = http.request(entry.method, path, data={"status": "paused"})
                assert answer.status_code == code, (entry.method, path)


def test_it_is_small_and_its_own(page: httpx.Client) -> None:
    with make(page, name="<script>alert(1)</script>".replace("/", "|")) as client:
        name = client.experiments()[0]["name"]
        client.decide(name)
        for path in ("/", "/experiments/%3Cscript%3Ealert(1)%3C%7Cscript%3E", "/new", "/login"):
            answer = page.get(path)
            assert answer.status_code == 200
            assert "alert(1)" not in answer.text.replace("&lt;script&gt;alert(1)", "") or (
                "<script>alert" not in answer.text
            )
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            loaded = re.findall(r"(?:src|href)=\"(/static/[^\"]+)\"", answer.text)
            assert len(loaded) == 2
            size = len(answer.content) + sum(len(page.get(file).content) for file in loaded)
            assert size < 150_000
            foreign = answer.text.replace(str(page.base_url), "")  # its own is in code to copy
            assert not re.search(r"https?://(?!www\.w3\.org)", foreign)
    assert page.get("/static/page.py").status_code == 404
    assert page.get("/experiments/nobody").status_code == 404


def test_a_long_log_is_counted_beside_the_page(
    page: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armature.service.page.viewing.MOMENT", 0.05)
    counting, count = threading.Event(), Timeline.catch_up

    def slowly(self: Timeline, connection: Any, key: int) -> None:
        assert counting.wait(PATIENCE)
        count(self, connection, key)

    monkeypatch.setattr(Timeline, "catch_up", slowly)
    with make(page) as client:
        client.decide_many("prices", 4)
    text = page.get("/experiments/prices").text
    assert text.count("Counting the log…") == 2
    assert "outstanding" not in figures(text)
    assert figures(text)["decisions"] == "4"
    counting.set()
    monkeypatch.setattr("armature.service.page.viewing.MOMENT", 60.0)
    assert figures(page.get("/experiments/prices").text)["outstanding"] == "4"


def test_two_hundred_arms_are_small_too(page: httpx.Client) -> None:
    structure = {"kind": "unconstrained", "n_arms": 200}
    with Client(str(page.base_url)) as client:
        client.create("many", {"structure": structure, "family": "bernoulli", "policy": "ucb"})
        made = client.decide_many("many", 200)
        client.rewards([(d.id, float(d.arm % 3 == 0)) for d in made])
        made = client.decide_many("many", 1000)
        client.rewards([(d.id, float(d.arm % 3 == i % 2)) for i, d in enumerate(made)])
    text = page.get("/experiments/many").content
    files = [page.get(f"/static/{name}").content for name in ("page.css", "page.js")]
    assert len(text) + sum(map(len, files)) < 150_000


def test_the_log_in_stretches(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever one looks, it is as if the whole log had been counted at once, by hand."""
    monkeypatch.setattr(timeline, "MOST", 8)
    kept = Timeline()
    engine = open_database(storage)
    with serving(storage) as url, Client(url) as client:
        client.create("prices", PRICES)
        for round_ in range(9):
            made = client.decide_many("prices", 3 + round_)
            client.rewards([(d.id, float(round_ % 2)) for d in made[1:]])
            if round_ == 4:
                client.cancel(made[0].id)
            with engine.connect() as connection:
                kept.catch_up(connection, 1)
    rows = query(storage, "SELECT seq, kind, arm, value FROM event ORDER BY seq")
    engine.dispose()
    assert kept.seq == len(rows)
    assert sum(kept.kinds.values()) == len(rows)
    past = kept.past(range(4))
    assert len(past.rounds) <= 8
    for i, place in enumerate(sorted(kept.stretches)):
        own = [row for row in rows if (row.seq - 1) // kept.width == place]
        for arm in range(4):
            asked = sum(row.kind == "asked" and row.arm == arm for row in own)
            assert past.decisions[i, arm] == asked
        assert past.rewards[i] == sum(row.value for row in own if row.kind == "told")
        assert past.rounds[i] == sum(row.kind == "told" for row in own)
