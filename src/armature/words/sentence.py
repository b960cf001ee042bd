"""Sentences as data: which arms and which numbers. Labels and digits go in when they are shown.

A policy explains itself in a `Sentence`. It names arms by their index, wrapped in `Arm`, and gives
numbers as numbers. What shows the sentence knows what the arms are called.

>>> why = Sentence("{arm} has {pulls:pull}, {rival} has {few}.",
...                arm=Arm(2), pulls=71441.0, rival=Arm(0), few=1.5)
>>> print(why)
Arm 2 has 71,441 pulls, arm 0 has 1.5.
>>> why.shown([4.99, 5.99, 6.99])
'6.99 has 71,441 pulls, 4.99 has 1.5.'
"""

from __future__ import annotations

import math
import string
from collections.abc import Hashable, Mapping, Sequence
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
        writer = _Writer(labels)
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


class _Writer(string.Formatter):
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
