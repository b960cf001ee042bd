"""A chart as data: two axes, and marks in their units. `svg` draws it, and so does `figure`.

A mark's `look` is its style by name: the classes in `charts.css`, an entry of `figure.LOOKS`. An
invisible number (nan) in a line is a gap, so that one line can hold many pieces.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from armature.views.numbers import short, ticks, together

Shape = Literal["dot", "ring", "diamond", "tick", "star", "arrow"]
Anchor = Literal["start", "middle", "end"]
Values = npt.NDArray[Any]


@dataclass(frozen=True)
class Axis:
    """A range of numbers, with texts at some of them.

    Attributes
    ----------
        low, high: its ends.
        ticks: places and their texts; None: the renderer chooses.
        title: what the numbers are; a page has it in words around the chart instead.
        grid: whether there is a line across the chart at each tick.
        log: whether it is logarithmic.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] | None = ()
    title: str = ""
    grid: bool = False
    log: bool = False


@dataclass(frozen=True)
class Group:
    """Arms that belong together, from `start` to before `stop`."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Slots:
    """An axis with a place for each arm, the first from 0 to 1.

    Where there is no room for all names, every few are shown, `kept` among them; it is in bold if
    it is the `leader`.
    """

    names: tuple[str, ...]
    kept: int = 0
    leader: bool = False
    groups: tuple[Group, ...] = ()
    title: str = ""

    @property
    def low(self) -> float:
        """Where the first arm's place begins."""
        return 0.0

    @property
    def high(self) -> float:
        """Where the last arm's place ends."""
        return float(len(self.names))

    @property
    def places(self) -> Values:
        """The middle of each arm's place."""
        return np.arange(len(self.names)) + 0.5


@dataclass(frozen=True, eq=False)
class Line:
    """A line through points, with gaps where there is nan; if it is closed, the area inside."""

    look: str
    x: Values
    y: Values
    label: str = ""  # in a legend
    closed: bool = False
    note: str = ""  # to be read when pointed at


@dataclass(frozen=True, eq=False)
class Points:
    """Marks of a shape; `notes` are read when a mark is pointed at."""

    look: str
    x: Values
    y: Values
    shape: Shape = "dot"
    size: float = 4.5  # half its width, in pixels
    label: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Words:
    """A text at a share of the chart's width and height."""

    text: str
    x: float
    y: float
    anchor: Anchor = "start"
    look: str = "axis"


Mark = Line | Points | Words


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart.

    Attributes
    ----------
        kind: the classes of the chart itself, for `charts.css`.
        label: the chart in words, for people who use a screen reader.
        height: in pixels on a page; the width is that of the page.
        title: above the chart, if the text around it does not say it.
    """

    kind: str
    label: str
    x: Axis | Slots
    y: Axis
    marks: tuple[Mark, ...]
    height: float = 180.0
    title: str = ""


def gapped(*columns: Sequence[float] | Values) -> Values:
    """Pieces of a line as one: a row for each piece, and nan after it.

    >>> gapped([1.0, 2.0], [3.0, 4.0])
    array([ 1.,  3., nan,  2.,  4., nan])
    """
    ends = [*columns, np.full(len(columns[0]), math.nan)]
    return np.column_stack(ends).ravel()


def coordinates(*points: tuple[float, float]) -> tuple[Values, Values]:
    """The coordinates of points."""
    x, y = np.array(points, dtype=np.float64).T
    return x, y


def numbered(low: float, high: float, about: int = 5, title: str = "") -> Axis:
    """An axis with round numbers and a line across at each."""
    low, high = apart(low, high)
    values = ticks(low, high, about)
    return Axis(low, high, tuple(zip(values, together(values), strict=True)), title, grid=True)


def logarithmic(low: float, high: float, title: str) -> Axis:
    """A logarithmic axis: ticks at powers of ten, or at 1, 2, 5 where these are few.

    >>> [text for _, text in logarithmic(30.0, 900.0, "round").ticks]
    ['50', '100', '200', '500']
    """
    steps = (1.0, 2.0, 5.0) if high < 100.0 * low else (1.0,)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    values = [m * 10.0**e for e in range(first, last + 1) for m in steps]
    inside = [value for value in values if low <= value <= high]
    return Axis(low, high, labelled(inside, map(short, inside)), title, grid=True, log=True)


def labelled(values: Iterable[float], texts: Iterable[str]) -> tuple[tuple[float, str], ...]:
    """Ticks with these texts."""
    return tuple(zip(map(float, values), texts, strict=True))


LARGEST = 1e300  # of the ends of an axis


def apart(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis, moved apart if no numbers fit between them.

    >>> low, high = apart(1e30, 1e30)
    >>> low < 1e30 < high
    True
    """
    low, high = (max(-LARGEST, min(end, LARGEST)) for end in (low, high))
    least = max(1e-9 * max(abs(low), abs(high)), 1.0 / LARGEST)
    if high - low >= least:
        return low, high
    return 0.5 * (low + high) - least, 0.5 * (low + high) + least
