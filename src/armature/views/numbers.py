"""Numbers and tables as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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
