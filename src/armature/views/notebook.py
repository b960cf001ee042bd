"""Objects in a notebook: their cards as HTML, with the picture where there is one."""

from __future__ import annotations

import base64
import functools
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from armature.bounds import CharacteristicTime, LowerBound
from armature.bounds.evidence import Evidence
from armature.structures.instance import Instance
from armature.views.bandit_charts import arms_chart, gauge_chart, values_chart
from armature.views.chart import Chart
from armature.views.pages import chart_style
from armature.views.picture import Picture, gauge_of
from armature.views.svg import drawn, joined, tag

if TYPE_CHECKING:
    from armature.words import Card, Shown

CLASS = "armature-card"
LOOK = """
  max-width: 46rem; color: var(--ink); background: var(--sheet); border: 1px solid var(--line);
  border-radius: 8px; padding: 1rem 1.2rem; font: 0.9rem/1.5 var(--sans);
  & .plot { padding: 8px 10px 34px 52px; }
  & table { border-collapse: collapse; margin: 0.4rem 0; font-variant-numeric: tabular-nums; }
  & th, & td { padding: 0.2rem 0.9rem 0.2rem 0; text-align: right; border: 0; background: none; }
  & th { color: var(--soft); font-weight: 400; }
  & .note { color: var(--soft); margin: 0.4rem 0 0; }
  & img { max-width: 100%; background: #fff; }
"""


def html_of(value: Shown) -> Markup:
    """The card of an object as a piece of HTML that brings its own style."""
    card = value.card()
    picture = picture_in(value)
    parts = [
        tag("style", Markup(_style())),
        tag("p", card.title),
        tag("div", picture, class_="plot") if picture else Markup(),
        _table(card),
        tag("p", card.note, class_="note") if card.note else Markup(),
    ]
    return tag("div", joined(parts), class_=CLASS)


@functools.cache
def _style() -> str:
    return chart_style(f".{CLASS}") + f".{CLASS} {{{LOOK}}}"


def _table(card: Card) -> Markup:
    if not card.columns:
        return Markup()
    head = tag("tr", joined(tag("th", name) for name in card.columns))
    rows = [tag("tr", joined(tag("td", cell) for cell in row)) for row in card.shown]
    rest = tag("p", card.rest, class_="note") if card.rest else Markup()
    return joined([tag("table", tag("thead", head), tag("tbody", *rows)), rest])


def picture_in(value: Any) -> Markup:
    """The picture of an object; empty where it has none."""
    chart = getattr(value, "picture", None)
    shown = chart() if callable(chart) else chart
    if isinstance(value, Instance):
        shown = values_chart(value.means, "Mean rewards")
    elif isinstance(value, LowerBound):
        shown = values_chart(value.pulls, "Optimal pulls per ln T")
    elif isinstance(value, CharacteristicTime):
        shown = values_chart(value.value * value.shares, "Samples per ln(1 / delta)")
    elif isinstance(value, Evidence):
        shown = gauge_chart(gauge_of(value))
    elif isinstance(shown, Picture):
        shown = arms_chart(shown)
    if isinstance(shown, Chart):
        return drawn(shown)
    if hasattr(value, "regret") and hasattr(value, "plot"):  # results of simulations
        png = base64.b64encode(value.plot()._repr_png_()).decode()
        return tag("img", src=f"data:image/png;base64,{png}", alt="Mean regret of each policy")
    return Markup()
