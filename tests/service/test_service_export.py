"""What is exported: every reward in time, which of them counted, and nothing that runs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from serving import PRICES, serving

from armature.client import Client
from armature.service.db.database import open_database
from armature.service.domain import log
from armature.service.domain.log import COLUMNS, export_log, harmless


def _export(storage: str, file: Path) -> None:
    engine = open_database(storage)
    export_log(engine, "prices", file)
    engine.dispose()


def test_rewards_that_did_not_count(storage: str, tmp_path: Path) -> None:
    """They came after their arm was retired; when it is back, its rewards count again."""
    spec = {**PRICES, "labels": ["a", "b", "c", "d"], "policy": "thompsonsampling"}
    with serving(storage) as url, Client(url) as client:
        client.create("prices", spec)
        made = [client.decide_many("prices", 8) for _ in range(3)]
        for stage, decisions in enumerate(made):
            if stage == 1:
                client.retire_arm("prices", "d")
            elif stage == 2:
                client.add_arm("prices", "d", after="c")
            for decision in decisions:
                client.reward(decision.id, 1.0)
        shown = client.experiment("prices")
    _export(storage, tmp_path / "log.parquet")
    table = pd.read_parquet(tmp_path / "log.parquet")
    assert tuple(table.columns) == COLUMNS
    assert len(table) == 24
    assert table["counted"].sum() == shown["rounds"] < 24
    assert set(table.loc[~table["counted"], "arm"]) == {"d"}
    counts = table[table["counted"]].groupby("arm").size().to_dict()
    assert counts == {arm["label"]: arm["pulls"] for arm in shown["arms"] if arm["pulls"]}
    _export(storage, tmp_path / "log.csv")
    assert pd.read_csv(tmp_path / "log.csv")["counted"].tolist() == table["counted"].tolist()


def test_an_arm_that_comes_meanwhile(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels and rewards are those of one moment."""
    spec = {**PRICES, "labels": ["a", "b", "c", "d"]}
    names_of = log._names
    with serving(storage) as url, Client(url) as client:
        client.create("prices", spec)
        for decision in client.decide_many("prices", 4):
            client.reward(decision.id, 1.0)

        def read_and_let_write(*arguments: Any) -> Any:
            found = names_of(*arguments)
            client.add_arm("prices", "e", after="d")
            client.rewards([(made.id, 1.0) for made in client.decide_many("prices", 8)])
            return found

        monkeypatch.setattr(log, "_names", read_and_let_write)
        _export(storage, tmp_path / "log.csv")
        monkeypatch.undo()
        _export(storage, tmp_path / "later.csv")
    assert pd.read_csv(tmp_path / "log.csv")["arm"].tolist() == ["a", "b", "c", "d"]
    assert "e" in pd.read_csv(tmp_path / "later.csv")["arm"].tolist()


RUNS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*2",
    '=HYPERLINK("http://example.org")',
    "\uff1d1+1",
    "-",
    "+1 +1",
    "-1e5x",
]
STAYS = ["customer 17", "a=b", "-1", "+2.5", "-.5e-3", "1-2", "'quoted", "", "=".join("ab")]


def _rows(storage: str, tmp_path: Path, labels: list[Any], units: list[str]) -> list[list[str]]:
    with serving(storage) as url, Client(url) as client:
        client.create("prices", {**PRICES, "labels": labels, "policy": "klucb"})
        for unit in units:
            client.reward(client.decide("prices", unit=unit or None).id, 1.0)
    _export(storage, tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [[row["arm"], row["unit"], row["reward"]] for row in rows]


def test_no_cell_is_run_by_a_spreadsheet(file_storage: str, tmp_path: Path) -> None:
    """Units are what strangers send: a formula among them is a text in the file."""
    labels = ["=A1", "-5 %", "plain", "@home"]
    rows = _rows(file_storage, tmp_path, labels, RUNS + STAYS)
    assert [unit for _, unit, _ in rows] == [f"'{unit}" for unit in RUNS] + STAYS
    assert {arm for arm, _, _ in rows} <= {"'=A1", "'-5 %", "plain", "'@home"}
    assert "'=A1" in {arm for arm, _, _ in rows}


def test_numbers_stay_numbers(file_storage: str, tmp_path: Path) -> None:
    rows = _rows(file_storage, tmp_path, [-1.5, 0, 2, 4], ["-3"])
    assert rows == [["-1.5", "-3", "1.0"]]
    assert pd.read_csv(tmp_path / "log.csv")["arm"].tolist() == [-1.5]


@pytest.mark.parametrize("start", ["\t", "\r", "\n"])
def test_texts_that_no_server_takes_any_more(start: str) -> None:
    """A file may come from elsewhere."""
    assert harmless(f"{start}=1+1") == f"'{start}=1+1"


def test_parquet_has_what_was_sent(file_storage: str, tmp_path: Path) -> None:
    with serving(file_storage) as url, Client(url) as client:
        client.create("prices", PRICES)
        for unit in RUNS:
            client.reward(client.decide("prices", unit=unit).id, 1.0)
    _export(file_storage, tmp_path / "log.parquet")
    assert pd.read_parquet(tmp_path / "log.parquet")["unit"].tolist() == RUNS
