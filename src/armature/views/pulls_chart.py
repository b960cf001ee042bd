"""Pulls so far, beside what the lower bound asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from armature.views.axes import LOW_HEIGHT, grid
from armature.views.columns import MANY, group_bands, kind_of, labels_under, middle, radius
from armature.views.picture import Arms, Target
from armature.views.svg import Scale, number, percent, picture, pieces_of, short, stretched, tag


def pulls_chart(arms: Arms, target: Target | None) -> Markup:
    """Pulls so far, and what the lower bound asks for: on a logarithmic scale."""
    asked = np.zeros(len(arms)) if target is None else np.nan_to_num(target.pulls)
    # A bound that asks for more rounds than there were leaves the picture at its top.
    most = max(10.0, float(arms.pulls.max()), min(float(asked.max()), float(arms.pulls.sum())))
    scale = Scale(0.0, math.log10(1.0 + most) * 1.04, LOW_HEIGHT)
    rows = [0.0, *(10.0**e for e in range(most >= 1000.0, math.floor(math.log10(most)) + 1))]
    parts = [group_bands(arms, LOW_HEIGHT), grid(scale, [short(n) for n in rows], _log(rows))]
    done = [scale(height) for height in _log(arms.pulls.tolist())]
    stems = [(middle(arms, k), LOW_HEIGHT, middle(arms, k), y) for k, y in enumerate(done)]
    parts.append(stretched(LOW_HEIGHT, tag("path", class_="stem", d=pieces_of(stems))))
    for k in range(len(arms)):
        x = percent(middle(arms, k))
        want = 0.0 if target is None else float(asked[k])
        words = f"{arms.names[k]}: {number(arms.pulls[k])} pulls"
        leader = " leader" if k == arms.leader and arms.n_seen else ""
        marks = []
        if want > 0.0:
            words += f", the bound asks for {number(want, 3)}"
            marks.append(_asked(x, scale, want, 1.6 * radius(arms)))
        marks.append(tag("circle", class_="pulled" + leader, cx=x, cy=done[k], r=radius(arms)))
        parts += marks if len(arms) > MANY else [tag("g", tag("title", words), *marks)]
    parts.append(labels_under(arms, LOW_HEIGHT))
    label = f"Pulls of each arm: most at {arms.names[int(arms.pulls.argmax())]}."
    if target is not None:
        label += f" The lower bound asks for {int((asked > 0).sum())} arms to be explored."
    return picture(LOW_HEIGHT, label, *parts, kind=kind_of("chart pulls", arms))


def _asked(x: str, scale: Scale, want: float, radius: float) -> Markup:
    """A ring, or an arrow up where it is above the picture."""
    if math.log10(1.0 + want) <= scale.high:
        return tag("circle", class_="asked", cx=x, cy=scale(math.log10(1.0 + want)), r=radius)
    arrow = tag("path", class_="asked", d="M0 12V-4M-5 2L0 -4L5 2")
    return tag("svg", arrow, x=x, y=4, overflow="visible")


def _log(values: Sequence[float]) -> list[float]:
    return [math.log10(1.0 + value) for value in values]
