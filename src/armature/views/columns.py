"""Where each arm stands in a picture, and what is written under it."""

from __future__ import annotations

from markupsafe import Markup

from armature.views.picture import Arms
from armature.views.svg import clipped, joined, number, percent, strides, tag

MANY = 40  # arms, from which on marks are small


def kind_of(kind: str, arms: Arms) -> str:
    """The class of a picture: with many arms, marks are small."""
    return f"{kind} many" if len(arms) > MANY else kind


def radius(arms: Arms) -> float:
    """Of a mark."""
    return 2.2 if len(arms) > MANY else 4.5


def middle(arms: Arms, k: int) -> float:
    """Where an arm stands, in percent."""
    return 100.0 * (k + 0.5) / len(arms)


def bar(arms: Arms, k: int, y: float) -> tuple[float, float, float, float]:
    """A line across the place of an arm."""
    half = 0.36 * 100.0 / len(arms)
    return middle(arms, k) - half, y, middle(arms, k) + half, y


def group_bands(arms: Arms, height: float) -> Markup:
    """Every other group on a ground of its own."""
    width = 100.0 / len(arms)
    parts = []
    for i, group in enumerate(arms.groups):
        x, size = group.start * width, (group.stop - group.start) * width
        if i % 2 == 0:
            parts.append(
                tag("rect", class_="group", x=percent(x), y=-8.0, width=percent(size),
                    height=height + 8.0)
            )  # fmt: skip
    return joined(parts)


def labels_under(arms: Arms, height: float) -> Markup:
    """Labels under the arms, as many as there is room for at each width; groups under them."""
    every = strides(arms.names)
    parts = []
    for k, name in enumerate(arms.names):
        hidden = [kind for kind, n in every.items() if k % n != arms.leader % n]
        if len(hidden) == len(every):
            continue
        leader = ["leader"] if k == arms.leader and arms.n_seen else []
        parts.append(
            tag("text", clipped(name), class_=" ".join(["axis", *leader, *hidden]),
                x=percent(middle(arms, k)), y=height + 20.0, text_anchor="middle")
        )  # fmt: skip
    if 1 < len(arms.groups) <= 8:
        for group in arms.groups:
            x = 50.0 * (group.start + group.stop) / len(arms)
            parts.append(
                tag("text", clipped(group.name), class_="axis group-name", x=percent(x),
                    y=height + 38.0, text_anchor="middle")
            )  # fmt: skip
    return joined(parts)


def label_of(arms: Arms) -> str:
    """The picture of the arms in words."""
    if not arms.n_seen:
        return f"{len(arms)} arms, and no rewards yet."
    k = arms.leader
    text = f"Means of {len(arms)} arms. The best fitted mean is {number(arms.fit[k])}, at "
    text += f"{arms.names[k]}."
    if arms.rival is not None:
        text += f" In the nearest alternative {arms.names[arms.rival]} would be best."
    return text
