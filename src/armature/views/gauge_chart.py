"""Numbers on a line: how far the data are from the structure, how near a verdict is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from armature.views.axes import words_at
from armature.views.picture import Gauge
from armature.views.svg import number, percent, picture, tag

if TYPE_CHECKING:
    from armature.live.verdict import Verdict


def gauge_chart(gauge: Gauge) -> Markup:
    """One line: how far the data are from the structure, what chance explains, where it falls."""
    height, thick, top = 84.0, 18.0, 30.0
    chance = 100.0 * min(max(gauge.chance / gauge.refuted_at, 0.0), 1.0)
    filled = 100.0 * gauge.share
    kind = "refuted" if gauge.refuted or gauge.dropped is not None else "fits"
    bar: dict[str, object] = {"y": top, "height": thick}
    across = {"y1": top - 8.0, "y2": top + thick + 8.0}
    anchor = "end" if chance > 75.0 else "start" if chance < 25.0 else "middle"
    below = top + thick + 26.0
    parts = [
        tag("rect", class_="groove", x=0, width="100%", rx=9, **bar),
        tag("rect", class_="beyond", x=percent(chance), width=percent(100.0 - chance), **bar),
        tag("rect", class_=f"level {kind}", x=0, width=percent(max(filled, 0.4)), rx=9, **bar),
        tag("line", class_="chance", x1=percent(chance), x2=percent(chance), **across),
        tag("line", class_="limit", x1="100%", x2="100%", **across),
        tag("circle", class_=f"needle {kind}", cx=percent(filled), cy=top + thick / 2.0, r=11),
        words_at("explained by chance", chance, top - 14.0, anchor),
        words_at("a perfect fit", 0.0, below, "start"),
        words_at("refuted", 100.0, below, "end"),
    ]
    label = (
        f"The data are {number(gauge.misfit, 3)} from the structure; chance explains "
        f"{number(gauge.chance, 3)}, and it is refuted at {number(gauge.refuted_at, 3)}."
    )
    return picture(height, label, *parts, kind="chart gauge")


def verdict_chart(verdict: Verdict) -> Markup:
    """One line: the evidence that the leader is the best arm, up to what is enough."""
    height, y, thick = 26.0, 7.0, 12.0
    filled = 100.0 * min(verdict.statistic / verdict.threshold, 1.0)
    kind = "sure" if verdict.sure else "unsure"
    bar: dict[str, object] = {"y": y, "height": thick, "rx": 6}
    parts = [
        tag("rect", class_="groove", x=0, width="100%", **bar),
        tag("rect", class_=f"level {kind}", x=0, width=percent(max(filled, 0.4)), **bar),
        tag("line", class_="limit", x1="100%", x2="100%", y1=1.0, y2=25.0),
    ]
    label = (
        f"The evidence that {verdict.arm} is the best arm is {number(verdict.statistic, 3)}; "
        f"above {number(verdict.threshold, 3)} it is sure."
    )
    return picture(height, label, *parts, kind="chart gauge")
