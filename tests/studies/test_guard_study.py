"""The study of the guard: its problems, its numbers, and that it goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armature as am
from armature.experiments.paper import PANELS
from studies.challenger.cases import GROUPS
from studies.guard.__main__ import app
from studies.guard.cases import GROSS, ONE, SUBTLE, panel_cases, true_cases, wrong_cases
from studies.guard.dial import mean_ratio
from studies.guard.drawn import BREAKS, EXCHANGED, KINDS, NOISE, RAISED, broken, drawn_cases
from studies.guard.tables import (
    Study,
    again_table,
    aims_table,
    cover,
    error_of,
    geometric,
    premiums,
)


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


def test_drawn_problems() -> None:
    """Over all kinds and families, from subtle to gross; always the same, and no two alike."""
    wrong, true = drawn_cases(3, True), drawn_cases(2, False)
    assert len(wrong) >= 30
    assert not any(case.instance.fits for case in wrong)
    assert all(case.instance.fits for case in true)
    assert {case.group for case in wrong} == set(BREAKS)
    assert {case.group for case in true} == set(KINDS)
    kinds = {type(case.instance.structure) for case in wrong}
    assert kinds >= {type(case.instance.structure) for case in wrong_cases()} | {am.Union}
    families = {type(case.instance.family) for case in wrong}
    assert families == {am.Gaussian, am.Bernoulli, am.Bounded, am.Poisson, am.Exponential}
    again = drawn_cases(3, True)
    assert all(
        (a.instance.means == b.instance.means).all() for a, b in zip(wrong, again, strict=True)
    )
    other = drawn_cases(1, True, seed=1)
    assert {case.name for case in other} != {case.name for case in wrong[::3]}
    for case in [*wrong, *true]:
        best, second = np.sort(case.instance.means)[[-1, -2]]
        assert best > second
        assert am.Guarded().supports(case.instance.structure, case.instance.family)


def test_what_breaks_a_structure() -> None:
    means, rng = np.array([0.1, 0.5, 0.9, 0.3]), np.random.default_rng(0)
    raised = broken(means, RAISED, 0.2, rng)
    arm = int(np.flatnonzero(raised != means)[0])
    assert raised[arm] == pytest.approx(np.delete(means, arm).max() + 0.2)
    exchanged = broken(means, EXCHANGED, 0.2, rng)
    assert sorted(exchanged) == sorted(means)
    assert np.count_nonzero(exchanged != means) == 2
    noisy = np.array([broken(means, NOISE, 0.2, rng) - means for _ in range(2000)])
    assert noisy.std() == pytest.approx(0.2, rel=0.05)
    assert means.tolist() == [0.1, 0.5, 0.9, 0.3]


def results_of(regret: dict[str, float | list[float]]) -> am.Results:
    """Results of one run, or of some, with given final regrets."""
    from armature.rounds.play import PolicyRuns

    instance = am.Instance(am.Unconstrained(2), [0.0, 1.0])
    runs = {}
    for name, value in regret.items():
        last = np.atleast_1d(value)
        n = last.size
        regrets = np.column_stack([np.zeros(n), last])
        runs[name] = PolicyRuns(regrets, np.zeros((n, 2, 2)), np.zeros((n, 2)), np.zeros(n))
    return am.Results(instance, (), 100, 0, np.array([10, 100]), runs)


def test_its_numbers() -> None:
    """Cover is over KLUCB's regret; premiums are over Challenger's, a geometric mean per group."""
    case = wrong_cases()[0]
    wrong = results_of({"Challenger": 40.0, "KLUCB": 10.0, "G": 12.0})
    first, second = (results_of({"Challenger": 10.0, "G": g}) for g in (20.0, 5.0))
    assert cover([(case, wrong)], "G") == pytest.approx([1.2])
    assert premiums([(case, first), (case, second)], "G") == pytest.approx({case.group: 1.0})
    varied = results_of({"KLUCB": [10.0] * 4, "G": [5.0, 15.0, 5.0, 15.0]})
    assert error_of(varied, "G") == pytest.approx(1.96 * np.sqrt(100.0 / 3.0) / 2.0 / 10.0)
    together = results_of({"KLUCB": [1.0, 2.0, 4.0], "G": [2.0, 4.0, 8.0]})
    assert error_of(together, "G") == pytest.approx(0.0, abs=1e-12)
    assert geometric([2.0, 8.0]) == pytest.approx(4.0)


def test_the_words_of_its_tables() -> None:
    """Which aims are met, on which problems; and what is not sure."""
    case, guarded = wrong_cases()[0], am.Guarded().name
    wrong = [(case, results_of({"KLUCB": [10.0] * 2, guarded: [g] * 2})) for g in (30.0, 10.0)]
    true = [(case, results_of({"Challenger": [10.0] * 2, guarded: [11.0] * 2}))]
    rows = aims_table(Study([], [], [], wrong, true)).splitlines()[2:]
    words = [[cell.strip() for cell in row.split("|")[2:4]] for row in rows]
    assert [known for known, _ in words] == ["not run"] * 3
    assert words[0][1] == "1.73, **missed**"
    assert words[1][1] == f"3.00 ± 0.00 ({case.name}); 1 of 2 above, **missed**"
    assert words[2][1] == "+10.0%, met"
    sure, unsure = [20.0] * 4, [10.0, 30.0, 10.0, 30.0]
    for regrets, word in ((sure, "yes"), (unsure, "not surely"), ([60.0] * 4, "**no**")):
        runs = [(case, results_of({"KLUCB": [10.0] * 4, guarded: regrets}))]
        last = again_table(runs).splitlines()[2].split("|")
        assert last[5].strip() == word
        assert last[4].strip() == ("100.0%" if word == "**no**" else "0.0%")


def test_a_quick_study_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--quick", "--out", str(out), "--workers", "1"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    text = (out / "tables.md").read_text(encoding="utf-8")
    assert text.count("<!-- end -->") == 8
    assert (out / "cover.png").stat().st_size > 10_000
    files = sorted(out.rglob("*.parquet"))
    assert len(files) >= 8
    before = {path: path.stat().st_mtime_ns for path in files}
    files[0].write_bytes(b"damaged")
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (out / "tables.md").read_text(encoding="utf-8") == text
    changed = [path for path in files if path.stat().st_mtime_ns != before[path]]
    assert changed == [files[0]]


def test_a_ratio_of_the_dial_by_hand() -> None:
    """Ratios of 2 and 8: 4 on the geometric mean; runs that are all alike have no error."""
    one = np.ones(5)
    assert mean_ratio([(2.0 * one, one), (8.0 * one, one)]) == pytest.approx((4.0, 0.0, 8.0))
    noisy = np.array([1.0, 3.0] * 50)
    value, error, _ = mean_ratio([(noisy, np.ones(100))])
    assert value == pytest.approx(2.0)
    assert error == pytest.approx(0.1, rel=0.2)
