"""Charts drawn by Matplotlib, for notebooks and papers; colours, dashes and names of policies.

Drawings are made without pyplot: no backend is chosen for the user, nothing has to be closed, and
what is returned is shown by a notebook.
"""

from __future__ import annotations

import io
import itertools
import os
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.path import Path as Outline

from armature.bounds import LowerBound
from armature.errors import ArmatureError
from armature.storage.files import checked_path, write_bytes
from armature.structures.instance import Instance
from armature.views.bandit_charts import arms_chart, bound_charts, pulls_chart
from armature.views.chart import Axis, Chart, Line, Points, Slots, Words
from armature.views.picture import Picture
from armature.words import visible

# Okabe and Ito's colours, which stay apart for colour-blind readers and in print.
BLACK, ORANGE, BLUE, GREEN, PINK = "#000000", "#E69F00", "#0072B2", "#009E73", "#CC79A7"
COLOURS = (BLUE, "#D55E00", GREEN, PINK, ORANGE, "#56B4E9", "#7F3C8D", "#8C6D31", "#666666")
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 3.5)),
    (0, (3, 1, 1, 1, 1, 1)), (0, (9, 3)), (0, (1, 3)), (0, (4, 1, 1, 1)),
)  # fmt: skip
STYLES: dict[str, tuple[str, int]] = {  # a colour and one of DASHES
    "SPk": (BLUE, 0),
    "SPLambda": ("#56B4E9", 1),
    "OSSB": ("#D55E00", 0),
    "UCB": ("#666666", 0),
    "StructuredUCB": (GREEN, 1),
    "CATSE": (PINK, 3),
    "CROP": (PINK, 3),
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

StrPath = str | os.PathLike[str]
F = TypeVar("F", bound=Figure)
Looks = Mapping[str, Mapping[str, Any]]
INK, SOFT, OTHER, PALE, WORDS = "#1c1b19", "#8a857b", "#b5480f", "#d8d3c8", "#4a463f"
ARROW = Outline(  # up, as on the page
    [(0.0, -1.0), (0.0, 1.0), (-0.6, 0.3), (0.0, 1.0), (0.6, 0.3)],
    [Outline.MOVETO, Outline.LINETO, Outline.MOVETO, Outline.LINETO, Outline.LINETO],
)
SHAPES: dict[str, Any] = {
    "dot": "o", "ring": "o", "diamond": "D", "tick": "|", "star": "*", "arrow": ARROW,
}  # fmt: skip
LOOKS: Looks = {
    "interval": {"color": SOFT, "linewidth": 1.5},
    "fit": {"color": BLUE, "linewidth": 2.0},
    "alternative": {"color": OTHER, "linestyle": "--"},
    "mean": {"color": INK},
    "best": {"color": INK},
    "rival": {"color": OTHER, "markerfacecolor": "white"},
    "stem": {"color": PALE, "linewidth": 4.0},
    "pulled": {"color": INK},
    "leader": {"color": BLUE},
    "asked": {"color": BLUE, "fillstyle": "none"},
    "whisker": {"color": SOFT, "linewidth": 1.5},
    "middle": {"color": BLUE, "linewidth": 9.0, "alpha": 0.4},
    "median": {"color": BLUE, "markeredgewidth": 2.5},
    "logged": {"color": SOFT},
    "change": {"color": SOFT, "linestyle": (0, (1, 2)), "linewidth": 1.2},
    "lower bound": {"color": BLACK, "linestyle": ":", "linewidth": 1.6},
    "without the structure": {"color": BLACK, "linestyle": "-.", "linewidth": 1.0},
    **{
        f"confusing {n}": {
            "color": colour,
            "linestyle": "--",
            "linewidth": 1.2,
            "fillstyle": "none",
        }
        for n, colour in enumerate((ORANGE, BLUE, GREEN, PINK))
    },
    "with it": {"color": BLUE, "alpha": 1.0},
    "without it": {"color": "#BBBBBB", "alpha": 1.0},
}
ANCHORS = {"start": "left", "middle": "center", "end": "right"}
PIXEL = 0.75  # points that a pixel of a mark's size is
MOST_NAMES = 24  # arms, beyond which not every one is named
WRAPPED = 26  # letters in a line of a legend beside one panel


class Drawing(Figure):
    """A figure that a notebook shows, whether or not pyplot is in use there."""

    def _repr_png_(self) -> bytes:
        return content_of(self, "png")


def new_drawing(width: float, height: float) -> Drawing:
    """An empty drawing; width and height in inches."""
    drawing = Drawing(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawing)
    return drawing


def draw(axes: Any, chart: Chart, looks: Looks = LOOKS) -> dict[str, Any]:
    """Draw a chart; returns what belongs in a legend, by its look."""
    shown = {}
    for mark in chart.marks:
        if isinstance(mark, Words):
            axes.text(
                mark.x, mark.y, literal(mark.text), ha=ANCHORS[mark.anchor], fontsize=8, zorder=4,
                color=looks.get(mark.look, {}).get("color", WORDS), transform=axes.transAxes,
                bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.0},
            )  # fmt: skip
            continue
        handle = _drawn(axes, mark, _look(looks, mark.look))
        if mark.label:
            shown[mark.look] = handle
    _finish_x(axes, chart.x)
    _finish_y(axes, chart.y)
    axes.spines[["top", "right"]].set_visible(False)
    return shown


def explain(axes: Any, shown: Mapping[str, Any], **place: Any) -> None:
    """Add a legend to one panel; names in it are drawn as they are."""
    labels = [in_lines(handle.get_label(), WRAPPED) for handle in shown.values()]
    if labels:
        axes.legend(shown.values(), labels, frameon=False, fontsize=9, **place)


def _look(looks: Looks, name: str) -> dict[str, Any]:
    """A style by its name; of several words, as in CSS, the later ones count."""
    parts = [name] if name in looks else name.split()
    return {key: value for part in parts for key, value in looks.get(part, {}).items()}


def _drawn(axes: Any, mark: Line | Points, look: Mapping[str, Any]) -> Any:
    options: dict[str, Any] = {"label": mark.label or None, **look}
    if isinstance(mark, Points):
        size = PIXEL * 2.0 * mark.size * (0.75 if mark.shape == "diamond" else 1.0)
        options |= {"linestyle": "", "marker": SHAPES[mark.shape], "markersize": size}
        points = axes.plot(mark.x, mark.y, clip_on=False, **options)[0]
        points.set_in_layout(bool(np.isfinite(mark.y).any()))  # nothing takes no room
        return points
    if mark.closed:
        options.pop("linestyle", None)
        return axes.fill(mark.x, mark.y, **{"alpha": 0.18, **options, "linewidth": 0.0})[0]
    thick = {"solid_capstyle": "butt"} if options.get("linewidth", 0.0) > 3.0 else {}
    return axes.plot(mark.x, mark.y, **options, **thick)[0]


def _finish_x(axes: Any, axis: Axis | Slots) -> None:
    axes.set_xlim(axis.low, axis.high)
    axes.set_xlabel(literal(axis.title))
    if isinstance(axis, Axis):
        if axis.log:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter("")
        if axis.ticks:
            axes.set_xticks([at for at, _ in axis.ticks], [literal(text) for _, text in axis.ticks])
        if axis.grid:
            axes.grid(axis="x", alpha=0.25, linewidth=0.6)
        return
    every = max(1, -(-len(axis.names) // MOST_NAMES))
    names = [shortened(name) for name in axis.names[::every]]
    slanted = max(map(len, names)) > 6
    axes.set_xticks(axis.places[::every], names, rotation=40 if slanted else 0,
                    ha="right" if slanted else "center")  # fmt: skip
    for group in axis.groups[::2]:
        axes.axvspan(group.start, group.stop, color="#f1eee7", zorder=0)
    if 1 < len(axis.groups) <= 8:
        for group in axis.groups:
            axes.text(0.5 * (group.start + group.stop), 0.98, shortened(group.name), color=WORDS,
                      fontsize=8, ha="center", va="top",
                      transform=axes.get_xaxis_transform())  # fmt: skip


def _finish_y(axes: Any, axis: Axis) -> None:
    axes.set_ylim(axis.low, axis.high)
    axes.set_ylabel(literal(axis.title))
    if axis.ticks is not None:
        axes.set_yticks([at for at, _ in axis.ticks], [literal(text) for _, text in axis.ticks])
    if axis.grid:
        axes.grid(axis="y", alpha=0.25, linewidth=0.6)


def stacked(charts: Sequence[Chart], heights: Sequence[float]) -> Drawing:
    """Charts of the same arms, one above the other, each with its legend beside it."""
    width = max(6.0, min(14.0, 2.5 + 0.5 * charts[0].x.high))
    drawing = new_drawing(width, 6.0)
    panels = drawing.subplots(len(charts), 1, sharex=True, height_ratios=heights, squeeze=False)
    for axes, chart in zip(panels[:, 0], charts, strict=True):
        explain(axes, draw(axes, chart), loc="center left", bbox_to_anchor=(1.0, 0.5))
        axes.set_title(in_lines(chart.title, 60))
    return drawing


def plot_belief(shown: Picture, path: StrPath | None = None) -> Drawing:
    """Means, fit and nearest alternative above, pulls below; into a PNG, SVG or PDF if wanted."""
    drawing = stacked([arms_chart(shown), pulls_chart(shown.arms, shown.target)], [3, 2])
    return save(drawing, [] if path is None else [path])


def plot_bound(
    instance: Instance, bound: LowerBound, path: StrPath | None = None, epsilon: float | None = None
) -> Drawing:
    """Draw means and confusing instances above, the optimal pulls below, into a PNG, SVG or PDF."""
    drawing = stacked(bound_charts(instance, bound, epsilon), [3, 2])
    return save(drawing, [] if path is None else [path])


# Files.


def checked_picture(path: StrPath) -> Path:
    """The path of a picture that can be written."""
    target = checked_path(path)
    if target.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ArmatureError(f"{target.name!r} must end in .png, .svg or .pdf.")
    if not target.parent.is_dir():
        raise ArmatureError(f"{str(target)!r}: there is no folder {str(target.parent)!r}.")
    return target


def save(drawing: F, paths: Sequence[StrPath]) -> F:
    """Write a drawing to files, each whole or not at all; PNG, SVG or PDF by their names."""
    for path in [checked_picture(path) for path in paths]:
        write_bytes(path, content_of(drawing, path.suffix.lower().removeprefix(".")))
    return drawing


def content_of(drawing: Figure, suffix: str) -> bytes:
    """The content of a drawing's file: the same, however often it is drawn."""
    content = io.BytesIO()
    engine = drawing.get_layout_engine()
    for axes in drawing.axes:  # the layout begins from where panels are, and rounds
        spec = axes.get_subplotspec()
        if spec is not None:
            axes.set_subplotspec(spec)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a font need not have every script
        try:
            drawing.draw_without_rendering()
            drawing.set_layout_engine("none")  # which has done its slow work
            drawing.savefig(content, format=suffix, dpi=150)
        finally:
            drawing.set_layout_engine(engine)
    return content.getvalue()


# Looks and names of policies.


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
