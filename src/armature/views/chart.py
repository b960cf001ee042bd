"""A chart as data: two axes, and marks in their units. `svg` draws it, and so does `figure`.

Below it, numbers as axes, labels and tables show them.

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
        """The left end of the first arm's place."""
        return 0.0

    @property
    def high(self) -> float:
        """The right end of the last arm's place."""
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


LONGEST = 16  # characters of a label under an axis
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """About `about` round numbers from low to high.

    >>> ticks(0.0, 1.0), ticks(-3.0, 17.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0, 15.0])
    """
    if not (high - low) / about > 0.0:
        return [low]
    rough = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = min((m * unit for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / rough)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def number(value: float, digits: int = 4) -> str:
    """A number for people: few digits, groups of thousands, a minus that is one.

    >>> number(1234567.0), number(-0.012345), number(float("nan")), number(12.5)
    ('1,234,567', '−0.01235', '–', '12.5')
    """
    if math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size >= 10.0 ** (digits - 1):
        text = f"{value:,.0f}"
    elif size >= 1e-4 or size == 0.0:
        text = f"{value:.{digits}g}"
    else:
        text = f"{value:.2e}"
    return text.replace("-", MINUS)


def aligned(
    *columns: Sequence[float] | None, digits: int = 4, decimals: int | None = None
) -> list[Sequence[str]]:
    """Columns of numbers with the same number of decimals, so that they line up; None: dashes.

    >>> aligned([0.1, 0.1234, float("nan")], [12.0, -3.5, 7.0])
    [['0.10', '0.12', '–'], ['12.00', '−3.50', '7.00']]
    """
    known = [abs(v) for column in columns if column is not None for v in column if math.isfinite(v)]
    if decimals is None:
        size = max(known, default=1.0) or 1.0
        decimals = min(max(digits - 1 - math.floor(math.log10(size)), 0), 12)
    return [_Dashes() if c is None else [_fixed(v, decimals) for v in c] for c in columns]


class _Dashes(Sequence[str]):
    """A column in which nothing is known, however long."""

    def __getitem__(self, index: Any) -> Any:
        return DASH

    def __len__(self) -> int:
        return 0


def _fixed(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return number(value)
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text.replace("-", MINUS)


def together(values: Sequence[float]) -> list[str]:
    """Numbers in order, all with the decimals that their distance needs.

    >>> together([0.1, 0.15, 0.2]), together([0.0, 500.0, 1000.0])
    (['0.10', '0.15', '0.20'], ['0', '500', '1,000'])
    """
    if len(values) < 2:
        return [number(value, 3) for value in values]
    step = values[1] - values[0]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [_fixed(value, min(decimals, 12)) for value in values]


def short(count: float) -> str:
    """A count for an axis.

    >>> short(950), short(1500), short(2e6), short(0)
    ('950', '1.5k', '2M', '0')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return f"{count:.3g}"


def share(value: float) -> str:
    """A share in percent; little is not nothing.

    >>> share(0.0), share(0.004), share(0.4321), share(0.9999), share(1.0)
    ('0 %', '<1 %', '43 %', '>99 %', '100 %')
    """
    if 0.0 < value < 0.005:
        return "<1 %"
    if 0.995 < value < 1.0:
        return ">99 %"
    return f"{100.0 * value:.0f} %"


def clipped(name: str) -> str:
    """A label that is not too long.

    >>> clipped("a label that is too long")
    'a label that is…'
    """
    return name if len(name) <= LONGEST else name[: LONGEST - 1].rstrip() + "…"


def markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A table, with a line break at its end; bars and line breaks in a cell stay in that cell.

    >>> print(markdown_table(["arm", "pulls"], [["0", "12"], ["a|b", "3"]]), end="")
    | arm | pulls |
    |---|---|
    | 0 | 12 |
    | a\|b | 3 |
    """
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in [titles, *rows]]
    return "\n".join([lines[0], "|---" * len(titles) + "|", *lines[1:]]) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split("\n"))
