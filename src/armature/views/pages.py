"""Pages, and cards in a notebook: the look that the service's page and the report share."""

from __future__ import annotations

import base64
import datetime
import functools
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from armature.bounds import CharacteristicTime, LowerBound
from armature.bounds.evidence import Evidence
from armature.structures.instance import Instance
from armature.views.bandit_charts import (
    arms_chart,
    gain_chart,
    gauge_chart,
    pulls_chart,
    small_chart,
    traffic_chart,
    values_chart,
    verdict_chart,
)
from armature.views.chart import Chart, aligned, number, share, short
from armature.views.picture import Picture, gauge_of
from armature.views.svg import drawn, joined, tag

if TYPE_CHECKING:
    from armature.words import Card, Shown

MARK = Markup(  # beside the name
    '<svg class="mark" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">'
    '<path d="M3 27C9 27 10 6 16 6s7 21 13 21"/><circle cx="16" cy="6" r="3.6"/></svg>'
)
CHARTS: tuple[Callable[..., Chart], ...] = (
    arms_chart, gain_chart, gauge_chart, pulls_chart, small_chart, traffic_chart, verdict_chart,
)  # fmt: skip


def environment(
    package: str = "armature.views", charts: tuple[Callable[..., Chart], ...] = ()
) -> Environment:
    """The templates of a package, with those that all pages are made from, and charts as SVG."""
    loaders = [PackageLoader(name) for name in dict.fromkeys([package, "armature.views"])]
    found = Environment(
        autoescape=True,
        loader=ChoiceLoader(loaders),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"number": number, "short": short, "count": count, "moment": moment}
    found.filters["share"] = share
    found.globals |= {"aligned": aligned, "mark": MARK}
    found.globals |= {chart.__name__: _as_svg(chart) for chart in (*CHARTS, *charts)}
    return found


def _as_svg(chart: Callable[..., Chart]) -> Callable[..., Markup]:
    @functools.wraps(chart)
    def as_svg(*shown: Any) -> Markup:
        return drawn(chart(*shown))

    return as_svg


def stylesheet() -> str:
    """The stylesheet of all pages."""
    return _style("charts.css") + _style("look.css")


def chart_style(inside: str) -> str:
    """The style of charts, for those inside of one element of somebody else's page."""
    rules = _style("charts.css").replace(":root", "&")
    return f"{inside} {{\n{rules}}}\n"


def _style(name: str) -> str:
    return (resources.files("armature.views") / name).read_text(encoding="utf-8")


def count(value: float) -> str:
    """A whole number, in groups of thousands.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{int(value):,}"


def moment(seconds: float) -> Markup:
    """A time, in UTC; a script shows it in the reader's zone.

    >>> print(moment(0.0))
    <time datetime="1970-01-01T00:00:00+00:00">1970-01-01 00:00 UTC</time>
    """
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return tag("time", f"{at:%Y-%m-%d %H:%M} UTC", datetime=at.isoformat(timespec="seconds"))


CLASS = "armature-card"
LOOK = """
  max-width: 46rem; color: var(--ink); background: var(--sheet); border: 1px solid var(--line);
  border-radius: 8px; padding: 1rem 1.2rem; font: 0.9rem/1.5 var(--sans);
  & .plot { padding: 8px 10px 34px 52px; }
  & .hide-m { display: none; }
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
        tag("style", Markup(_card_style())),
        tag("p", card.title),
        tag("div", picture, class_="plot") if picture else Markup(),
        _table(card),
        tag("p", card.note, class_="note") if card.note else Markup(),
    ]
    return tag("div", joined(parts), class_=CLASS)


@functools.cache
def _card_style() -> str:
    return chart_style(f".{CLASS}") + f".{CLASS} {{{LOOK}}}"


def _table(card: Card) -> Markup:
    if not card.columns:
        return Markup()
    head = tag("tr", joined(tag("th", name) for name in card.columns))
    rows = [tag("tr", joined(tag("td", cell) for cell in row)) for row in card.shown]
    rest = tag("p", card.rest, class_="note") if card.rest else Markup()
    return joined([tag("table", tag("thead", head), tag("tbody", *rows)), rest])


def _measured(value: Any) -> tuple[Any, str] | None:
    """The numbers of the arms, where an object is about these, and what they are."""
    if isinstance(value, Instance):
        return value.means, "Mean rewards"
    if isinstance(value, LowerBound):
        return value.pulls, "Optimal pulls per ln T"
    if isinstance(value, CharacteristicTime):
        return value.value * value.shares, "Samples per ln(1 / delta)"
    return None


def picture_in(value: Any) -> Markup:
    """The picture of an object; empty where it has none."""
    chart = getattr(value, "picture", None)
    shown = chart() if callable(chart) else chart
    measured = _measured(value)
    if measured is not None:
        values, what = measured
        shown = values_chart(values, what) if values.ndim == 1 else None  # segments: in the table
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
