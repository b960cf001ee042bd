"""Text for people: sentences as data, numbers, and the short form of an object.

A policy explains itself in a `Sentence`. It names arms by their index, wrapped in `Arm`, and gives
numbers as numbers. What shows the sentence knows what the arms are called: labels and digits go in
when it is shown.

>>> why = Sentence("{arm} has {pulls:pull}, {rival} has {few}.",
...                arm=Arm(2), pulls=71441.0, rival=Arm(0), few=1.5)
>>> print(why)
Arm 2 has 71,441 pulls, arm 0 has 1.5.
>>> why.shown([4.99, 5.99, 6.99])
'6.99 has 71,441 pulls, 4.99 has 1.5.'

A class that is `Shown` has a `Card`: a title, a small table, a note. `repr` is the card as text;
notebooks get it as HTML, with a picture where there is one (`armature.views.pages`).

This lies below all rooms, as what says something is on every floor: structures, bounds and policies
name their arms and numbers here.
"""

from __future__ import annotations

import importlib
import math
import string
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST = 5  # names in a list; further ones are counted


@dataclass(frozen=True)
class Arm:
    """An arm in a sentence, by its index."""

    index: int


class Sentence:
    """A sentence, or several, with arms and numbers in named places.

    `values` are numbers, texts, an `Arm` or a list of them. A format such as `{evidence:.2f}` is
    Python's, and `{pulls:pull}` is "1 pull" or "28 pulls". Sentences add up.
    """

    def __init__(self, template: str, **values: Any) -> None:
        self.parts: tuple[tuple[str, Mapping[str, Any]], ...] = ((template, values),)

    def __add__(self, other: Sentence) -> Sentence:
        both = Sentence("")
        both.parts = (*self.parts, *other.parts)
        return both

    def shown(self, labels: Sequence[Hashable] | None = None) -> str:
        """The text, with the arms as they are called; without labels, "arm 3"."""
        writer = _Formatter(labels)
        return " ".join(
            _begun(text, writer.vformat(text, (), values)) for text, values in self.parts
        )

    def to_data(self) -> list[dict[str, Any]]:
        """The templates and their values, as plain data; arms by their index."""
        return [
            {"template": text, **{key: _plain(value) for key, value in values.items()}}
            for text, values in self.parts
        ]

    def __str__(self) -> str:
        return self.shown()

    def __repr__(self) -> str:
        return f"Sentence({self.shown()!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sentence) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.shown())


class _Formatter(string.Formatter):
    """Puts values into a template."""

    def __init__(self, labels: Sequence[Hashable] | None) -> None:
        self._labels = labels

    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, Arm):
            return self._name(value)
        if isinstance(value, (list, tuple)):
            return listed([self._name(arm) for arm in value])
        if isinstance(value, str):
            return format(value, spec)
        if spec.isalpha() and len(spec) > 1:
            return f"{number(value)} {spec}{'' if value == 1 else 's'}"
        return number(value, spec)

    def _name(self, arm: Arm) -> str:
        return called(arm.index if self._labels is None else self._labels[arm.index])


def called(label: Hashable) -> str:
    """An arm in a sentence, by its label; a whole number is no name.

    >>> called("blue"), called(6.99), called(3)
    ('blue', '6.99', 'arm 3')
    """
    return f"arm {label}" if isinstance(label, int) else str(label)


def number(value: float, spec: str = "") -> str:
    """A number as people read it: groups of thousands, three digits unless it is whole.

    >>> number(71441.0), number(0.01234), number(3.63), number(12.0), number(40940.4, ".3g")
    ('71,441', '0.0123', '3.63', '12', '40,900')
    """
    if isinstance(value, bool) or not math.isfinite(value):
        return str(value)
    if not spec:
        spec = ".0f" if float(value).is_integer() and abs(value) < 1e15 else ".3g"
    text = format(float(value), spec)
    if abs(value) >= 1000.0 and abs(value) < 1e15:
        _, point, decimals = text.partition(".")
        digits = 0 if "e" in text or not point else len(decimals)
        return f"{float(text):,.{digits}f}"
    return text


def visible(text: str, keep: str = "") -> str:
    r"""A text in which whatever a terminal would obey rather than show is spelled out.

    >>> print(visible("a\x1b[31m b\n"))
    a\x1b[31m b\n
    """
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def listed(names: Sequence[str], most: int = MOST) -> str:
    """Names as a list in words.

    >>> listed(["a", "b", "c"]), listed(list("abcdefg")), listed(["a"])
    ('a, b and c', 'a, b, c, d and 3 more', 'a')
    """
    texts = list(names)
    if len(texts) > most:
        texts = [*texts[: most - 1], f"{len(texts) - most + 1} more"]
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def _begun(template: str, text: str) -> str:
    """A sentence that begins with an unnamed arm begins with a capital."""
    return f"A{text[1:]}" if text.startswith("arm ") and not template.startswith("{text}") else text


def _plain(value: Any) -> Any:
    if isinstance(value, Arm):
        return value.index
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


MOST_ROWS = 8
WIDEST = 24  # characters of a cell
LONGEST = 400  # of the title, and of a note


@dataclass(frozen=True)
class Card:
    """The short form of an object, with at most `MOST_ROWS` rows."""

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
        """The number of rows that are not shown, in words."""
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
        """The short form for a REPL and a notebook."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.card().text()

    def _repr_html_(self) -> str:
        # Pictures are drawn by a room above this one, and only where a notebook asks.
        views: Any = importlib.import_module("armature.views.pages")
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
