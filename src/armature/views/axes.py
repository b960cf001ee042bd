"""What pictures have around them: lines across with their numbers, counts underneath."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from armature.views.svg import Scale, joined, percent, short, tag, ticks

LOW_HEIGHT = 180.0  # of a picture that is not the first


def grid(scale: Scale, texts: Sequence[str], values: Sequence[float] | None = None) -> Markup:
    """Lines across with their numbers at the left, outside of the picture."""
    lines = []
    for value, text in zip(grid_values(scale) if values is None else values, texts, strict=True):
        y = scale(value)
        lines.append(tag("line", class_="grid", x1=0, x2="100%", y1=y, y2=y))
        lines.append(tag("text", text, class_="axis", x=-10, y=y + 4.0, text_anchor="end"))
    return joined(lines)


def across(total: float, what: str, height: float) -> Markup:
    """Counts under a picture: the start and the end of what has happened."""
    y = height + 20.0
    texts = [tag("text", "0", class_="axis", x=0, y=y)]
    inner = [t for t in ticks(0.0, total, 4) if 0.08 * total < t < 0.6 * total]
    places = [percent(100.0 * t / total) for t in inner]
    texts += [
        tag("text", short(t), class_="axis", x=x, y=y, text_anchor="middle")
        for t, x in zip(inner, places, strict=True)
    ]
    end = f"{short(total)} {what}"
    texts.append(tag("text", end, class_="axis", x="100%", y=y, text_anchor="end"))
    return joined(texts)


def grid_values(scale: Scale, about: int = 5) -> list[float]:
    """Where lines across are."""
    return ticks(scale.low, scale.high, about)


def words_at(words: str, x: float, y: float, anchor: str) -> Markup:
    """A text at a place."""
    return tag("text", words, class_="axis", x=percent(x), y=y, text_anchor=anchor)
