"""Pages: the look that the service's page and the report share."""

from __future__ import annotations

import datetime
from importlib import resources

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from armature.views.arms_chart import arms_chart, small_chart
from armature.views.gauge_chart import gauge_chart, verdict_chart
from armature.views.pulls_chart import pulls_chart
from armature.views.svg import aligned, number, share, short, tag
from armature.views.time_charts import gain_chart, traffic_chart


def environment(package: str = "armature.views") -> Environment:
    """The templates of a package, and those that all pages are made from."""
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
    found.globals |= {
        "aligned": aligned,
        "arms_chart": arms_chart,
        "small_chart": small_chart,
        "pulls_chart": pulls_chart,
        "traffic_chart": traffic_chart,
        "gain_chart": gain_chart,
        "gauge_chart": gauge_chart,
        "verdict_chart": verdict_chart,
    }
    return found


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
