"""Shares of an identification, done anywhere and put together: the same bits as from one go."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from folders import content
from rich.console import Console
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments import identification
from armature.experiments.engines.blocks import Shard
from armature.experiments.experiment import Experiment, parse_experiments
from armature.experiments.run_identification import Asked, folder_of, run_identification
from armature.experiments.store import keys
from armature.experiments.store.identify_shards import (
    merge_identification,
    run_identification_shard,
)
from armature.storage.files import write_text

SPEC = """
title = "four"
means = [0.0, 0.6, 1.6, 0.8]
repetitions = 7
structure = { kind = "unimodal" }
policies = ["toptwo", "uniformsampling"]
"""
SWEEP = SPEC + '[sweep]\n"family.sigma" = [0.5, 1.0]\n'
ASKED = Asked((0.1, 0.02), "practical", 10_000)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which repetitions were run; pictures are only hinted at."""
    calls: list[tuple[str, int]] = []
    true_run = identification.Sampling.run

    def counted(self, policy, repetition, *rest):
        calls.append((policy.name, repetition))
        true_run(self, policy, repetition, *rest)

    monkeypatch.setattr(identification.Sampling, "run", counted)
    monkeypatch.setattr(am.Identification, "plot", lambda self, path: write_text(path, "a picture"))
    return calls


def in_one_go(experiments: list[Experiment], out: Path) -> None:
    console = Console(quiet=True)
    for n, experiment in enumerate(experiments):
        folder = folder_of(out, n, len(experiments))
        run_identification(experiment, ASKED, folder, 1, console, quiet=True)


def run_share(experiments: list[Experiment], text: str, out: Path) -> int:
    shard, console = Shard.parse(text), Console(quiet=True)
    return run_identification_shard(experiments, ASKED, shard, out, 1, console, quiet=True)


@pytest.mark.parametrize("spec", [SPEC, SWEEP], ids=["one", "sweep"])
@pytest.mark.parametrize("together", [True, False], ids=["one folder", "a folder each"])
def test_shares_make_the_same_results(
    ran: list[tuple[str, int]], tmp_path: Path, spec: str, together: bool
) -> None:
    experiments = parse_experiments(spec)
    in_one_go(experiments, tmp_path / "alone")
    everything = len(ran)
    ran.clear()
    folders = [tmp_path / ("out" if together else f"out{n}") for n in range(3)]
    counts = [run_share(experiments, f"{n + 1}/3", folders[n]) for n in (2, 0, 1)]
    assert sum(counts) == len(ran) == everything == 14 * len(experiments)
    assert min(counts) > 0
    ran.clear()
    found = merge_identification(experiments, ASKED, folders, tmp_path / "out", Console(quiet=True))
    assert ran == []
    assert content(tmp_path / "out") == content(tmp_path / "alone")
    again = found[0].rounds("TopTwo")
    loaded = am.Identification.load(
        folder_of(tmp_path / "alone", 0, len(experiments)) / "identification.parquet"
    )
    assert (again == loaded.rounds("TopTwo")).all()
    run_share(experiments, "2/3", tmp_path / "out")
    assert ran == []


def test_what_is_missing_or_of_other_code_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments = parse_experiments(SPEC)
    run_share(experiments, "1/2", tmp_path)
    console = Console(quiet=True)
    with pytest.raises(am.ArmatureError, match="TopTwo lacks the repetitions 3 to 6"):
        merge_identification(experiments, ASKED, [], tmp_path, console)
    with pytest.raises(am.ArmatureError, match="there is no folder"):
        merge_identification(experiments, ASKED, [tmp_path / "no"], tmp_path, console)
    monkeypatch.setattr(keys, "package_code", lambda: "other code")
    said = io.StringIO()
    with pytest.raises(am.ArmatureError, match="repetitions 0 to 6"):
        merge_identification(experiments, ASKED, [], tmp_path, Console(file=said, width=10_000))
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
