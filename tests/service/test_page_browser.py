"""The page in a real browser: made, watched, paused, refused; small, dark, and looked at by axe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, FLAGS
from serving import PRICES, serving, sqlite_in

from armature.client import Client
from armature.service.db.database import open_database
from armature.service.db.keys import make_key
from armature.service.db.maintenance import migrate

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to open pages with")
AXE = (Path(__file__).parents[1] / "data" / "axe.min.js").read_text(encoding="utf-8")
SIZES = [(360, 740), (820, 1100), (1440, 900)]


class Tab:
    """A tab that remembers what it loaded and what it complained about."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: m.type in ("error", "warning") and self._complain(m.text))
        page.on("pageerror", lambda error: self._complain(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _complain(self, text: str) -> None:
        self.complaints.append(text)

    def open(self, path: str) -> Any:
        return self.page.goto(self.url + path)

    def check(self) -> None:
        """No complaint, and nothing from another host."""
        assert self.complaints == []
        assert [r for r in self.requests if not r.startswith((self.url, "data:"))] == []

    def violations(self) -> list[str]:
        """What axe finds."""
        self.page.evaluate(AXE)
        found = self.page.evaluate("async () => (await axe.run()).violations")
        return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found]

    def fits(self) -> bool:
        """Whether nothing has to be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    flags = [flag for flag in FLAGS if not flag.startswith(("--headless", "--remote"))]
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with serving(sqlite_in(tmp_path)) as url:
        yield url


@pytest.fixture
def tab(chromium: Any, url: str) -> Iterator[Tab]:
    context = chromium.new_context(timezone_id="Asia/Tokyo", locale="en-GB")
    yield Tab(context.new_page(), url)
    context.close()


def learn(client: Client, name: str, n: int) -> None:
    """Some decisions, with rewards."""
    made = client.decide_many(name, n)
    client.rewards([(d.id, float((i * 7) % 10 < 3 + i % 3)) for i, d in enumerate(made)])


def test_made_watched_paused_and_stopped(tab: Tab) -> None:
    tab.open("/")
    tab.page.get_by_role("link", name="New experiment").click()
    tab.page.get_by_label("Name", exact=True).fill("<script>alert(1)</script>".replace("/", "|"))
    tab.page.get_by_label("Arms, one per line").fill("4.99\n5.99\n6.99")
    tab.page.get_by_label("What you know about the arms").select_option("unimodal")
    tab.page.get_by_role("button", name="Start the experiment").click()
    assert "Please check" in tab.page.get_by_role("alert").inner_text()  # prices have a scale
    tab.page.get_by_role("button", name="Start the experiment").click()
    assert tab.page.get_by_role("heading", level=1).inner_text().startswith("<script>")
    assert "no rewards yet" in (tab.page.locator("svg.arms").get_attribute("aria-label") or "")
    with Client(tab.url) as client:
        name = client.experiments()[0]["name"]
        tab.page.get_by_text("All numbers").click()
        learn(client, name, 40)
        tab.page.locator("#decisions").get_by_text("40", exact=True).wait_for()
        assert tab.page.locator("#numbers").get_attribute("open") is not None  # it stays open
        assert tab.page.locator("svg.arms .mean").count() == 3
        tab.page.get_by_role("button", name="Pause").click()
        assert client.experiment(name)["status"] == "paused"
        assert tab.page.locator(".title .status").inner_text() == "paused"
        tab.page.get_by_role("button", name="Resume").click()
        tab.page.get_by_role("button", name="Stop").click()  # the box is not ticked
        assert client.experiment(name)["status"] == "running"
        tab.page.get_by_label("for good").check()
        tab.page.get_by_role("button", name="Stop").click()
        tab.page.wait_for_load_state()
        assert client.experiment(name)["status"] == "stopped"
        assert tab.page.get_by_role("button", name="Stop").count() == 0
    tab.check()


def test_dates_are_in_the_reader_s_zone(tab: Tab) -> None:
    with Client(tab.url) as client:
        client.create("prices", PRICES)
    tab.open("/experiments/prices")
    time = tab.page.locator("time").first
    shown = tab.page.evaluate(
        "at => new Intl.DateTimeFormat('en-GB', {dateStyle: 'medium', timeStyle: 'short', "
        "timeZone: 'Asia/Tokyo'}).format(new Date(at))",
        time.get_attribute("datetime"),
    )
    assert time.inner_text() == shown
    tab.check()


def test_keys(chromium: Any, tmp_path: Path) -> None:
    storage = sqlite_in(tmp_path)
    engine = open_database(storage)
    migrate(engine)
    admin = make_key(engine, "admin", ["admin"])
    engine.dispose()
    with serving(storage) as url:
        with Client(url, admin) as client:
            client.create("prices", PRICES)
        page = chromium.new_page()
        assert page.goto(url + "/experiments/prices").status == 401
        page.get_by_label("Key").fill("arm_wrong")
        page.get_by_role("button", name="Log in").click()
        assert page.get_by_role("alert").inner_text() == "The key is not known."
        page.get_by_label("Key").fill(admin)
        page.get_by_role("button", name="Log in").click()
        assert page.get_by_role("heading", level=1).inner_text() == "prices"
        assert page.evaluate("document.cookie") == ""  # no script sees it
        # A form of another site: sent by the browser, and refused.
        page.goto("data:text/html,<p>evil")
        page.set_content(
            f"<form method=post action='{url}/experiments/prices/status'>"
            "<input name=status value=paused><button>win</button></form>"
        )
        page.get_by_role("button", name="win").click()
        page.wait_for_load_state()
        with Client(url, admin) as client:
            assert client.experiment("prices")["status"] == "running"
        page.close()


SPECS: dict[str, dict[str, Any]] = {
    "three": {**PRICES, "structure": {"kind": "unimodal", "n_arms": 3}},
    "categories": {
        **PRICES,
        "structure": {"kind": "categorised", "categories": [f"theme {k // 3}" for k in range(12)]},
        "labels": [f"a picture of thing {k}" for k in range(12)],
    },
    "many": {
        "structure": {"kind": "unconstrained", "n_arms": 200},
        "family": "bernoulli",
        "policy": "ucb",
    },
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_at_every_size(chromium: Any, url: str, scheme: str) -> None:
    """Nothing is cut off, and axe finds nothing; without a reward, and with many."""
    with Client(url) as client:
        for name, spec in SPECS.items():
            client.create(name, spec)
        context = chromium.new_context(color_scheme=scheme)
        tab = Tab(context.new_page(), url)
        for n in (0, 400) if scheme == "light" else (400,):
            for name in SPECS:
                if n:
                    learn(client, name, n)
                for width, height in SIZES:
                    tab.page.set_viewport_size({"width": width, "height": height})
                    tab.open(f"/experiments/{name}")
                    assert tab.fits(), (name, width)
                tab.page.locator("details").evaluate_all("all => all.forEach(d => d.open = true)")
                assert tab.violations() == [], (name, n)
        for path in ("/", "/new", "/login"):
            tab.open(path)
            assert tab.violations() == [], path
            assert tab.fits()
        ground = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades = [int(part) for part in re.findall(r"\d+", ground)[:3]]
        assert (max(shades) < 60) == (scheme == "dark")
        tab.check()
        context.close()


def test_it_reads_without_script(chromium: Any, url: str) -> None:
    with Client(url) as client:
        client.create("prices", PRICES)
        learn(client, "prices", 30)
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url + "/experiments/prices")
    assert page.locator("#decisions").inner_text() == "30"
    assert page.locator("time").first.inner_text().endswith("UTC")
    assert page.locator("svg.arms .mean").count() == 4
    context.close()


def test_the_keyboard_is_enough(tab: Tab) -> None:
    with Client(tab.url) as client:
        client.create("prices", PRICES)
    tab.open("/")
    seen = []
    for _ in range(8):
        tab.page.keyboard.press("Tab")
        seen.append(tab.page.evaluate("document.activeElement.textContent.trim()"))
    assert seen[0] == "Skip to the content"
    assert "prices" in seen
    tab.page.get_by_role("link", name="prices").focus()
    tab.page.keyboard.press("Enter")
    assert tab.page.get_by_role("heading", level=1).inner_text() == "prices"
    tab.check()
