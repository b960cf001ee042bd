"""What is drawn of a bandit: the numbers, computed once more, and the drawing itself."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import armature as am
from armature.views import picture_of, svg
from armature.views.bandit_charts import (
    arms_chart,
    gain_chart,
    gauge_chart,
    pulls_chart,
    small_chart,
    traffic_chart,
    verdict_chart,
)
from armature.views.chart import Axis, Chart, Line, Points, Slots, Words, number, ticks
from armature.views.figure import draw, new_drawing, stacked
from armature.views.picture import Past, gain_of, traffic_of


def told(structure: am.Structure, means: list[float], n: int = 40, **options: object) -> am.Bandit:
    """A bandit that has seen so many rewards of each arm, with these means and spread."""
    bandit = am.Bandit(am.UCB(), structure, am.Gaussian(), **options)  # type: ignore[arg-type]
    for arm, mean in zip(bandit.arms, means, strict=True):
        bandit.tell([arm] * n, [mean + (-1.0) ** i for i in range(n)])
    return bandit


def charts_of(bandit: am.Bandit, past: Past | None = None) -> list[Chart]:
    """All charts of a bandit."""
    shown = picture_of(bandit.explain(), bandit.structure, goal=bandit.goal, past=past)
    charts = [arms_chart(shown), pulls_chart(shown.arms, shown.target), small_chart(shown)]
    if shown.gain:
        charts.append(gain_chart(shown.gain))
    if shown.gauge:
        charts.append(gauge_chart(shown.gauge))
    if shown.traffic:
        charts.append(traffic_chart(shown.traffic))
    return charts


def drawn(bandit: am.Bandit, past: Past | None = None) -> list[ET.Element]:
    """All pictures of a bandit, read as XML."""
    return [ET.fromstring(svg.drawn(chart)) for chart in charts_of(bandit, past)]


def of_class(picture: ET.Element, kind: str) -> list[ET.Element]:
    return [e for e in picture.iter() if kind in e.get("class", "").split()]


def test_the_alternative_is_the_nearest_with_another_best_arm() -> None:
    means = [0.1, 0.5, 0.9, 0.6]
    belief = told(am.Unimodal(4), means).explain()
    arms = picture_of(belief, am.Unimodal(4)).arms
    assert arms.leader == 2
    assert arms.rival == 3
    # By brute force over a grid: one peak, at another place.
    grid = np.linspace(0.0, 1.0, 21)
    best = min(
        (40 / 2 * float(((np.array(lam) - means) ** 2).sum()), lam)
        for lam in itertools.product(grid, repeat=4)
        if lam[2] <= max(lam[1], lam[3]) and _has_one_peak(lam)
    )
    assert arms.alternative is not None
    assert arms.alternative == pytest.approx(best[1], abs=0.026)
    assert 20.0 * float(((arms.alternative - means) ** 2).sum()) <= best[0] + 1e-9
    assert belief.evidence == pytest.approx(20.0 * float(((arms.alternative - means) ** 2).sum()))


def _has_one_peak(lam: tuple[float, ...]) -> bool:
    top = lam.index(max(lam))
    rises = all(a <= b for a, b in itertools.pairwise(lam[: top + 1]))
    return rises and all(a >= b for a, b in itertools.pairwise(lam[top:]))


def test_costs_are_drawn_as_costs() -> None:
    bandit = told(am.Unimodal(3), [3.0, 1.0, 2.0], goal="min")
    shown = picture_of(bandit.explain(), bandit.structure, goal="min")
    assert shown.arms.leader == 1
    assert shown.arms.rival == 2
    assert shown.arms.alternative == pytest.approx([3.0, 1.5, 1.5])
    assert shown.gain is not None
    assert shown.gain.gained == pytest.approx(0.0, abs=1e-9)  # it was pulled uniformly


def test_categories_stand_together() -> None:
    structure = am.Categorised(["hats", "shoes", "hats", "shoes"])
    bandit = told(structure, [0.1, 0.8, 0.3, 0.9], labels=["h1", "s1", "h2", "s2"])
    arms = picture_of(bandit.explain(), structure).arms
    assert arms.names == ("h1", "h2", "s1", "s2")
    assert [(g.name, g.start, g.stop) for g in arms.groups] == [("hats", 0, 2), ("shoes", 2, 4)]
    assert arms.means == pytest.approx([0.1, 0.3, 0.8, 0.9])
    assert arms.names[arms.leader] == "s2"
    assert not arms.connected


def test_gain_is_what_uniform_allocation_would_not_have_given() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), am.Gaussian(sigma=2.0))
    bandit.tell([0] * 30 + [1] * 10, [1.0] * 30 + [0.0] * 10)
    gain = gain_of(bandit.explain())
    assert gain is not None
    assert gain.total == 30.0
    assert gain.gained == pytest.approx(30.0 - 40 * 0.5)
    # The average of two means with variances 4 / 30 and 4 / 10.
    assert gain.error == pytest.approx(math.sqrt(4 / 30 + 4 / 10) / 2)
    assert gain.margin == pytest.approx(2 * 40 * gain.error)


def test_no_gain_before_every_arm_has_a_reward() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    bandit.tell(0, 1.0)
    assert gain_of(bandit.explain()) is None


def test_traffic_adds_up_whatever_the_number_of_arms() -> None:
    rng = np.random.default_rng(3)
    for K in (2, 5, 6, 7, 40):
        arms = picture_of(am.Bandit(am.UCB(), am.Unimodal(K)).explain(), am.Unimodal(K)).arms
        decisions = rng.integers(0, 9, (12, K)).astype(float)
        decisions[4] = 0.0  # in which nothing was decided
        traffic = traffic_of(arms, Past(decisions, np.zeros(12), np.zeros(12)))
        assert traffic is not None
        assert traffic.ends.tolist() == np.cumsum(np.delete(decisions, 4, 0).sum(axis=1)).tolist()
        assert traffic.shares.sum(axis=0) == pytest.approx(np.ones(11))
        assert traffic.recent.sum() == pytest.approx(1.0)
        for s, k in enumerate(traffic.places[:-1]):
            wanted = np.delete(decisions, 4, 0)
            assert traffic.shares[s] == pytest.approx(wanted[:, k] / wanted.sum(axis=1))
        assert len(traffic.names) == min(K, 6)


def test_gauge() -> None:
    fits = picture_of(told(am.Monotone(3), [0.1, 0.2, 0.3]).explain(), am.Monotone(3)).gauge
    refuted = picture_of(told(am.Monotone(3), [9.0, 0.2, 0.3]).explain(), am.Monotone(3)).gauge
    assert fits is not None
    assert refuted is not None
    assert (fits.refuted, fits.share) == (False, 0.0)
    assert (refuted.refuted, refuted.share) == (True, 1.0)
    assert fits.refuted_at - fits.chance == pytest.approx(math.log(100.0))


def test_verdicts() -> None:
    """Of two arms, as far apart as can be told, and not; how full the line is, and what is said."""
    sure = told(am.Unconstrained(2), [0.0, 1.0], labels=["<a>", "<b>"]).verdict()
    assert str(sure).startswith("<b> is the best (error 5 %; evidence ")
    unsure = told(am.Unconstrained(2), [0.0, 0.01]).verdict()
    assert not unsure.sure
    words = str(unsure.sentence("min"))
    assert words.startswith("Arm 1 is probably the cheapest, not yet certainly (error 5 %; ")
    assert f"takes about {float(f'{unsure.needed:.3g}'):,.0f} more rewards; with the opti" in words
    never = dataclasses.replace(unsure, needed=math.inf)
    assert "Today's traffic split will never tell; with the optimal split, " in str(never)
    nothing = dataclasses.replace(never, needed_at_best=math.inf)
    assert str(nothing).endswith("is enough).")
    for verdict, filled in ((sure, 100.0), (unsure, 100.0 * unsure.statistic / unsure.threshold)):
        picture = ET.fromstring(svg.drawn(verdict_chart(verdict)))
        (level,) = of_class(picture, "level")
        end = level.get("d", "").partition("L")[2].split()[0]
        assert float(end) == pytest.approx(10.0 * max(filled, 0.4), abs=0.1)


STRUCTURES = [
    am.Unimodal(3),
    am.Unimodal(12),
    am.Unconstrained(200),
    am.Categorised([f"c{k % 3}" for k in range(12)]),
    am.Linear(np.random.default_rng(0).normal(size=(12, 3))),
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: f"{type(s).__name__}-{s.n_arms}")
@pytest.mark.parametrize("n", [0, 1, 3000])
def test_every_picture_is_whole(structure: am.Structure, n: int) -> None:
    """From the first round on: XML, no number that is none, and no mark outside of its frame."""
    means = np.linspace(0.0, 1.0, structure.n_arms).tolist()
    bandit = told(structure, means, n) if n else am.Bandit(am.UCB(), structure)
    past = Past(np.full((5, structure.n_arms), float(n)), np.full(5, 3.0), np.full(5, float(n)))
    pictures = drawn(bandit, past if n else None)
    assumed = not isinstance(structure, am.Unconstrained)
    assert len(pictures) == (5 + assumed if n else 3)
    for picture in pictures:
        text = ET.tostring(picture, encoding="unicode")
        assert not re.search(r"nan|inf\b|None", text), text[:2000]
        assert picture.get("aria-label")
        height = float(picture.get("height", ""))
        for mark in picture.iter():
            if "cy" in mark.keys():  # noqa: SIM118
                assert 0.0 <= float(mark.get("cy", "")) <= height
                assert 0.0 <= float(mark.get("cx", "").rstrip("%")) <= 100.0
    assert len(of_class(pictures[0], "mean")) == (structure.n_arms if n else 0)
    assert len(of_class(pictures[1], "pulled")) == structure.n_arms


def test_labels_are_texts() -> None:
    bandit = told(am.Unimodal(2), [0.0, 1.0], labels=["<script>", '"&'])
    (arms, *_) = drawn(bandit)
    assert {"<script>", '"&'} <= {e.text for e in of_class(arms, "axis")}


def test_svg() -> None:
    assert svg.tag("g", svg.tag("a"), "<") == "<g><a/>&lt;</g>"
    scale = svg.down(Axis(0.0, 10.0), 100.0)
    assert [scale(v) for v in (-5.0, 0.0, 2.5, 10.0, math.inf)] == [100.0, 100.0, 75.0, 0.0, 0.0]
    assert svg.down(Axis(1e30, 1e30), 100.0)(1e30) == pytest.approx(50.0)
    for low, high in ((0.0, 1.0), (-1e-5, 2e-5), (3e8, 3.1e8), (0.123, 0.1234)):
        found = ticks(low, high)
        assert 3 <= len(found) <= 11
        assert low <= found[0] + 1e-9 * abs(low)
        assert found[-1] <= high * (1 + 1e-9)
    assert number(math.inf) == "∞"


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: f"{type(s).__name__}-{s.n_arms}")
def test_both_renderers_draw_what_the_chart_says(structure: am.Structure) -> None:
    """Every mark of every chart, at its place: in percent and pixels, and in its own units."""
    bandit = told(structure, np.linspace(0.0, 1.0, structure.n_arms).tolist(), 30)
    past = Past(np.full((5, structure.n_arms), 3.0), np.full(5, 3.0), np.full(5, 9.0))
    for chart in charts_of(bandit, past):
        picture = ET.fromstring(svg.drawn(chart))
        axes = new_drawing(4.0, 3.0).subplots()
        draw(axes, chart)
        circles = iter([e for e in picture.iter() if e.tag == "circle"])
        paths = iter(
            [e for e in picture.iter("path") if e.get("d") not in ("", *svg.PATHS.values())]
        )
        lines, areas, texts = (
            iter(axes.lines),
            iter(axes.patches),
            {t.get_text() for t in axes.texts},
        )
        for group in getattr(chart.x, "groups", ()):
            assert group.name in texts
        marks = [mark for mark in chart.marks if isinstance(mark, Line | Points)]
        for mark in marks:
            if isinstance(mark, Line) and mark.closed:
                corners = next(areas).get_xy()[: len(mark.x)]
                np.testing.assert_array_equal(corners, np.column_stack([mark.x, mark.y]))
            else:
                line = next(lines)
                np.testing.assert_array_equal(line.get_xdata(), mark.x)
                np.testing.assert_array_equal(line.get_ydata(), mark.y)
            span, height = chart.x.high - chart.x.low, chart.y.high - chart.y.low
            x = 100.0 * (mark.x - chart.x.low) / span
            y = chart.height * (1.0 - np.clip((mark.y - chart.y.low) / height, 0.0, 1.0))
            if isinstance(mark, Line) and mark.x.size:
                element = next(paths)
                numbers = re.findall(r"-?[\d.]+", element.get("d", ""))
                places = np.array(numbers, dtype=float).reshape(-1, 2)
                known = np.isfinite(mark.x)
                np.testing.assert_allclose(places[:, 0], 10.0 * x[known], atol=0.006)
                np.testing.assert_allclose(places[:, 1], y[known], atol=0.006)
                assert element.get("class") == mark.look
            elif isinstance(mark, Points) and mark.shape in ("dot", "ring"):
                for at, top in zip(x, y, strict=True):
                    element = next(circles)
                    assert float(element.get("cx", "").rstrip("%")) == pytest.approx(at, abs=0.006)
                    assert float(element.get("cy", "")) == pytest.approx(top, abs=0.006)
                    assert element.get("class") == mark.look
        words = {mark.text for mark in chart.marks if isinstance(mark, Words)}
        assert words <= texts
        assert words <= {element.text for element in picture.iter("text")}
        assert [next(circles, None), next(paths, None), next(lines, None)] == [None] * 3


def test_a_bandit_draws_itself(tmp_path: Path) -> None:
    """The same numbers, by Matplotlib: from the first round on, with and without an order."""
    for structure in (am.Unimodal(5), am.Categorised(list("aabbb"))):
        for bandit in (am.Bandit(am.UCB(), structure), told(structure, [0.1, 0.2, 0.5, 0.4, 0.3])):
            picture = bandit.plot(tmp_path / "plot.svg")
            assert (tmp_path / "plot.svg").stat().st_size > 5_000
            top, bottom = picture.axes
            assert len(bottom.lines[0].get_ydata()) == 15  # a stem for each arm, and gaps
    shown = bandit.picture()
    drawn_fit = next(line for line in top.lines if line.get_label() == "fit")
    assert drawn_fit.get_ydata()[::3] == pytest.approx(shown.arms.fit)
    assert shown.target is not None
    bound = am.lower_bound(am.Instance(structure, bandit.explain().projected))
    wanted = bound.pulls * math.log(200.0)
    others = [k for k in range(5) if k != shown.arms.leader]
    assert shown.target.pulls[others] == pytest.approx(wanted[others], abs=0.01)


def test_labels_of_three_hundred_arms_stay_apart() -> None:
    """On a page of every width, and in a figure: the letters of one end before the next begins."""
    prices = [f"{4.99 + 0.1 * k:.2f}" for k in range(300)]
    slots = Slots(tuple(prices), kept=299, leader=True)
    dots = Points("mean", slots.places, np.linspace(0.0, 1.0, 300))
    chart = Chart("arms many", "means", slots, Axis(0.0, 1.0), (dots,))
    names = [e for e in ET.fromstring(svg.drawn(chart)).iter("text") if e.text in set(prices)]
    for kind, width in svg.WIDTHS.items():
        shown = [e for e in names if kind not in e.get("class", "").split()]
        middles = [width / 100.0 * float(e.get("x", "").rstrip("%")) for e in shown]
        assert len(shown) >= 4
        assert prices[299] in {e.text for e in shown}  # the best is always named
        widest = 7.0 * max(len(e.text or "") for e in shown)  # a digit, in bold: 7 pixels
        assert np.diff(middles).min() > widest
    drawing = stacked([chart], [1.0])
    drawing.draw_without_rendering()
    boxes = [text.get_window_extent() for text in drawing.axes[0].get_xticklabels()]
    assert len(boxes) >= 4
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
