"""Who is who in a picture: colours, dashes, long names, and what lies above an axis."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import armature as am
from armature.storage.registry import POLICIES
from armature.views.experiment_charts import (
    Panel,
    draw_problem,
    plot_panels,
    plot_stopping,
    plot_sweep,
    regret_chart,
    regret_curves,
    stopping_charts,
)
from armature.views.figure import DASHES, STYLES, styles_of

PRICES = am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
ROUNDS = np.array([1, 10, 100])
RISING = np.array([[1.0, 10.0, 30.0], [1.0, 20.0, 50.0]])
LONG = "Guarded(Challenger(draw='posterior', patience=12.5), delta=0.05, audit=0.25, doubt=0.1, "
NAMES = ("SPk", LONG + "one)", LONG + "two)", "x" * 300, "a very long name " * 20)


def test_changes_of_the_means_are_marked() -> None:
    first, later = [0.2, 0.4, 0.9, 0.7, 0.1], [0.9, 0.4, 0.3, 0.2, 0.1]
    problem = am.Changing([(0, first), (40, later), (70, first), (200, later)], am.Unimodal(5))
    curves = regret_curves(problem, ROUNDS, {"SPk": RISING})
    assert curves.changes == (40, 70)  # what comes after the last round is not seen
    (line,) = [mark for mark in regret_chart(curves, log=True).marks if mark.look == "change"]
    assert line.x[[0, 1, 3, 4]].tolist() == [40.0, 40.0, 70.0, 70.0]
    assert line.y[[0, 1]].tolist() == [0.0, curves.top]
    drift = am.Changing.wandering(am.Unimodal(5), 100)
    assert regret_curves(drift, ROUNDS, {"SPk": RISING}).changes == ()  # a drift is no event
    assert regret_curves(PRICES, ROUNDS, {"SPk": RISING}).changes == ()


def looks_of(*names: str) -> list[tuple[str, str]]:
    return [(look["color"], str(look["linestyle"])) for look in styles_of(names).values()]


def test_variants_of_a_policy_are_told_apart() -> None:
    names = ("SPk(epsilon=0.1)", "SPk", "SPk(epsilon=0.2)", "SPk(epsilon=0.5)", "SPLambda")
    looks = looks_of(*names)
    assert len(set(looks)) == 5
    assert {colour for colour, _ in looks[:4]} == {STYLES["SPk"][0]}
    assert looks[1] == looks_of("SPk")[0]  # the policy itself looks as ever


def test_any_policies_in_a_panel_are_told_apart() -> None:
    every = [name for cls in POLICIES.values() for name in (cls.__name__, f"{cls.__name__}(c=2)")]
    assert len(set(looks_of(*every))) == len(every)
    own = [f"Mine{n}" for n in range(40)]
    assert len(set(looks_of(*own))) == 40
    assert set(DASHES) >= {look["linestyle"] for look in styles_of(every).values()}


def test_policies_that_meet_in_most_pictures_have_colours_of_their_own() -> None:
    usual = ("SPk", "OSSB", "UCB", "Challenger", "IMED", "ThompsonSampling", "ProjectedThompson")
    for one, two in itertools.combinations(usual, 2):
        assert STYLES[one][0] != STYLES[two][0], (one, two)


def test_others_get_colours_that_nobody_has() -> None:
    names = ["SPk", "Guarded(Challenger)", "TopTwo", "Mine", "Mine(c=2)", "Yours", "OSSB"]
    looks = styles_of(names)
    assert looks["Mine"]["color"] == looks["Mine(c=2)"]["color"]
    colours = {looks[name]["color"] for name in names}
    assert len(colours) == len(names) - 1
    assert styles_of(names[::-1]) == looks


def test_dashes_can_be_seen_in_a_legend() -> None:
    """Each pattern is in the line of a legend once and with the gap that follows."""
    picture = draw_problem(regret_curves(PRICES, ROUNDS, {"SPk": RISING, "UCB": RISING}))
    (legend,) = picture.legends
    points = legend.handlelength * legend._fontsize
    for line in legend.get_lines():
        for dash in DASHES[1:]:
            assert points >= 1.4 * line.get_linewidth() * sum(dash[1]), dash


def test_a_policy_looks_the_same_in_all_panels() -> None:
    one, two = "SPk(epsilon=0.1)", "SPk(epsilon=0.2)"
    styles = styles_of([one, "CATSE"], [two, one], ["OSUB"])
    assert styles[one] != styles[two]
    assert styles["CATSE"] == styles["OSUB"]  # which never meet


def narrowest(picture) -> float:
    """The width of the narrowest panel with an axis, of the picture's."""
    picture.draw_without_rendering()
    return min(axis.get_position().width for axis in picture.axes if axis.axison)


def whole(picture) -> bool:
    """Whether all legends are inside of the picture."""
    width, height = picture.get_size_inches() * picture.dpi
    boxes = [legend.get_window_extent() for legend in picture.legends]
    return all(b.x0 >= 0 and b.y0 >= 0 and b.x1 <= width and b.y1 <= height for b in boxes)


def test_long_names_leave_room_for_the_curves() -> None:
    regret = {name: RISING for name in NAMES} | {"y" * 200: 1e4 * RISING}  # which leaves the top
    for many in (regret, {name + str(n): RISING for name in NAMES for n in range(6)}):
        picture = draw_problem(regret_curves(PRICES, ROUNDS, many, title="a long title " * 30))
        assert narrowest(picture) > 0.25
        assert whole(picture)
    assert narrowest(plot_panels([Panel("q " * 200, PRICES, ROUNDS, regret)] * 2, [], 1.0)) > 0.2
    rounds = {name: np.array([[3.0], [5.0]]) for name in NAMES}
    sure = {name: times > 0.0 for name, times in rounds.items()}
    stopping = plot_stopping(stopping_charts([0.1], rounds, sure, 4.0))
    assert narrowest(stopping) > 0.4
    assert whole(stopping)


def test_long_names_of_arms_leave_room_for_the_means() -> None:
    labels = ["short", "a very long name of an arm, the first", "y" * 200]
    bandit = am.Bandit(am.UCB(), am.Unimodal(3), labels=labels)
    bandit.tell(labels * 5, [0.0, 1.0, 0.5] * 5)
    picture = bandit.plot()
    assert narrowest(picture) > 0.4
    assert picture.axes[0].get_position().height > 0.3
    ticks = [text.get_text() for text in picture.axes[1].get_xticklabels()]
    assert ticks[0] == "short"
    assert "…" in ticks[1]


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_what_the_bound_asks_for_is_shown_wherever_it_is(scale: float) -> None:
    """A ring, or an arrow at the top where it lies above the axis: nothing is lost."""
    bandit = am.Bandit(am.UCB(), am.Unimodal(4))
    for _ in range(5):
        bandit.tell([0, 1, 2, 3], [0.0, 1.0 - scale, 1.0, 1.0 - 20 * scale])
    asked = bandit.picture().target.pulls
    axis = bandit.plot().axes[1]
    top = 10.0 ** axis.get_ylim()[1] - 1.0
    lines = {line.get_label(): line for line in axis.get_lines()}
    rings = lines.get("what the lower bound asks for")
    arrows = lines.get("the lower bound asks for more than is shown")
    shown = [] if rings is None else (rings.get_xdata() - 0.5).tolist()
    above = [] if arrows is None else (arrows.get_xdata() - 0.5).tolist()
    assert above == np.flatnonzero(asked > top).tolist()
    assert shown == np.flatnonzero((asked > 0.0) & (asked <= top)).tolist()
    assert (above == [1]) == (scale == 0.05)
    if arrows is not None:
        assert 0.9 < arrows.get_ydata()[0] / axis.get_ylim()[1] < 1.0


def test_a_sweep_tells_variants_apart(tmp_path) -> None:
    rows = [
        {"structure.n_arms": n, "policy": f"SPk(epsilon={e})", "regret": n + e, "standard_error": 1}
        for n in (3, 5)
        for e in (0.1, 0.2, 0.3)
    ]
    table = pd.DataFrame(rows).assign(curve=lambda frame: frame["policy"])
    plot_sweep(table, ["structure.n_arms"], tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 10_000
