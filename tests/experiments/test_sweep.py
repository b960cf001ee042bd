"""Sweeps: an index, one table, a picture, and points that can be added anywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from folders import SPEC, Runner, changed, content, plans_of, quietly
from matplotlib.image import imread

import armature as am
from armature.experiments.blocks import Shard
from armature.experiments.experiment import parse_experiments
from armature.experiments.folder import PlanFolder
from armature.experiments.merging import merge
from armature.experiments.run import run_all, run_shard
from armature.experiments.sweep import curve_names, point_folder
from armature.views.experiment_charts import MOST_PANELS, plot_sweep, sweep_charts

SWEEP = changed(SPEC, "repetitions = 12", "repetitions = 3") + (
    '\n[sweep]\n"family.sigma" = [0.5, 2.0]\n"policies.ucb.width" = [0.5, 1.0]\n'
)
SWEEP = changed(SWEEP, '["ucb", { kind = "ucb", width = 0.5 }]', '["ucb", "klucb"]')


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(monkeypatch)


def test_what_a_sweep_leaves(runner: Runner, tmp_path: Path) -> None:
    out = tmp_path / "out"
    runner(out, SWEEP)
    assert len(runner.played) == 18  # KLUCB once for each sigma: the width is not its own
    index = pd.read_csv(out / "index.csv")
    assert index["family.sigma"].tolist() == [0.5, 0.5, 2.0, 2.0]
    assert index["policies.ucb.width"].tolist() == [0.5, 1.0, 0.5, 1.0]
    table = pd.read_csv(out / "table.csv")
    assert len(table) == 8
    text = (out / "table.md").read_text(encoding="utf-8")
    for _, point in index.iterrows():
        results = am.Results.load(out / point["folder"] / "results.parquet")
        assert results.instance.family == am.Gaussian(point["family.sigma"])
        assert results.policies[0] == am.UCB(width=point["policies.ucb.width"])
        rows = table[
            (table["family.sigma"] == point["family.sigma"])
            & (table["policies.ucb.width"] == point["policies.ucb.width"])
        ].set_index("policy")
        for name in results.names:
            final = results.regret(name)[:, -1]
            error = final.std(ddof=1) / np.sqrt(3)
            assert rows.loc[name, "regret"] == pytest.approx(final.mean())
            assert rows.loc[name, "standard_error"] == pytest.approx(error)
            assert f"{final.mean():.4g} ± {error:.2g}" in text
    picture = imread(out / "regret.png")
    assert picture[..., :3].std() > 0.05
    before = content(out)
    runner(out, SWEEP)
    assert runner.played == []
    assert content(out) == before


EXTENSIONS = [
    ("[0.5, 2.0]", "[0.25, 0.5, 2.0]", 9),
    ('"policies.ucb.width" = [0.5, 1.0]', '"policies.ucb.width" = [0.1, 0.5, 1.0]', 9),
    ("repetitions = 3", "repetitions = 4", 12),
    ('["ucb", "klucb"]', '["imed", "ucb", "klucb"]', 12),
    ("[0.25, 0.5, 2.0]", "[2.0, 0.5]", 0),
]


def test_a_sweep_is_extended_anywhere(runner: Runner, tmp_path: Path) -> None:
    spec = SWEEP
    runner(tmp_path / "out", spec)
    for old, new, played in EXTENSIONS:
        spec = changed(spec, old, new)
        runner(tmp_path / "out", spec)
        assert len(runner.played) == played, new
    runner(tmp_path / "fresh", spec)
    fresh, extended = content(tmp_path / "fresh"), content(tmp_path / "out")
    assert {name: extended[name] for name in fresh} == fresh


def test_another_sweep_is_refused(runner: Runner, tmp_path: Path) -> None:
    runner(tmp_path, SWEEP)
    before = content(tmp_path)
    for other in (
        changed(SWEEP, "seed = 5", "seed = 6"),
        changed(SWEEP, '"family.sigma" = [0.5, 2.0]\n', ""),
        SPEC,
    ):
        with pytest.raises(am.ArmatureError, match="holds another experiment"):
            runner(tmp_path, other)
    assert content(tmp_path) == before
    path = tmp_path / "experiment.json"
    path.write_bytes(before["experiment.json"][:50])  # cut off: it is completed
    runner(tmp_path, SWEEP)
    assert content(tmp_path) == before
    path.write_text("rubbish")
    with pytest.raises(am.ArmatureError, match="is damaged, so it is unknown"):
        runner(tmp_path, SWEEP)
    runner(tmp_path / "single", SPEC)
    with pytest.raises(am.ArmatureError, match="holds another experiment"):
        runner(tmp_path / "single", SWEEP)


def test_what_the_points_have_in_common() -> None:
    common = parse_experiments(SWEEP)[0].common
    assert common == {
        "means": [0.2, 0.9, 0.4],
        "horizon": 80,
        "seed": 5,
        "structure": {"kind": "unconstrained"},
    }
    more = changed(SWEEP, "[0.5, 2.0]", "[3.0]")
    more = changed(more, "repetitions = 3", "repetitions = 9")
    assert parse_experiments(more)[0].common == common
    sigma = SWEEP.replace("[sweep]", '[family]\nkind = "gaussian"\nsigma = 7.0\n[sweep]')
    assert parse_experiments(sigma)[0].common["family"] == {"kind": "gaussian"}


@pytest.mark.parametrize("act", ["run", "share", "merge"])
def test_a_folder_is_claimed_once(runner: Runner, tmp_path: Path, monkeypatch, act: str) -> None:
    """Each point's folder, whether its runs are played, shared, or put together."""
    runner(tmp_path, SWEEP)
    claimed: list[Path] = []
    claim = PlanFolder._claim

    def noted(folder: PlanFolder) -> dict[str, str]:
        claimed.append(folder._path)
        return claim(folder)

    monkeypatch.setattr(PlanFolder, "_claim", noted)
    plans = plans_of(SWEEP)
    if act == "run":
        run_all(plans, tmp_path, quietly())
    elif act == "share":
        run_shard(plans, Shard(1, 2), tmp_path, quietly())
    else:
        merge(plans, [], tmp_path, quietly())
    assert sorted(claimed) == sorted(tmp_path / point_folder(plan.point) for plan in plans)
    assert len(set(claimed)) == len(plans) > 1


def test_points_have_folders_of_their_own() -> None:
    points = [
        {"means": [0.1, 0.2]},
        {"means": [0.1, 0.3]},
        {"structure.kind": "a/b"},
        {"structure.kind": "a b"},
        {"family.sigma": 1.0},
        {"family.sigma": 1},
        {"means": [0.1] * 200},
        {"means": [0.1] * 201},
        {"structure.kind": ".."},
    ]
    names = [point_folder(point) for point in points]
    assert len(set(names)) == len(names)
    for name in names:
        assert Path(name).name == name
        assert len(name) < 80


def test_a_policy_whose_option_is_swept_is_one_curve() -> None:
    instance = am.Instance(am.Unconstrained(2), [0.0, 1.0])
    results = [
        am.simulate(instance, [am.UCB(width=x), am.KLUCB(), am.UCB(width=2.0)], 10, 2)
        for x in (0.5, 1.0)
    ]
    assert curve_names(results) == ["UCB", "KLUCB", "UCB(width=2.0)"]


def table_of(points: list[dict[str, object]], policies: list[str]) -> pd.DataFrame:
    rows = [
        {**point, "curve": policy, "regret": 10.0 * n + m, "standard_error": 1.0}
        for n, point in enumerate(points)
        for m, policy in enumerate(policies)
    ]
    return pd.DataFrame(rows)


def test_what_is_drawn(tmp_path: Path) -> None:
    table = table_of([{"a": x, "b": y} for y in ("u", "v") for x in (100.0, 1.0)], ["UCB", "SPk"])
    charts = sweep_charts(table, ["a", "b"])
    assert {(chart.x.title, chart.x.log) for chart in charts} == {("a", True)}
    assert [chart.title for chart in charts] == ["b = u", "b = v"]
    curve, bars, _ = charts[1].marks[3:]
    assert (curve.label, curve.x.tolist(), curve.y.tolist()) == ("SPk", [1.0, 100.0], [31.0, 21.0])
    assert bars.y.reshape(2, 3)[:, :2].tolist() == [[29.0, 33.0], [19.0, 23.0]]
    (words,) = sweep_charts(table_of([{"b": "u"}, {"b": "v"}], ["UCB"]), ["b"])
    assert words.x.ticks == ((0.0, "u"), (1.0, "v"))
    assert not words.x.log
    many = [{"a": x, "b": y} for y in range(20) for x in range(21)]
    charts = sweep_charts(table_of(many, ["UCB"]), ["a", "b"])
    assert charts[0].x.title == "a"
    assert len(charts) == 20
    drawing = plot_sweep(table_of(many, ["UCB"]), ["a", "b"], tmp_path / "sweep.png")
    assert len([axes for axes in drawing.axes if axes.axison]) == MOST_PANELS
    assert f"({20 - MOST_PANELS} more panels are in the table)" in drawing.get_suptitle()
