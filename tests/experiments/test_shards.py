"""Shares of an experiment, done anywhere and put together: the same bits as from one machine."""

from __future__ import annotations

import io
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from folders import SPEC, Runner, changed, content, plans_of, quietly, without_pictures
from test_sweep import SWEEP
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments import keys, merging
from armature.experiments.blocks import Shard
from armature.experiments.merging import collect_point, merge, points_of
from armature.experiments.run import claim_all, run_shard


class Shares:
    """Runs shares and merges; knows which repetitions were played by the last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whole = Runner(monkeypatch)
        self.played = self.whole.played

    def run(self, text: str, out: Path, spec: str = SPEC) -> str:
        self.played.clear()
        said = io.StringIO()
        shard = Shard.parse(text)
        run_shard(plans_of(spec), shard, out, quietly(said, workers=2))
        return said.getvalue()

    def merge(self, out: Path, *sources: Path, spec: str = SPEC) -> str:
        self.played.clear()
        said = io.StringIO()
        merge(plans_of(spec), sources, out, quietly(said))
        assert self.played == []
        return said.getvalue()


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> Shares:
    return Shares(monkeypatch)


@pytest.mark.parametrize("spec", [SPEC, SWEEP], ids=["experiment", "sweep"])
@pytest.mark.parametrize("count", [1, 3, 20])
@pytest.mark.parametrize("together", [True, False], ids=["one folder", "a folder each"])
def test_shares_make_the_same_results(
    shares: Shares, tmp_path: Path, spec: str, count: int, together: bool
) -> None:
    shares.whole(tmp_path / "alone", spec)
    everything = len(shares.played)
    folders = [tmp_path / ("out" if together else f"out{n}") for n in range(count)]
    played = 0
    for number in reversed(range(count)):
        assert shares.run(f"{number + 1}/{count}", folders[number], spec) == ""
        played += len(shares.played)
        assert abs(len(shares.played) - everything / count) < 3.0
    assert played == everything
    assert shares.merge(tmp_path / "out", *folders, spec=spec) == ""
    assert content(tmp_path / "out") == content(tmp_path / "alone")
    shares.whole(tmp_path / "out", spec)
    assert shares.played == []


def test_points_are_put_together_by_processes(shares: Shares, tmp_path: Path) -> None:
    """The same bits; a point that is not collected elsewhere is made by the program that asks."""
    plans, out = plans_of(SWEEP), tmp_path / "out"
    shares.whole(tmp_path / "alone", SWEEP)
    shares.run("1/1", tmp_path / "out", SWEEP)
    merge(plans, [], out, quietly(), processes=2)
    assert without_pictures(tmp_path / "out") == without_pictures(tmp_path / "alone")
    point = points_of(claim_all(plans, out, quietly()))[0]
    assert collect_point(replace(point, code="other")) is None
    assert collect_point(point, tmp_path / "no mark") is None
    assert len(point.parts.of(next(iter(point.parts._names or {})))) == 1


def test_a_share_is_resumed(shares: Shares, tmp_path: Path) -> None:
    shares.run("2/3", tmp_path)
    first = list(shares.played)
    shares.run("2/3", tmp_path)
    assert shares.played == []
    max(tmp_path.glob("parts/*.part")).unlink()
    shares.run("2/3", tmp_path)
    assert 0 < len(shares.played) < len(first)
    assert set(shares.played) < set(first)


def test_what_is_missing_is_named_and_the_next_run_plays_it(shares: Shares, tmp_path: Path) -> None:
    shares.whole(tmp_path / "alone")
    for text in ("1/3", "3/3"):
        shares.run(text, tmp_path / "out")
    with pytest.raises(am.ArmatureError, match="not all runs are in") as error:
        shares.merge(tmp_path / "out")
    for name in ("UCB", r"UCB(width=0.5)"):
        assert f"{name} lacks the repetitions 4 to 7" in str(error.value)
    assert not (tmp_path / "out" / "results.parquet").exists()
    shares.whole(tmp_path / "out")
    assert sorted({r for _, r in shares.played}) == [4, 5, 6, 7]
    assert content(tmp_path / "out") == content(tmp_path / "alone")


@pytest.mark.parametrize("elsewhere", [True, False])
def test_blocks_of_other_code_are_refused(
    shares: Shares, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    shares.whole(tmp_path / "alone")
    out, other = tmp_path / "out", tmp_path / ("other" if elsewhere else "out")
    shares.run("1/2", out)
    with monkeypatch.context() as patch:
        patch.setattr(keys, "package_code", lambda: "older code")
        shares.run("2/2", other)
    said = io.StringIO()
    with pytest.raises(am.ArmatureError, match="UCB lacks the repetitions 6 to 11"):
        merge(plans_of(SPEC), [other], out, quietly(said))
    for name in ("UCB", "UCB(width=0.5)"):
        sentence = f"{name}: 1 parts in {str(other / 'parts')!r} were made by another version"
        assert sentence in said.getvalue()
    assert len(list(out.glob("parts/*.part"))) == (2 if elsewhere else 4)
    assert "another version" in shares.run("2/2", out) or elsewhere
    shares.merge(out)
    assert content(out) == content(tmp_path / "alone")


def test_parts_of_something_else_are_left_alone(shares: Shares, tmp_path: Path) -> None:
    shares.run("1/2", tmp_path / "out")
    shares.run("2/2", tmp_path / "mine")
    shares.run("1/1", tmp_path / "other", changed(SPEC, "seed = 5", "seed = 6"))
    shutil.copytree(tmp_path / "other" / "parts", tmp_path / "mine" / "parts", dirs_exist_ok=True)
    assert shares.merge(tmp_path / "out", tmp_path / "mine") == ""
    assert len(list(tmp_path.glob("out/parts/*.part"))) == 4
    with pytest.raises(am.ArmatureError, match="holds another experiment"):
        shares.run("1/2", tmp_path / "other")


def test_a_damaged_part_is_not_taken_over(shares: Shares, tmp_path: Path) -> None:
    shares.run("1/2", tmp_path / "out")
    shares.run("2/2", tmp_path / "mine")
    path = min(tmp_path.glob("mine/parts/*.part"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    said = io.StringIO()
    with pytest.raises(am.ArmatureError, match="lacks the repetitions 6 to 11"):
        merge(plans_of(SPEC), [tmp_path / "mine"], tmp_path / "out", quietly(said))
    assert f"{str(path)!r} is damaged, or no part: it is not taken over" in said.getvalue()
    path.write_bytes(whole)
    shares.merge(tmp_path / "out", tmp_path / "mine")


def test_the_command_line(shares: Shares, tmp_path: Path) -> None:
    spec, out = tmp_path / "spec.toml", str(tmp_path / "out")
    spec.write_text(SPEC)

    def call(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, [words[0], str(spec), *words[1:]])
        return result.exit_code, result.output + result.stderr

    code, said = call("run", "--shard", "1/2")
    assert (code, "--shard needs --out" in said) == (2, True)
    code, said = call("run", "--shard", "3/2", "--out", out)
    assert (code, "there is no shard 3 of 2" in said) == (2, True)
    code, said = call("merge", "--out", out, str(tmp_path / "nowhere"))
    assert (code, "there is no folder" in said) == (2, True)
    for text in ("1/2", "2/2"):
        code, said = call("run", "--shard", text, "--out", out, "--quiet")
        assert (code, f"shard {text} is finished" in said) == (0, True)
        assert f"Its 12 runs are in {out}" in said
    code, said = call("merge", "--out", out)
    assert code == 0
    alone = call("run", "--quiet")[1]
    row = next(line for line in said.splitlines() if line.startswith("UCB(width=0.5)"))
    assert row.split()[1] in alone


class Deadly:
    """A point that kills the process that reads it."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (9,)


def test_a_process_that_is_killed_leaves_the_work_to_others(
    shares: Shares, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares.run("1/1", tmp_path, SWEEP)
    monkeypatch.setattr(merging, "points_of", lambda places: [Deadly()] * len(places))
    found = merge(plans_of(SWEEP), [], tmp_path, quietly(), processes=2)
    assert len(found) == len(plans_of(SWEEP))
    assert (tmp_path / "table.csv").is_file()
