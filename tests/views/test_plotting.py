"""Pictures: what they show is computed before, and no backend is chosen for the user."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from terminals import environment

import armature as am
from armature.views.bandit_charts import bound_charts
from armature.views.experiment_charts import (
    ASYMPTOTIC,
    LOWER,
    WITHOUT,
    Panel,
    draw_problem,
    plot_panels,
    plot_regret,
    regret_curves,
)
from armature.views.figure import literal, plot_bound

PRICES = am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
ROUNDS = np.array([1, 10, 100])
REGRET = {
    "UCB": np.array([[1.0, 10.0, 30.0], [1.0, 20.0, 50.0]]),
    "bad": np.array([[1.0, 500.0, 5000.0], [1.0, 600.0, 7000.0]]),
}


def texts(figure: object) -> str:
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))  # type: ignore[attr-defined]


def test_curves_by_hand() -> None:
    curves = regret_curves(PRICES, ROUNDS, REGRET, band=2.0)
    ucb = curves.curves[0]
    assert ucb.mean.tolist() == [1.0, 15.0, 40.0]
    # The standard error of two values is half of their distance.
    assert ucb.low.tolist() == pytest.approx([1.0, 5.0, 20.0])
    assert ucb.high.tolist() == pytest.approx([1.0, 25.0, 60.0])
    assert curves.bounds == pytest.approx({LOWER: 14.0, WITHOUT: 19.357142857})
    assert curves.top == pytest.approx(1.2 * 19.357142857 * np.log(100))
    assert [curve.name for curve in curves.leaving] == ["bad"]
    alone = regret_curves(PRICES, ROUNDS, {"UCB": REGRET["UCB"][:1]})
    assert alone.curves[0].low.tolist() == alone.curves[0].high.tolist() == [1.0, 10.0, 30.0]


def test_curves_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that can't be computed does not take the picture with it."""

    monkeypatch.setattr("armature.views.experiment_charts.bound_or_none", lambda instance: None)
    curves = regret_curves(PRICES, ROUNDS, REGRET)
    assert curves.bounds == {}
    assert curves.leaving == ()
    assert ASYMPTOTIC not in texts(draw_problem(curves))


def test_what_is_drawn_is_what_was_computed() -> None:
    figure = plot_regret(PRICES, ROUNDS, REGRET)
    for axis in figure.axes:
        lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
        assert lines["UCB"].tolist() == [1.0, 15.0, 40.0]
        assert lines["lower bound, 14 ln t"] == pytest.approx(14.0 * np.log(ROUNDS))
    shown = texts(figure)
    assert "bad leaves: 6,000 in the end" in shown
    assert ASYMPTOTIC in shown  # why a curve may lie below the line
    assert "asymptotic" in texts(plot_panels([Panel("p", PRICES, ROUNDS, REGRET)] * 2, [], 1.0))


def test_a_bound_is_drawn(tmp_path: Path) -> None:
    bound = am.lower_bound(PRICES)
    free = am.lower_bound(am.Instance(am.Unconstrained(5), PRICES.means))
    above, bars = bound_charts(PRICES, bound)
    assert [mark.label for mark in bars.marks[:2]] == [
        "with the structure: V = 14",
        "without it: V = 19.36",
    ]
    drawing = plot_bound(PRICES, bound, tmp_path / "bound.png")
    heights = [patch.get_xy()[1::5, 1][:5] for patch in drawing.axes[1].patches]
    assert heights[0] == pytest.approx([0.0, 8.0, 0.0, 50.0, 0.0], abs=1e-4)
    assert heights[1] == pytest.approx(free.pulls)
    lines = {line.get_label(): line.get_ydata() for line in drawing.axes[0].get_lines()}
    assert lines["means"].tolist() == PRICES.means.tolist()
    for alternative in bound.alternatives:
        drawn = lines[f"confusing instance, weight {alternative.weight:.3g}"]
        assert drawn.tolist() == alternative.means.tolist()
    assert above.title == "Unimodal: asymptotically regret of at least 14 ln T"
    assert imread(tmp_path / "bound.png").shape == (900, 900, 4)


@pytest.mark.parametrize("name", ["$5", "$a$ and $b", "[/b]", "a_b^c", "日本", "a\x1b[31m\n"])
def test_names_are_drawn_as_they_are(name: str, tmp_path: Path) -> None:
    regret = {name: REGRET["UCB"]}
    for suffix in ("png", "svg", "pdf"):
        plot_regret(PRICES, ROUNDS, regret, [tmp_path / f"x.{suffix}"], title=name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.pdf", "x.png", "x.svg"]
    assert literal(name) in texts(plot_panels([Panel(name, PRICES, ROUNDS, regret)], [], 1.0))


@pytest.mark.parametrize("name", ["$5", "$a$ and $b", "[/b]", "a\x1b[31m"])
def test_names_of_arms_are_drawn_as_they_are(name: str, tmp_path: Path) -> None:
    """Also in a legend, where two dollars would begin a formula."""
    log = [("x", 1.0), ("x", 2.0), (name, 0.5), (name, 1.5)] * 20
    found = am.assess(log, am.Unimodal(2), am.Gaussian(1.0), arms=["x", name], policies=[])
    bandit = am.Bandit(am.UCB(), am.Unimodal(2), labels=["x", name])
    bandit.tell(["x", name] * 5, [0.1, 0.0] * 5)
    for drawing in (found.plot(tmp_path / "a.svg"), bandit.plot(tmp_path / "b.svg")):
        assert literal(name) in texts(drawing)
        legend = " ".join(text.get_text() for text in drawing.axes[0].get_legend().texts)
        assert f"nearest alternative: {literal(name)} is best" in " ".join(legend.split())


def test_a_picture_in_a_notebook_leaves_its_backend_alone(tmp_path: Path) -> None:
    """pyplot is not even imported; a picture shows itself, as IPython asks for it."""
    code = """
import sys, matplotlib
matplotlib.rcParams["backend"] = "svg"
import armature as am
results = am.simulate(am.Instance(am.Unimodal(3), [0.1, 0.9, 0.3]), [am.UCB()], 20, 2)
picture = results.plot()
assert "matplotlib.pyplot" not in sys.modules
assert matplotlib.get_backend() == "svg"
assert isinstance(picture, matplotlib.figure.Figure)
assert picture._repr_png_().startswith(b"\\x89PNG")
size = picture.get_size_inches().tolist()
results.plot("a.png"), results.plot("a.png")
assert open("a.png", "rb").read() == picture._repr_png_()
assert picture.get_size_inches().tolist() == size
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_path_that_is_no_picture(tmp_path: Path) -> None:
    for path, complaint in ((tmp_path / "x.gif", "must end in"), (tmp_path / "no" / "x.png", "no")):
        with pytest.raises(am.ArmatureError, match=complaint):
            plot_regret(PRICES, ROUNDS, REGRET, [path])
