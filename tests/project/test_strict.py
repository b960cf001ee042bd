"""Instances whose means are not in their structure."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments import load_instance

MEANS = [0.9, 0.1, 0.5]
SPEC = """
means = [0.9, 0.1, 0.5]
strict = false
horizon = 60
repetitions = 2
policies = ["KLUCB", "Challenger"]
[structure]
kind = "unimodal"
"""


def test_the_truth_may_lie_outside() -> None:
    with pytest.raises(am.ArmatureError, match=r"not in Unimodal: .* say strict=False"):
        am.Instance(am.Unimodal(3), MEANS)
    instance = am.Instance(am.Unimodal(3), MEANS, strict=False)
    assert not instance.fits
    assert instance.best_arm == 0
    assert instance.gaps.tolist() == pytest.approx([0.0, 0.8, 0.4])
    with pytest.raises(am.ArmatureError, match="an instance needs a unique best arm"):
        am.Instance(am.Unimodal(3), [0.9, 0.1, 0.9], strict=False)
    with pytest.raises(am.ArmatureError, match="strict must be True or False"):
        am.Instance(am.Unimodal(3), MEANS, strict="no")  # type: ignore[arg-type]


def test_there_is_no_lower_bound() -> None:
    instance = am.Instance(am.Unimodal(3), MEANS, strict=False)
    for ask in (am.lower_bound, am.solve_game):
        with pytest.raises(am.ArmatureError, match="no lower bound for a structure that is wrong"):
            ask(instance)
    fits = am.Instance(am.Unimodal(3), [0.1, 0.9, 0.5], strict=False)
    assert fits.fits
    assert am.lower_bound(fits).value > 0.0


def test_results_have_no_bound_and_no_warning(tmp_path: Path) -> None:
    instance = am.Instance(am.Unimodal(3), MEANS, strict=False)
    results = am.simulate(instance, [am.KLUCB(), am.Challenger()], horizon=50, repetitions=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(results.summary()["V"]).all()
        results.plot(tmp_path / "regret.svg")
    results.save(tmp_path / "results.parquet")
    again = am.Results.load(tmp_path / "results.parquet")
    assert not again.instance.fits
    assert again.is_current
    assert np.array_equal(again.regret("KLUCB"), results.regret("KLUCB"))


def test_a_spec(tmp_path: Path) -> None:
    spec = tmp_path / "wrong.toml"
    spec.write_text(SPEC, encoding="utf-8")
    assert not load_instance(spec).fits
    run = CliRunner().invoke(app, ["run", str(spec), "--out", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    bound = CliRunner().invoke(app, ["bound", str(spec)])
    assert bound.exit_code != 0
    assert "no lower bound for a structure that is wrong" in " ".join(bound.output.split())
    spec.write_text(SPEC.replace("strict = false\n", ""), encoding="utf-8")
    with pytest.raises(am.ArmatureError, match="the means are not in Unimodal"):
        load_instance(spec)
    spec.write_text(SPEC.replace("strict = false", "strict = 0"), encoding="utf-8")
    with pytest.raises(am.ArmatureError, match="strict must be True or False"):
        load_instance(spec)
