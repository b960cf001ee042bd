"""The export over HTTP, the page of the HTTP interface, and code to copy from a page."""

from __future__ import annotations

import html
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pandas as pd
import pytest
from serving import PRICES, in_plain_python, serving

from armature.client import Client, ServiceError

NAME = "Pat's <prices> & more"
HTML = {"Accept": "text/html"}


@pytest.fixture
def client(file_storage: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Client]]:
    in_plain_python(monkeypatch)
    monkeypatch.setattr("armature.service.page.viewing.FRESH", -1.0)
    with serving(file_storage) as url, Client(url) as client:
        client.create(NAME, {**PRICES, "labels": ["a", "=b", "c", "d"]})
        client.create("table", {**PRICES, "segments": {"names": ["it's", "b"]}})
        yield url, client


def test_the_export(client: tuple[str, Client]) -> None:
    url, shop = client
    for made in shop.decide_many(NAME, 4):
        shop.reward(made.id, 1.0)
    table = pd.read_parquet(io.BytesIO(shop.export(NAME, "parquet")))
    assert table["arm"].tolist() == ["a", "=b", "c", "d"]
    assert table["probability"].tolist() == [1.0] * 4
    assert table["reward"].tolist() == [1.0] * 4
    text = pd.read_csv(io.BytesIO(shop.export(NAME)))
    assert text["arm"].tolist() == ["a", "'=b", "c", "d"]
    answer = httpx.get(f"{url}/v1/experiments/table/export")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "segment" in answer.text.splitlines()[0]
    with pytest.raises(ServiceError) as caught:
        shop.export("none")
    assert caught.value.code == 404
    with pytest.raises(ServiceError) as caught:
        shop.export(NAME, "xlsx")
    assert caught.value.code == 422


def test_the_page_of_the_interface(client: tuple[str, Client]) -> None:
    url, _ = client
    page = httpx.get(f"{url}/docs", headers=HTML).text
    paths = httpx.get(f"{url}/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page
    assert "&#34;request_id?&#34;" in page
    assert re.findall(r'(?:src|href)="(?!/|#|data:)', page) == []  # nothing from another host


def code_on(url: str, name: str) -> dict[str, str]:
    """What the page of an experiment offers to copy, by language."""
    page = httpx.get(f"{url}/experiments/{name}", headers=HTML).text
    found = re.findall(r'aria-label="(curl|Python|JavaScript)"><pre>(.*?)</pre>', page, re.DOTALL)
    return {language: html.unescape(text) for language, text in found}


@pytest.mark.parametrize("name", [NAME, "table"])
def test_the_code_runs(client: tuple[str, Client], name: str) -> None:
    """As it stands; where it begins with an id, with that of a decision."""
    url, shop = client
    code = code_on(url, name.replace("<", "%3C").replace(" ", "%20"))
    assert set(code) == {"curl", "Python", "JavaScript"}
    run = [sys.executable, "-c", code["Python"]]
    before = shop.experiment(name)["rounds"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert shop.experiment(name)["rounds"] == before + 1
    if shutil.which("curl"):
        first, _ = code["curl"].splitlines()
        words = [*shlex.split(first), "--silent", "--fail-with-body"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout
        assert '"decisions"' in done.stdout
    if shutil.which("node"):
        run = ["node", "--input-type=module", "-e", code["JavaScript"]]
        done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        assert shop.experiment(name)["rounds"] == before + 2


def test_the_headline_needs_no_statistics(client: tuple[str, Client]) -> None:
    """The best arm, its traffic and what was earned; the policy's reason stands below."""
    url, shop = client
    shop.create("prices", {**PRICES, "labels": ["a", "b", "c", "d"]})
    page = httpx.get(f"{url}/experiments/prices", headers=HTML).text
    assert 'id="headline">No rewards yet: it is trying the arms.</p>' in page
    for _ in range(20):
        made = shop.decide_many("prices", 8)
        shop.rewards([(one.id, float(one.arm == "b")) for one in made])
    page = httpx.get(f"{url}/experiments/prices", headers=HTML).text
    (said,) = re.findall(r'id="headline">(.*?)</p>', page)
    arms = shop.experiment("prices")["arms"]
    earned = arms[1]["pulls"] - 160 * 0.25  # uniform allocation earns a quarter of the rounds
    begun, _, gained = said.partition(" of the traffic. So far it earned ")
    assert re.fullmatch(
        r"b is (probably )?the best of 4 arms and gets >?[0-9]+ %", begun.replace("&gt;", ">")
    )
    assert gained == f"{earned:g} more than all arms equally often would have."
    summary = html.escape(shop.explain("prices")["summary"]).replace("&#x27;", "&#39;")
    assert summary in page
