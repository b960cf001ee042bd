"""What the study found, as tables in Markdown and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from armature import Identification
from armature.storage.files import write_text
from armature.views.chart import markdown_table
from armature.views.figure import BLACK, new_drawing, save, styles_of

TICKS = (1.0, 1.3, 2.0, 3.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True, eq=False)
class Found:
    """All results of the study, by problem."""

    panels: dict[str, Identification]
    known: dict[str, Identification]  # a rule that knows the shares
    free: dict[str, Identification]  # the panels without structure
    random: dict[str, Identification]
    practical: dict[str, list[Identification]]  # for counting errors, in pieces
    theory: dict[str, list[Identification]]
    told: str  # the table of a rule that is told more


def ratio_table(results: dict[str, Identification], policy: str) -> str:
    """A policy's mean rounds over T* ln(1 / delta), by problem and delta."""
    rows = []
    for name, found in results.items():
        summary = found.summary().loc[policy]
        cells = [f"{row['ratio']:.2f}" for _, row in summary.iterrows()]
        rows.append([name, f"{summary['T*'].iloc[0]:.4g}", *cells])
    deltas = next(iter(results.values())).deltas
    return markdown_table(["problem", "T*", *(f"{delta:g}" for delta in deltas)], rows)


def rules_table(results: dict[str, Identification], delta: float) -> str:
    """All rules' mean rounds over T* ln(1 / delta), for one delta."""
    names = next(iter(results.values())).names
    rows = []
    for problem, found in results.items():
        summary = found.summary()
        cells = []
        for name in names:
            row = summary.loc[(name, delta)]
            late = " (some unsure)" if row["unsure"] > 0.0 else ""
            error = row["standard_error"] * row["ratio"] / row["rounds"]
            cells.append(f"{row['ratio']:.2f} ± {error:.2f}{late}")
        rows.append([problem, *cells])
    return markdown_table(["problem", *(f"`{name}`" for name in names)], rows)


def parts_table(results: dict[str, Identification], policy: str, delta: float) -> str:
    """A policy's ratio as a product: evidence when it stops, and rounds for so much evidence."""
    rows = []
    for name, found in results.items():
        d = found.deltas.index(delta)
        row = found.summary().loc[(policy, delta)]
        evidence = float(found.runs[policy].statistics[:, d].mean() / np.log(1.0 / delta))
        cells = [row["ratio"], evidence, row["ratio"] / evidence]
        rows.append([name, *(f"{value:.2f}" for value in cells)])
    titles = ["problem", "ratio", "evidence / ln(1 / delta)", "rounds / (T* evidence)"]
    return markdown_table(titles, rows)


def error_table(found: Found) -> str:
    """How often a wrong arm was named, with both thresholds, and how many rounds it took."""
    deltas = next(iter(found.practical.values()))[0].deltas
    rows = []
    for name, practical in found.practical.items():
        cells = []
        for pieces in (practical, found.theory[name]):
            policy = pieces[0].names[0]
            cells += [f"{e:.2%}" for e in np.mean([p.errors(policy) for p in pieces], axis=0)]
            cells.append(f"{np.mean([p.rounds(policy)[:, 0] for p in pieces]):.0f}")
        rows.append([name, *cells])
    titles = ["problem"]
    for word in ("practical", "theory"):
        titles += [f"{word}: errors at {delta:g}" for delta in deltas]
        titles.append(f"rounds at {deltas[0]:g}")
    return markdown_table(titles, rows)


def saving_table(found: Found, policy: str) -> str:
    """A policy that knows the structure against rules that do not, at the same delta."""
    rows = []
    for name, free in found.free.items():
        delta = free.deltas[0]
        own = found.panels[name].summary().loc[(policy, delta)]["rounds"]
        others = free.summary().xs(delta, level="delta")["rounds"]
        cells = [f"{value:.0f} ({value / own:.1f} times)" for value in others]
        rows.append([name, f"{own:.0f}", *cells])
    names = next(iter(found.free.values())).names
    return markdown_table(
        ["problem", f"`{policy}`", *(f"`{n}`, no structure" for n in names)], rows
    )


def write_tables(found: Found, out: Path) -> None:
    """tables.md and ratios.png."""
    first = next(iter(found.panels.values()))
    best = first.names[0]
    delta = first.deltas[2] if len(first.deltas) > 2 else first.deltas[-1]
    sections = {
        f"All rules at delta = {delta:g}": rules_table(found.panels, delta),
        f"`{best}` on the panels, by delta": ratio_table(found.panels, best),
        "A rule that knows the optimal shares, by delta": ratio_table(found.known, "KnownShares"),
        f"`{best}` at delta = {delta:g}, taken apart": parts_table(found.panels, best, delta),
        f"`{best}` on random instances, by delta": ratio_table(found.random, best),
        "Errors": error_table(found),
        "What the structure saves": saving_table(found, best),
        "One good arm of ten, for a rule that is told both values": found.told,
    }
    text = "\n\n".join(f"## {title}\n\n{table}" for title, table in sections.items())
    write_text(out / "tables.md", text + "\n")
    plot_ratios(found.panels, out / "ratios.png")


def plot_ratios(results: dict[str, Identification], path: Path) -> None:
    """Mean rounds over T* ln(1 / delta) as delta falls, a small picture for each problem."""
    columns = 4
    picture = new_drawing(13.0, 3.2 * -(-len(results) // columns))
    axes = np.ravel(picture.subplots(-(-len(results) // columns), columns, squeeze=False))
    for axis, (name, found) in zip(axes, results.items(), strict=False):
        summary = found.summary()
        styles = styles_of(found.names)
        for policy in found.names:
            ratios = summary.loc[policy]["ratio"]
            axis.plot(found.deltas, ratios, marker="o", label=policy, **styles[policy])
        axis.axhline(1.0, color=BLACK, linestyle=":", linewidth=1.0)
        axis.set_xscale("log")
        axis.invert_xaxis()
        axis.set_yscale("log")
        axis.set_ylim(0.9, 25.0)
        axis.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.minorticks_off()
        axis.set_title(name)
        axis.set_xlabel("delta")
    axes[0].set_ylabel("rounds / (T* ln(1 / delta))")
    axes[0].legend(fontsize="x-small")
    save(picture, [path])
