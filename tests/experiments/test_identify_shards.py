"""Shares of an identification, done anywhere and put together: the same bits as from one go."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from folders import content, quietly
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments import keys
from armature.experiments.blocks import Shard
from armature.experiments.experiment import parse_experiments
from armature.experiments.identification import IdentificationPlan
from armature.experiments.merging import merge
from armature.experiments.run import run_all, run_shard
from armature.experiments.run_store import PartsFolder
from armature.experiments.sweep import point_folder
from armature.storage.files import write_text

SPEC = """
title = "four"
means = [0.0, 0.6, 1.6, 0.8]
repetitions = 7
structure = { kind = "unimodal" }
policies = ["toptwo", "uniformsampling"]
"""
SWEEP = SPEC + '[sweep]\n"family.sigma" = [0.5, 1.0]\n'


def plans_of(spec: str) -> list[IdentificationPlan]:
    settings = {"deltas": (0.1, 0.02), "threshold": "practical", "horizon": 10_000}
    return [IdentificationPlan.of(one, **settings) for one in parse_experiments(spec)]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which repetitions were run; pictures are only hinted at."""
    calls: list[tuple[str, int]] = []
    true_run = IdentificationPlan.play

    def counted(self, policy, repetition, *rest):
        calls.append((policy.name, repetition))
        return true_run(self, policy, repetition, *rest)

    monkeypatch.setattr(IdentificationPlan, "play", counted)
    monkeypatch.setattr(am.Identification, "plot", lambda self, path: write_text(path, "a picture"))
    return calls


def run_share(spec: str, text: str, out: Path) -> int:
    return run_shard(plans_of(spec), Shard.parse(text), out, quietly(workers=1))


@pytest.mark.parametrize("spec", [SPEC, SWEEP], ids=["one", "sweep"])
@pytest.mark.parametrize("together", [True, False], ids=["one folder", "a folder each"])
def test_shares_make_the_same_results(
    ran: list[tuple[str, int]], tmp_path: Path, spec: str, together: bool
) -> None:
    plans = plans_of(spec)
    run_all(plans, tmp_path / "alone", quietly(workers=1))
    everything = len(ran)
    ran.clear()
    folders = [tmp_path / ("out" if together else f"out{n}") for n in range(3)]
    counts = [run_share(spec, f"{n + 1}/3", folders[n]) for n in (2, 0, 1)]
    assert sum(counts) == len(ran) == everything == 14 * len(plans)
    assert min(counts) > 0
    ran.clear()
    found = merge(plans, folders, tmp_path / "out", quietly())
    assert ran == []
    assert content(tmp_path / "out") == content(tmp_path / "alone")
    alone = tmp_path / "alone" / (point_folder(plans[0].point) if len(plans) > 1 else ".")
    loaded = am.Identification.load(alone / "identification.parquet")
    shown = found[0].table.drop(columns="us_per_round")
    assert shown.equals(loaded.summary().drop(columns="us_per_round"))
    run_share(spec, "2/3", tmp_path / "out")
    assert ran == []


def test_parts_that_are_copied_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the folder was listed before they came."""
    run_share(SPEC, "1/1", tmp_path / "other")
    true_parts = PartsFolder.__init__

    def listed_at_once(self: PartsFolder, path: Path) -> None:
        true_parts(self, path)
        assert self.of("") == []

    monkeypatch.setattr(PartsFolder, "__init__", listed_at_once)
    (found,) = merge(plans_of(SPEC), [tmp_path / "other"], tmp_path / "out", quietly())
    assert len(found.table) == 4


def swept(*values: float) -> str:
    return f'{SPEC}[sweep]\n"family.sigma" = {list(values)}\n'


def test_values_are_added_anywhere(ran: list[tuple[str, int]], tmp_path: Path) -> None:
    """Only new points are run: from one to two, in front, and after one was taken out."""
    for values in ((1.0,), (0.5, 1.0), (0.25, 0.5, 1.0), (0.25, 1.0, 2.0)):
        ran.clear()
        run_all(plans_of(swept(*values)), tmp_path / "out", quietly(workers=1))
        assert len(ran) == 14
    run_all(plans_of(swept(2.0, 1.0, 0.5, 0.25)), tmp_path / "alone", quietly(workers=1))
    assert content(tmp_path / "out") == content(tmp_path / "alone")


POLICIES = SPEC.replace('"toptwo"', '{ kind = "ucb", width = 2.0 }')


@pytest.mark.parametrize(
    "spec",
    [swept(0.5, 1.0), POLICIES + '[sweep]\n"policies.ucb.width" = [3.0, 2.5]\n'],
    ids=["problems", "policies"],
)
def test_folders_with_numbers_go_on(ran: list[tuple[str, int]], tmp_path: Path, spec: str) -> None:
    """Points had numbers once, and the only point of a sweep had none."""
    out, plans = tmp_path / "out", plans_of(spec)
    run_all(plans, out, quietly(workers=1))
    there = content(out)
    for number, plan in enumerate(plans, start=1):
        (out / point_folder(plan.point)).rename(out / f"point-{number}")
    numbered = content(out)
    ran.clear()
    run_all(plans, out, quietly(workers=1))
    run_all(plans[::-1], out, quietly(workers=1))
    assert ran == []
    assert content(out) == numbered != there
    more = plans_of(spec.replace('"uniformsampling"', '"uniformsampling", "gamesampling"'))
    run_all(more, out, quietly(workers=1))
    assert {name for name, _ in ran} == {"GameSampling"}
    assert {path.name for path in out.iterdir()} == {"point-1", "point-2"}
    for path in (out / "point-1").iterdir():
        path.rename(out / path.name)
    (out / "point-1").rmdir()
    ran.clear()
    run_all(more, out, quietly(workers=1))
    assert ran == []


def test_what_is_missing_or_of_other_code_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = plans_of(SPEC)
    run_share(SPEC, "1/2", tmp_path)
    with pytest.raises(am.ArmatureError, match="TopTwo lacks the repetitions 3 to 6"):
        merge(plans, [], tmp_path, quietly())
    with pytest.raises(am.ArmatureError, match="there is no folder"):
        merge(plans, [tmp_path / "no"], tmp_path, quietly())
    monkeypatch.setattr(keys, "package_code", lambda: "other code")
    said = io.StringIO()
    with pytest.raises(am.ArmatureError, match="repetitions 0 to 6"):
        merge(plans_of(SPEC), [], tmp_path, quietly(said))
    assert "were made by another version of the code" in said.getvalue()


def test_the_command(tmp_path: Path) -> None:
    spec, out = tmp_path / "four.toml", tmp_path / "out"
    spec.write_text(SPEC)
    options = ["identify", str(spec), "--delta", "0.1", "--quiet", "--repetitions", "2"]
    shares = [*options, "--out", str(out)]
    for text in ("1/2", "2/2"):
        share = CliRunner().invoke(app, [*shares, "--shard", text])
        assert share.exit_code == 0, share.output
        assert f"shard {text} is finished" in share.output
    merged = CliRunner().invoke(app, [*shares, "--merge", "--json"])
    alone = CliRunner().invoke(app, [*options, "--json"])
    assert merged.exit_code == 0, merged.output
    rows = [line for line in merged.stdout.splitlines() if "us_per_round" not in line]
    assert rows == [line for line in alone.stdout.splitlines() if "us_per_round" not in line]
    for wrong, word in (
        ([*shares, "--shard", "1/2", "--merge"], "leave one of them out"),
        ([*options, "--shard", "1/2"], "--shard needs --out"),
        ([*options, "--merge"], "--merge needs --out"),
        ([*shares, "--source", str(out)], "add --merge"),
    ):
        refused = CliRunner().invoke(app, wrong)
        assert refused.exit_code == 2, refused.output
        assert word in (refused.output + refused.stderr).replace("\n", " ")
