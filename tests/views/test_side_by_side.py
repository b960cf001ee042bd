"""Segments side by side: the same axes, and what was computed for each."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import armature as am
from armature.views.chart import Line
from armature.views.side_by_side import regret_charts, segment_charts

NAMES = ["mobile", "desktop", "returning", "tablet", "$5"]
TABLE = am.Segments(NAMES, each=am.Unimodal(3), coupling=am.Additive())


def bandit_of(rewards: int) -> am.SegmentedBandit:
    bandit = am.Bandit(am.Challenger(), TABLE, am.Gaussian(0.5), labels=["a", "b", "c"])
    rng = np.random.default_rng(0)
    for n in range(rewards):
        c = (0, 0, 0, 1, 2)[n % 5]  # the others have none
        arm = int(rng.integers(3))
        bandit.tell("abc"[arm], float(rng.normal([0.1, 0.9, 0.4][arm] + c)), segment=NAMES[c])
    return bandit


@pytest.mark.parametrize("rewards", [0, 1, 40])
def test_all_segments_have_the_same_axes(rewards: int, tmp_path: Path) -> None:
    bandit = bandit_of(rewards)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a panel without room is one
        drawing = bandit.plot(tmp_path / "all.png")
    assert imread(tmp_path / "all.png").size > 0
    panels = [axes for axes in drawing.axes if axes.axison]
    assert len(panels) == 10
    for row in (panels[:4] + panels[8:9], panels[4:8] + panels[9:]):
        assert len({axes.get_ylim() for axes in row}) == 1
        assert len({tuple(axes.get_yticks()) for axes in row}) == 1
    assert len(drawing.legends) == 1
    assert [axes.get_title().partition(",")[0] for axes in panels[:4]] == NAMES[:4]


def test_a_segment_shows_its_own_means() -> None:
    bandit = bandit_of(40)
    pictures = {name: bandit.of(name).picture() for name in bandit.segments}
    for c, (above, below) in enumerate(segment_charts(pictures)):
        means = [mark for mark in above.marks if mark.look in ("mean", "mean leader")]
        drawn = np.concatenate([mark.y for mark in means])
        seen = bandit.pulls[c] > 0
        assert sorted(drawn) == pytest.approx(sorted(bandit.means[c][seen]))
        pulls = [mark for mark in below.marks if mark.look in ("pulled", "pulled leader")]
        drawn = np.concatenate([mark.y for mark in pulls])
        assert sorted(10.0**drawn - 1.0) == pytest.approx(sorted(bandit.pulls[c]))


def test_regret_is_drawn_per_segment(tmp_path: Path) -> None:
    table = am.Segments("ab", each=am.Unimodal(3), coupling=am.Additive())
    means = [[0.1, 0.9, 0.4], [0.3, 1.1, 0.6]]
    instance = am.Instance(table, means, frequencies=[0.9, 0.1])
    results = am.simulate(instance, [am.Challenger(), am.UCB()], 40, 3, workers=1)
    parts = {name: {p: results.regret(p, name) for p in results.runs} for name in "ab"}
    regret = {p: results.regret(p) for p in results.runs}
    whole, *rest = regret_charts(instance, results.checkpoints, regret, parts, 2.0)
    assert whole.title == "all segments"
    assert [chart.title for chart in rest] == ["a, 90 % of the arrivals", "b, 10 % of the arrivals"]
    assert len({chart.y for chart in rest}) == 1
    for name in regret:
        ends = [
            float(mark.y[-1])
            for chart in (whole, *rest)
            for mark in chart.marks
            if isinstance(mark, Line) and mark.look == name and not mark.closed
        ]
        assert ends[0] == pytest.approx(ends[1] + ends[2])
        assert ends[0] == pytest.approx(results.regret(name)[:, -1].mean())
    drawing = results.plot(tmp_path / "regret.png")
    assert len([axes for axes in drawing.axes if axes.axison]) == 3
    assert imread(tmp_path / "regret.png").size > 0
