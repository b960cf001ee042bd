"""Colours, dashes and names of policies in a picture."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from armature.words import visible

# Okabe and Ito's colours, which stay apart for colour-blind readers and in print.
BLACK, ORANGE, BLUE, GREEN, PINK = "#000000", "#E69F00", "#0072B2", "#009E73", "#CC79A7"
COLOURS = (BLUE, "#D55E00", GREEN, PINK, ORANGE, "#56B4E9", "#7F3C8D", "#8C6D31", "#666666")
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 3.5)),
    (0, (3, 1, 1, 1, 1, 1)),
)  # fmt: skip
STYLES: dict[str, tuple[str, int]] = {  # a colour and one of DASHES
    "SPk": (BLUE, 0),
    "SPLambda": ("#56B4E9", 1),
    "OSSB": ("#D55E00", 0),
    "UCB": ("#666666", 0),
    "StructuredUCB": (GREEN, 1),
    "CATSE": (PINK, 3),
    "EndOfOptimism": (PINK, 3),
    "OSUB": (PINK, 3),
    "IMEDUB": ("#8C6D31", 3),
    "UnimodalThompson": ("#7F3C8D", 3),
    "IDS": ("#56B4E9", 3),
    "SOLID": ("#D55E00", 3),
    "SparseUCB": (PINK, 3),
    "LinUCB": (ORANGE, 2),
    "KLUCB": ("#666666", 2),
    "Challenger": ("#B2182B", 0),
    "Guarded": (ORANGE, 0),
    "IMED": ("#8C6D31", 1),
    "ThompsonSampling": ("#9A9A00", 2),
    "ProjectedThompson": ("#7F3C8D", 0),
    "MINTS": ("#7F3C8D", 2),
    "TopTwo": ("#B2182B", 0),
    "GameSampling": (BLUE, 0),
    "TrackAndStop": (GREEN, 1),
    "UniformSampling": ("#666666", 3),
}
WIDTH = 34  # letters in a line of a legend
SHORT = 24  # letters where there is room for one line only
HANDLE = 3.4  # how long a line is in a legend, in units of the letters: its dashes can be seen


def styles_of(*panels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The colour and dashes of each policy in a picture, none like another's in the same panel.

    Those of the library look the same in every picture, as far as that goes; others get a colour
    that few have. Variants of one policy have its colour and dashes of their own. Policies that
    never meet in a panel may look the same.
    """
    names = list(dict.fromkeys(name for panel in panels for name in panel))
    wanted = _wanted({name.partition("(")[0] for name in names})
    looks: dict[str, tuple[str, int]] = {}
    for name in sorted(names, key=lambda name: "(" in name):  # a variant makes way
        kind, options, _ = name.partition("(")
        colour, dash = wanted[kind]
        near = {other for panel in panels if name in panel for other in panel}
        taken = {looks[other] for other in near if other in looks}
        dashes = [(dash + bool(options) + n) % len(DASHES) for n in range(len(DASHES))]
        candidates = itertools.product((colour, *COLOURS), dashes)
        looks[name] = next((look for look in candidates if look not in taken), (colour, dash))
    return {name: {"color": looks[name][0], "linestyle": DASHES[looks[name][1]]} for name in names}


def _wanted(kinds: Iterable[str]) -> dict[str, tuple[str, int]]:
    """The colour of each class of policies, and the dashes that it has without options."""
    found: dict[str, tuple[str, int]] = {}
    for kind in sorted(kinds, key=lambda kind: (kind not in STYLES, kind)):
        used = [colour for colour, _ in found.values()]
        found[kind] = STYLES.get(kind) or (min(COLOURS, key=used.count), 0)
    return found


def literal(text: str) -> str:
    r"""A text that is drawn as it is: not as a formula, where there are two dollars in it.

    >>> print(literal("$5 or $6"))
    \$5 or \$6
    """
    return visible(text).replace("$", r"\$")


def in_lines(text: str, width: int = WIDTH, most: int | None = None) -> str:
    """A text in lines of `width` letters, as it is drawn; with `most`, in at most that many lines.

    >>> print(in_lines("Guarded(Challenger, delta=0.05, audit=0.25)"))
    Guarded(Challenger,
    delta=0.05, audit=0.25)
    """
    shown = visible(text) if most is None else _cut(visible(text), (most - 1) * width)
    return "\n".join(map(literal, textwrap.wrap(shown, width) or [""]))


def shortened(text: str, most: int = SHORT) -> str:
    """A text of at most `most` letters, as it is drawn: the middle is left out.

    >>> shortened("a" * 20 + "b" * 20, 11)
    'aaaaa…bbbbb'
    """
    return literal(_cut(visible(text), most))


def _cut(text: str, most: int) -> str:
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[len(text) - half :]}"


def legend_beside(picture: Any, handles: Iterable[Any], names: Iterable[str]) -> None:
    """A legend to the right of all panels, which gets as high as it has to be."""
    labels = [in_lines(name) for name in names]
    lines = sum(label.count("\n") + 1 for label in labels)
    width, height = picture.get_size_inches()
    picture.set_size_inches(width, max(height, 0.8 + 0.16 * lines + 0.065 * len(labels)))
    picture.legend(
        handles,
        labels,
        loc="outside right center",
        frameon=False,
        fontsize=9,
        handlelength=HANDLE,
    )
