"""The picture of an identification: what share of the runs has stopped, by round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from armature.kernels.arrays import Floats
from armature.views.looks import BLACK, legend_beside, styles_of
from armature.views.plotting import (
    Picture,
    StrPath,
    checked_picture,
    new_picture,
    save,
)


class StoppingCurve(NamedTuple):
    """The share of a policy's runs that have stopped: it rises by 1 / repetitions at each round."""

    policy: str
    rounds: Floats
    share: Floats


class StoppingPanel(NamedTuple):
    """The curves for one probability of error, and T* ln(1 / delta), where it is known."""

    delta: float
    curves: tuple[StoppingCurve, ...]
    least: float | None


def stopping_panels(
    deltas: Sequence[float],
    rounds: Mapping[str, Any],
    sure: Mapping[str, Any],
    time: float | None,
) -> list[StoppingPanel]:
    """What is drawn, for each delta; `rounds` and `sure` are (repetitions, deltas) by policy."""
    panels = []
    for d, delta in enumerate(deltas):
        curves = []
        for policy, stops in rounds.items():
            stopped = np.sort(stops[:, d][sure[policy][:, d]]).astype(np.float64)
            share = np.arange(1, stopped.size + 1) / len(stops)
            curves.append(StoppingCurve(policy, stopped, share))
        least = None if time is None else time * math.log(1.0 / delta)
        panels.append(StoppingPanel(delta, tuple(curves), least))
    return panels


def plot_stopping(
    deltas: Sequence[float],
    rounds: Mapping[str, Any],
    sure: Mapping[str, Any],
    time: float | None,
    paths: Sequence[StrPath],
) -> Picture:
    """Draw a panel for each delta, into PNG, SVG or PDF files."""
    targets = [checked_picture(path) for path in paths]
    picture = draw_stopping(stopping_panels(deltas, rounds, sure, time))
    save(picture, targets)
    return picture


def draw_stopping(panels: Sequence[StoppingPanel]) -> Picture:
    """The picture of an identification."""
    picture = new_picture(3.4 + 4.2 * len(panels), 3.8)
    styles = styles_of(*([curve.policy for curve in panel.curves] for panel in panels))
    shown: dict[str, Any] = {}
    axes = picture.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axis, panel in zip(axes, panels, strict=True):
        for curve in panel.curves:
            steps = np.concatenate([curve.rounds[:1], curve.rounds])
            share = np.concatenate([[0.0], curve.share]) if curve.rounds.size else curve.share
            (line,) = axis.step(
                steps, share, where="post", label=curve.policy, **styles[curve.policy]
            )
            shown.setdefault(curve.policy, line)
        if panel.least:
            least = "T* ln(1 / delta)"
            shown[least] = axis.axvline(
                panel.least, color=BLACK, linestyle=":", linewidth=1.2, label=least
            )
        axis.set_xscale("log")
        axis.set_ylim(0.0, 1.02)
        axis.set_xlabel("round")
        axis.set_title(f"delta = {panel.delta:g}")
    axes[0].set_ylabel("share of the runs that have stopped")
    legend_beside(picture, shown.values(), shown)
    return picture
