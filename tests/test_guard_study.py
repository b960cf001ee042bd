"""The study of the guard: its problems, its numbers, and that it goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armature as am
from armature.experiments.figure import PANELS
from studies.challenger.cases import GROUPS
from studies.guard.__main__ import app
from studies.guard.cases import GROSS, ONE, SUBTLE, panel_cases, true_cases, wrong_cases
from studies.guard.tables import Study, cover, geometric, premiums


def test_the_suite_of_wrong_structures() -> None:
    """At least thirty, none of which fits, over all structures and families."""
    cases = wrong_cases()
    assert len(cases) >= 30
    assert len({case.name for case in cases}) == len(cases)
    assert all(not case.instance.fits for case in cases)
    assert {case.group for case in cases} == {GROSS, ONE, SUBTLE}
    kinds = {type(case.instance.structure) for case in cases}
    assert kinds >= {
        am.Unimodal, am.Categorised, am.Sparse, am.Linear, am.Lipschitz, am.Concave, am.Simplex,
        am.Polyhedral, am.Box, am.Monotone, am.Multimodal, am.UnimodalTree, am.Intersection,
    }  # fmt: skip
    families = {type(case.instance.family) for case in cases}
    assert families == {am.Gaussian, am.Bernoulli, am.Poisson, am.Exponential}


def test_true_problems_fit() -> None:
    cases = [*panel_cases(), *true_cases(1)]
    untold = {group for group in GROUPS if group.endswith("untold")}  # sigma: there is no guard
    assert untold
    assert {case.group for case in cases} == {*PANELS, *GROUPS} - untold
    assert all(case.instance.fits for case in cases)


def results_of(regret: dict[str, float]) -> am.Results:
    """Results of one run with given final regrets."""
    from armature.simulation.results import PolicyRuns

    instance = am.Instance(am.Unconstrained(2), [0.0, 1.0])
    runs = {
        name: PolicyRuns(
            np.array([[0.0, value]]), np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros(1)
        )
        for name, value in regret.items()
    }
    return am.Results(instance, (), 100, 0, np.array([10, 100]), runs)


def test_its_numbers() -> None:
    """Cover is over KLUCB's regret; premiums are over Challenger's, a geometric mean per group."""
    case = wrong_cases()[0]
    wrong = results_of({"Challenger": 40.0, "KLUCB": 10.0, "G": 12.0})
    first, second = (results_of({"Challenger": 10.0, "G": g}) for g in (20.0, 5.0))
    study = Study([(case, wrong)], [], [(case, first), (case, second)])
    assert cover(study, "G") == pytest.approx([1.2])
    assert premiums(study, "G") == pytest.approx({case.group: 1.0})
    assert geometric([2.0, 8.0]) == pytest.approx(4.0)


def test_a_quick_study_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--quick", "--out", str(out), "--workers", "1"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    text = (out / "tables.md").read_text(encoding="utf-8")
    assert text.count("<!-- end -->") == 4
    assert (out / "cover.png").stat().st_size > 10_000
    files = sorted(out.rglob("*.parquet"))
    assert len(files) >= 8
    before = {path: path.stat().st_mtime_ns for path in files}
    files[0].write_bytes(b"damaged")
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (out / "tables.md").read_text(encoding="utf-8") == text
    changed = [path for path in files if path.stat().st_mtime_ns != before[path]]
    assert changed == [files[0]]
