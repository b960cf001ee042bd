"""The study of Challenger: its problems, its statistics, its search, and that it goes on."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import armature as am
from armature.rounds.play import PolicyRuns
from armature.storage.registry import POLICIES
from studies.challenger import close as closing
from studies.challenger import run as running
from studies.challenger import search as searching
from studies.challenger.__main__ import app
from studies.challenger.cases import DECIDING, GROUPS, mints_cases, panel_cases, random_cases
from studies.challenger.narrowed import NARROWED, narrowed_cases, narrowed_table
from studies.challenger.size import FULL, QUICK, SHORT, Size
from studies.challenger.stuck import Stuck, count_stuck, still_stuck, stuck_table
from studies.challenger.tables import Study, growth, others_in, tables, verdicts
from studies.commands import Sizes, study_app


def study(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "out"
    code, output = study("--quick", "--out", str(folder))
    assert code == 0, output
    return folder


def results_of(regret: dict[str, list[float]], pulls_of_best: dict[str, list[float]]) -> am.Results:
    """Two arms, arm 1 the best; two checkpoints, at rounds 10 and 100."""
    instance = am.Instance(am.Unconstrained(2), [0.0, 1.0])
    runs = {}
    for name, values in regret.items():
        R = len(values)
        pulls = np.zeros((R, 2, 2))
        pulls[:, 1, 1] = pulls_of_best.get(name, [90.0] * R)
        final = np.stack([np.zeros(R), np.array(values)], axis=1)
        runs[name] = PolicyRuns(final, pulls, np.zeros((R, 2)), np.zeros(R))
    return am.Results(instance, (), 100, 0, np.array([10, 100]), runs)


@pytest.mark.parametrize("group", GROUPS)
def test_random_instances_fit_their_structure(group: str) -> None:
    for number in range(3):
        instance = GROUPS[group](np.random.default_rng(number))
        assert instance.structure.violation_of(instance.means) is None
        gap = np.sort(instance.gaps)[1]
        assert 0.02 <= gap <= 0.05 if group == "linear-6-2-tied" else gap > 0.05
        again = GROUPS[group](np.random.default_rng(number))
        assert np.array_equal(instance.means, again.means)


def test_what_the_groups_are_called_is_what_they_are() -> None:
    cases = {case.group: case for case in random_cases(1)}
    for group, case in cases.items():
        kind, arms = group.split("-")[:2]
        assert type(case.instance.structure).__name__.lower() == kind
        assert case.instance.n_arms == int(arms)
        family = group.split("-")[-1] if group.endswith(("bernoulli", "poisson")) else "gaussian"
        assert type(case.instance.family).__name__.lower() == family
    assert cases["unimodal-20-edge"].instance.best_arm == 0
    assert len(np.unique(cases["unimodal-20-plateau"].instance.means)) <= 4
    tied = np.sort(cases["unimodal-20-tied"].instance.gaps)
    assert tied[1] == pytest.approx(0.06)
    features = np.asarray(cases["linear-20-4-stretched"].instance.structure.features)
    assert np.linalg.cond(features) > 30


CHANGING = (
    "Restarting", "Forgetting", "SlidingWindow", "SWOSUB", "GLRKLUCB", "MonitoredUCB",
)  # fmt: skip


def test_every_policy_takes_part_in_the_panels() -> None:
    names = {policy.name for case in panel_cases() for policy in case.policies}
    every = {cls.__name__ for cls in POLICIES.values() if not cls.identifies}
    # (MINTS, the guard, what `studies.field` plays and what is for changes have their own studies;
    # CROP is for lists of mean vectors, and no panel is one)
    field = {"CROP", "UCBC", "TSC", "LinMED", "LinIMED", "MaillardSampling"}
    elsewhere = {"MINTS", "Guarded", *field, *CHANGING}
    assert names == every - elsewhere | {"IDS(width=0.5)", "SOLID(width=0.3)"}
    assert all(case.policies[1].name == "MINTS" for case in mints_cases())


def test_ratio_and_stuck_by_hand() -> None:
    results = results_of(
        {"Challenger": [2.0, 4.0], "UCB": [3.0, 3.0], "IMED": [1.0, 5.0]},
        {"Challenger": [44.0, 46.0]},  # of 90 rounds after the tenth
    )
    ratio, error, rival = searching.ratio_of(results)
    assert rival in ("UCB", "IMED")
    assert ratio == pytest.approx(1.0)
    assert error == pytest.approx(np.std([-1.0, 1.0], ddof=1) / (3.0 * math.sqrt(2)))
    assert searching.share_stuck(results, "Challenger") == 0.5


def test_close_groups_by_hand() -> None:
    """The same numbers, and each instance against its own best; tails drawn again."""
    cases = [
        results_of({"Challenger": [2.0, 2.0], "SPk": [0.5, 0.5], "IMED": [1.0, 1.0]}, {}),
        results_of({"Challenger": [3.0, 7.0], "SPk": [9.0, 9.0], "IMED": [4.0, 4.0]}, {}),
    ]
    assert others_in(cases) == ["SPk", "IMED"]
    assert others_in(cases, ["SPk"]) == ["IMED"]
    found = closing.against_the_best(cases, ["SPk", "IMED"])
    assert (found.rival, found.above) == ("IMED", pytest.approx(1.0 / 2.5))
    assert found.error == pytest.approx(1.96 * np.std([1, 1, -1, 3], ddof=1) / 2 / 2.5)
    assert closing.ratio_to_best(cases, ["SPk", "IMED"]) == pytest.approx(
        math.sqrt(4.0 * 5.0 / 4.0)
    )
    assert 0.0 < closing.tail_chance(cases) < 0.5  # above SPk's only if the second is not drawn
    worse = [results_of({"Challenger": [3.0, 4.0], "SPk": [1.0, 2.0]}, {})]
    assert closing.tail_chance(worse) == 1.0
    assert "**no**" in closing.close_table({"g": worse})
    assert "**no**" not in closing.close_table({"g": cases})


def test_who_takes_part_where_it_is_close() -> None:
    cases = closing.close_cases(2)
    assert [case.group for case in cases[::2]] == list(closing.CLOSE)
    assert set(closing.CLOSE) <= set(GROUPS)
    for case in cases:
        assert case.policies[0].name == "Challenger"
        assert "SPk" in {policy.name for policy in case.policies}
    every = {policy.name for case in cases for policy in case.policies}
    assert every == {*closing.RIVALS, *closing.ON_SPARSE}


def test_the_aims_by_hand() -> None:
    """One panel that is lost, one group that is not; V = 2, and 10 rounds to 100 are a decade."""
    lost = results_of({"Challenger": [5.0, 5.1], "UCB": [3.0, 3.2], "SPk": [9.0, 9.0]}, {})
    won = results_of({"Challenger": [2.0, 2.0], "UCB": [4.0, 4.0], "SPk": [1.0, 9.0]}, {})
    long = results_of({"Challenger": [4.0, 6.0]}, {"Challenger": [10.0, 80.0]})
    assert growth(long, "Challenger") == pytest.approx(5.0 / (2.0 * math.log(10.0)))
    study = Study({"p-00": lost}, {}, {"g-00": won}, {}, {"p-00": long}, {}, [], {"g-00": "g"})
    measured = [row.split("|")[3].strip() for row in verdicts(study).splitlines()[2:]]
    assert measured == [
        "0 of 1", "1 of 1", "0.500", "1 of 1", "50.0%", "1.09 to 1.09",
    ]  # fmt: skip
    met = [row.split("|")[4].strip() for row in verdicts(study).splitlines()[2:]]
    assert met == ["**no**", "yes", "yes", "yes", "**no**", "yes"]
    assert list(tables(study)) == [
        "aims", "panels", "panel-differences", "growth", "groups", "rivals",
    ]  # fmt: skip


def test_groups_in_doubt_are_judged_by_the_runs_that_were_added() -> None:
    """Of two groups one was lost; with more runs it is not. Each counts once in the mean."""
    lost = results_of({"Challenger": [5.0, 5.1], "UCB": [3.0, 3.2], "SPk": [4.0, 4.0]}, {})
    won = results_of({"Challenger": [2.0, 2.0], "UCB": [4.0, 4.0], "SPk": [9.0, 9.0]}, {})
    many = Stuck("p", 4, 100, 2, 1000, 1, 1.0, 2.0, 3.0)
    cases = {"g-00": lost, "h-00": won, "h-01": won}
    groups = {name: name[0] for name in [*cases, "g-01"]}
    study = Study(
        {}, {}, cases, {}, {}, {}, [], groups, close={"g-00": won, "g-01": won}, stuck=[many]
    )
    measured = [row.split("|")[3].strip() for row in verdicts(study).splitlines()[2:]]
    stuck = "2 of 4 at T = 100, 1 of these at T = 1,000"
    assert measured == ["2 of 2", "0.500", "2 of 2", stuck]
    study = Study({}, {}, cases, {}, {}, {}, [], groups)
    measured = [row.split("|")[3].strip() for row in verdicts(study).splitlines()[2:]]
    assert measured == ["1 of 2", f"{math.sqrt(0.5 * 5.05 / 3.1):.3f}", "1 of 2"]


def test_the_aims_without_narrowed_policies() -> None:
    """Lost to a narrowed policy alone: both numbers are there, and so are both verdicts."""
    regrets = {"Challenger": [5.0, 5.1], "IDS(width=0.5)": [3.0, 3.2], "SPk": [9.0, 9.2]}
    lost = results_of(regrets, {})
    study = Study({"p-00": lost}, {}, {"g-00": lost}, {}, {}, {}, [], {"g-00": "g"})
    rows = [[cell.strip() for cell in row.split("|")] for row in verdicts(study).splitlines()[2:]]
    counts = "1 of 1 (0 of 1 with the narrowed ones)"
    ratios = f"{5.05 / 9.1:.3f} ({5.05 / 3.1:.3f} with the narrowed ones)"
    assert [row[3] for row in rows] == [counts, counts, ratios, "1 of 1"]
    assert [row[4] for row in rows] == [*3 * ["yes (**no** with them)"], "yes"]
    hidden = {"Challenger": [5.0, 5.1], "IDS(width=0.5)": [0.0, 8.0], "SPk": [4.5, 4.6]}
    study = Study({"p-00": results_of(hidden, {})}, {}, {}, {}, {}, {}, [], {})
    (row,) = verdicts(study).splitlines()[2:]
    assert "**no** (yes with them)" in row  # a noisy rival that is best on average hides another


def test_a_stuck_run_is_played_on_with_the_same_rewards() -> None:
    """Twenty rounds are few: some runs have another arm; at 5,000 rounds none has."""
    instance = am.Instance(am.Unconstrained(2), [0.0, 0.6])
    results = am.simulate(instance, [am.Challenger()], 20, 200)
    stuck = searching.stuck_runs(results, "Challenger")
    assert stuck.size > 10
    for r in range(200):
        assert still_stuck(results, r, 20) == (r in stuck)
    found = count_stuck("p", results, 5000)
    assert (found.stuck, found.late) == (stuck.size, 0)
    assert found.worst == results.regret("Challenger")[:, -1].max() > found.mean
    row = stuck_table([found, found]).splitlines()[-1]
    assert row.startswith(f"| **all** | **400** | **{2 * stuck.size}** | **0** |")


def test_the_instance_for_narrowed_policies_and_its_table() -> None:
    """The means fit the structure; both narrowed policies take part, and others."""
    (case,) = narrowed_cases()
    assert case.instance.structure.contains(case.instance.means)
    assert {policy.name for policy in case.policies} > {*NARROWED}
    row = narrowed_table(results_of({"Challenger": [1.0, 3.0]}, {"Challenger": [10.0, 80.0]}))
    assert row.splitlines()[-1] == "| Challenger | 2.0 ± 2.0 | 2 | 3 | 3 | 3 | 50.0% |"


def test_the_search_finds_a_planted_weakness(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that loses where the means are high: the search must drive them up."""

    def simulate(instance: am.Instance, policies: object, *rest: object, **more: object) -> object:
        ours = 1.0 + float(instance.means.max())
        return results_of({"Challenger": [ours, ours], "UCB": [1.0, 1.0]}, {})

    monkeypatch.setattr(searching, "simulate", simulate)
    size = QUICK.__class__(**{**vars(QUICK), "generations": 10})
    found = searching.worst("unconstrained", "UCB", size, None, np.random.default_rng(0))
    ratio, _, rival = searching.ratio_of(found)
    assert rival == "UCB"
    assert ratio > 3.0  # the starting instances have means below 1


def test_the_search_uses_the_workers_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def simulate(*arguments: object, workers: int | None = None, **more: object) -> object:
        seen.append(workers)
        return results_of({"Challenger": [2.0, 2.0], "UCB": [1.0, 1.0]}, {})

    monkeypatch.setattr(searching, "simulate", simulate)
    searching.worst("unimodal", "UCB", QUICK, 3, np.random.default_rng(0))
    assert set(seen) == {3}
    assert len(seen) == 12 + 12 + 1  # a crowd, one generation, the last measurement


def test_where_it_goes_and_with_how_many_workers() -> None:
    seen, chosen = [], []

    def run_study(
        out: Path, size: Size, workers: int | None, console: object, *, parts: object, engine: str
    ) -> None:
        assert engine == "threads"
        seen.append((str(out), size, workers))
        chosen.append(parts)

    sizes = Sizes(FULL, SHORT, QUICK)
    command = study_app("A study.", run_study, "out-study", sizes, {}, running.PARTS)

    def study(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(command, list(arguments))
        return result.exit_code, result.output

    assert study()[0] == study("--quick", "--workers", "2")[0] == study("--out", "x")[0] == 0
    assert study("--short")[0] == 0
    assert seen == [
        ("out-study", FULL, None),
        ("out-study-quick", QUICK, 2),
        ("x", FULL, None),
        ("out-study-short", SHORT, None),
    ]
    assert study("--workers", "0")[0] == 2
    assert study("--only", "long", "--only", "groups")[0] == 0
    assert chosen[0] == running.PARTS
    assert chosen[-1] == ["long", "groups"]
    code, output = study("--only", "longer")
    assert code == 2
    assert "there is no part ['longer']" in " ".join(output.split())


def test_only_public_modules_are_imported() -> None:
    for path in (Path(__file__).parents[2] / "studies").rglob("*.py"):
        for module in re.findall(r"^(?:from|import) (armature[\w.]*)", path.read_text(), re.M):
            assert "._" not in module, f"{path.name}: {module}"


def test_the_tables_hold_what_the_runs_gave(out: Path) -> None:
    frame = pd.read_csv(out / "cases.csv")
    text = (out / "tables.md").read_text()
    means = frame.pivot(index="case", columns="policy", values="mean")
    groups = frame.drop_duplicates("case").set_index("case")["group"]
    random = groups[groups != "panels"].index
    said = re.search(r"groups \| 0.93 \| ([\d.]+) \(([\d.]+) with the narrowed ones\) \|", text)
    assert said is not None
    again = {  # of groups in doubt, other runs count
        folder.name: am.Results.load(folder / "results.parquet").summary()["regret"]
        for folder in (out / "close groups").iterdir()
    }
    assert again
    in_doubt = groups.index.isin([*again])
    used = pd.concat([means[~means.index.isin(groups.index[in_doubt])], pd.DataFrame(again).T])
    for number, without in zip(said.groups(), ([*NARROWED], []), strict=True):
        others = used.drop(columns=["Challenger", *without]).min(axis=1)
        ratios = np.log(used["Challenger"] / others)[random]
        expected = np.exp(ratios.groupby(groups[random]).mean().mean())
        assert float(number) == pytest.approx(expected, abs=6e-4)
    for case in means.index:
        part = "deciding groups" if groups[case] in DECIDING else "random instances"
        folder = out / (part if case in random else "panels") / case
        results = am.Results.load(folder / "results.parquet")
        final = results.regret("SPk")[:, -1]
        assert means.loc[case, "SPk"] == pytest.approx(final.mean())
    for name in ("ratios.png", "failures.png"):
        assert (out / name).stat().st_size > 10_000


def test_it_goes_on_where_it_was(out: Path) -> None:
    before = (out / "tables.md").read_bytes()
    lost = next((out / "random instances").iterdir())
    shutil.rmtree(lost)
    (out / "tables.md").unlink()
    code, output = study("--quick", "--out", str(out))
    assert code == 0, output
    assert (out / "tables.md").read_bytes() == before


def test_another_size_is_not_mixed_in(out: Path) -> None:
    code, output = study("--out", str(out))
    assert code == 2
    assert "holds another" in " ".join(output.split())
