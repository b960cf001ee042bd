"""SVG by hand: elements, scales, ticks, numbers.

Pictures are fluid. Across, places are percentages of whatever width there is; down, they are
pixels; so that texts keep their size on a phone and on a wall. What SVG can't place in percent
(lines with many corners) is drawn in a nested picture that is stretched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

LARGEST = 1e300  # of the ends of a scale
WIDE = 1000.0  # units across of a stretched picture
LONGEST = 16  # characters of a label under an axis
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
WIDTHS = {"hide-n": 290.0, "hide-m": 600.0, "hide-w": 900.0}  # pixels at which labels must fit


def tag(name: str, *content: str, **attributes: object) -> Markup:
    """An element; texts and attributes are escaped, elements are not escaped again.

    >>> tag("text", "a < b", text_anchor="end")
    Markup('<text text-anchor="end">a &lt; b</text>')
    """
    pairs = []
    for key, value in attributes.items():
        if value is not None:
            shown = plain(value) if isinstance(value, float) else value
            pairs.append(f' {key.rstrip("_").replace("_", "-")}="{escape(shown)}"')
    inside = "".join(escape(part) for part in content)
    if not inside:
        return Markup(f"<{name}{''.join(pairs)}/>")
    return Markup(f"<{name}{''.join(pairs)}>{inside}</{name}>")


def plain(value: float) -> str:
    """A coordinate: two decimals are a fiftieth of a pixel.

    >>> plain(12.5), plain(3.0), plain(-0.001)
    ('12.5', '3', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent(value: float) -> str:
    """A place across, from 0 to 100."""
    return f"{plain(value)}%"


def joined(parts: Iterable[str]) -> Markup:
    """Several elements as one."""
    return Markup("").join(parts)


def picture(height: float, label: str, *content: str, kind: str = "chart") -> Markup:
    """A fluid picture with a description for who can't see it."""
    return tag(
        "svg",
        *content,
        class_=kind,
        role="img",
        aria_label=label,
        width="100%",
        height=height,
    )


def stretched(height: float, *content: str) -> Markup:
    """A nested picture, WIDE units across whatever its width."""
    return tag(
        "svg",
        *content,
        viewBox=f"0 0 {plain(WIDE)} {plain(height)}",
        preserveAspectRatio="none",
        width="100%",
        height=height,
    )


def path_of(points: Iterable[tuple[float, float]], closed: bool = False) -> str:
    """The `d` of a path through points: percent across, pixels down."""
    steps = [f"{plain(x * WIDE / 100.0)} {plain(y)}" for x, y in points]
    return "M" + "L".join(steps) + ("Z" if closed else "")


def pieces_of(lines: Iterable[tuple[float, float, float, float]]) -> str:
    """The `d` of a path of separate straight lines: from and to, percent across, pixels down."""
    return "".join(path_of([(x1, y1), (x2, y2)]) for x1, y1, x2, y2 in lines)


@dataclass(frozen=True)
class Scale:
    """From numbers to pixels down: `low` is at the bottom.

    Ends that are too near to each other to tell numbers between them apart are moved apart.

    >>> Scale(1e30, 1e30, 100.0)(1e30)
    50.0
    """

    low: float
    high: float
    height: float

    def __post_init__(self) -> None:
        low, high = (max(-LARGEST, min(end, LARGEST)) for end in (self.low, self.high))
        least = max(1e-9 * max(abs(low), abs(high)), 1.0 / LARGEST)
        if not high - low >= least:
            low, high = 0.5 * (low + high) - least, 0.5 * (low + high) + least
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __call__(self, value: float) -> float:
        """Where a number is; what is outside is at the border."""
        share = (value - self.low) / (self.high - self.low)
        return self.height * (1.0 - min(max(share, 0.0), 1.0))


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high, about so many.

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


def tick_texts(values: Sequence[float]) -> list[str]:
    """Ticks of an axis, all with the decimals of the finest.

    >>> tick_texts([0.1, 0.15, 0.2]), tick_texts([0.0, 500.0, 1000.0])
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


def strides(names: Sequence[str]) -> dict[str, int]:
    """For each width, every how many-th label there is room for."""
    widest = 7.2 * max(len(clipped(name)) for name in names) + 14.0
    return {kind: max(1, math.ceil(widest * len(names) / w)) for kind, w in WIDTHS.items()}
