"""Pages: the look that the service's page and the report share."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from importlib import resources
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from armature.views.bandit_charts import (
    arms_chart,
    gain_chart,
    gauge_chart,
    pulls_chart,
    small_chart,
    traffic_chart,
    verdict_chart,
)
from armature.views.chart import Chart
from armature.views.numbers import aligned, number, share, short
from armature.views.svg import drawn, tag

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
    found.globals["aligned"] = aligned
    found.globals |= {chart.__name__: _as_svg(chart) for chart in (*CHARTS, *charts)}
    return found


def _as_svg(chart: Callable[..., Chart]) -> Callable[..., Markup]:
    @functools.wraps(chart)
    def as_svg(*shown: Any) -> Markup:
        return drawn(chart(*shown))

    return as_svg


def stylesheet() -> str:
    """How all pages look."""
    return _style("charts.css") + _style("look.css")


def chart_style(inside: str) -> str:
    """How charts look, for those inside of one element of somebody else's page."""
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
