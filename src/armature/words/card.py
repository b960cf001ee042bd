"""The short form of an object: a title, a small table, a note.

A class that is `Shown` says what is on its card. `repr` is the card as text; notebooks get it as
HTML, with a picture where there is one (`armature.views.notebook`).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from armature.words.sentence import number

MOST_ROWS = 8
WIDEST = 24  # characters of a cell
LONGEST = 400  # of the title, and of a note


@dataclass(frozen=True)
class Card:
    """What is shown of an object: at most `MOST_ROWS` of the rows."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""

    @property
    def shown(self) -> tuple[tuple[str, ...], ...]:
        """The rows that are shown, with long cells cut."""
        return tuple(tuple(map(_middle_cut, row)) for row in self.rows[:MOST_ROWS])

    @property
    def rest(self) -> str:
        """How many rows are not shown, in words."""
        more = len(self.rows) - MOST_ROWS
        return f"... and {more} more" if more > 0 else ""

    def text(self) -> str:
        """The card for a terminal.

        >>> print(Card("Two arms", ("arm", "mean"), (("a", "0.5"), ("b", "12"))).text())
        Two arms
          arm  mean
            a   0.5
            b    12
        """
        table = [self.columns, *self.shown] if self.columns else []
        widths = [max(len(row[i]) for row in table) for i in range(len(self.columns))]
        lines = [
            "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in table
        ]
        rest = f"  {self.rest}" if self.rest else ""
        parts = [_cut(self.title, LONGEST), *lines, rest, _cut(self.note, LONGEST)]
        return "\n".join(part for part in parts if part)


class Shown:
    """An object with a card."""

    def card(self) -> Card:
        """What a REPL and a notebook show of it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.card().text()

    def _repr_html_(self) -> str:
        # Pictures are drawn by a room above this one, and only where a notebook asks.
        views: Any = importlib.import_module("armature.views.notebook")
        return str(views.html_of(self))


def row_of(name: Any, *values: float | str) -> tuple[str, ...]:
    """A row of a card: numbers in few digits, nothing for nan.

    >>> row_of("a", 12345.678, 0.12345, float("nan"))
    ('a', '12,346', '0.123', '')
    """
    cells = [value if isinstance(value, str) else _short(float(value)) for value in values]
    return (str(name), *cells)


def best_first(values: Iterable[float]) -> list[int]:
    """Indices from the highest value to the lowest; nan comes last, ties stay in order.

    >>> best_first([0.2, float("nan"), 0.9, 0.2])
    [2, 0, 3, 1]
    """
    keys: Sequence[float] = [-math.inf if math.isnan(value) else value for value in values]
    return sorted(range(len(keys)), key=lambda k: -keys[k])


def brief(value: Any) -> str:
    """An argument as a call shows it: long lists and arrays by their size.

    >>> brief([1, 2]), brief(list(range(50))), brief("x")
    ('[1, 2]', '<50 values>', "'x'")
    """
    if hasattr(value, "tolist"):  # an array
        small = value.size <= MOST_ROWS
        return str(value.tolist()) if small else f"<{' x '.join(map(str, value.shape))} values>"
    if isinstance(value, (list, tuple)) and len(value) > MOST_ROWS:
        return f"<{len(value)} values>"
    return _cut(repr(value), LONGEST // 2)


def _short(value: float) -> str:
    if math.isnan(value):
        return ""
    return number(value, ".0f" if 1000.0 <= abs(value) < 1e15 else "")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3].rstrip() + "..."


def _middle_cut(cell: str) -> str:
    """A cell without its middle where it is long: labels often differ at their ends."""
    half = WIDEST // 2 - 2
    return cell if len(cell) <= WIDEST else f"{cell[:half].rstrip()} ... {cell[-half:].lstrip()}"
