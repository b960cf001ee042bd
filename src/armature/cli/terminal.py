"""Output in a terminal: text, tables, errors and exit codes; how bounds and summaries look there.

Nothing in a text is markup: names and messages are shown as they are, brackets and colons
included, and what a terminal would obey is spelled out. Where the output goes to a file or a pipe,
it is plain and complete: no colours, no line broken or cut. On a terminal that is too narrow for a
table, each of its rows becomes a block of lines.

Exit codes: 0 all is well, 1 it failed (a disk, a permission), 2 what was asked for is wrong,
130 interrupted.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from armature.errors import ArmatureError, BlocksFailedError
from armature.words import visible

if TYPE_CHECKING:
    from armature.bounds import LowerBound
    from armature.experiments.runs import PlanSummary
    from armature.structures.instance import Instance

FAILED, WRONG, INTERRUPTED = 1, 2, 130
ENDLESS = 1_000_000  # columns of a file or a pipe


def output() -> Console:
    """The console for results: standard output."""
    return _console(sys.stdout)


def complaints() -> Console:
    """The console for errors, remarks and progress: standard error."""
    return _console(sys.stderr)


def _console(file: TextIO) -> Console:
    plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    if not file.isatty():
        plain |= {"width": ENDLESS, "force_terminal": False}
    return Console(file=file, **plain)


def speak_utf8() -> None:
    """Write UTF-8 whatever the locale; what can't be encoded is escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


@contextmanager
def failing(kept: str) -> Iterator[None]:
    """Turn errors that people can do something about into a sentence and an exit code.

    `kept` says what an interruption leaves.
    """
    try:
        yield
    except ArmatureError as error:
        _complain(str(error))
        raise typer.Exit(WRONG) from None
    except BlocksFailedError as error:
        _complain(str(error))
        raise typer.Exit(FAILED) from None
    except BrokenPipeError:
        raise  # the reader has closed the pipe
    except OSError as error:
        _complain(_reason(error))
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        note = f"interrupted: {kept}" if kept else "interrupted"
        complaints().print(visible(note), soft_wrap=True)
        raise typer.Exit(INTERRUPTED) from None


def _complain(message: str) -> None:
    complaints().print(
        Text.assemble(("Error: ", "red"), visible(message, keep="\n")), soft_wrap=True
    )


def _reason(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename!r}: {error.strerror}."


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()
) -> None:
    """Print columns, those whose titles are in `left` to the left; or blocks, if they don't fit."""
    console = output()
    cells = [[visible(cell) for cell in row] for row in [titles, *rows]]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) > console.width:
        names = [title if n == 0 else f"  {title}" for n, title in enumerate(cells[0])]
        longest = max(map(cell_len, names))
        for row in cells[1:]:
            for name, cell in zip(names, row, strict=True):
                console.print(f"{_padded(name, longest, True)}  {cell}")
        return
    for number, row in enumerate(cells):
        parts = [
            _padded(cell, width, title in left)
            for cell, width, title in zip(row, widths, titles, strict=True)
        ]
        console.print(Text("  ".join(parts).rstrip(), "bold" if number == 0 else ""))


def _padded(cell: str, width: int, left: bool) -> str:
    space = " " * (width - cell_len(cell))
    return cell + space if left else space + cell


MOST_ALTERNATIVES = 10


def print_bound(instance: Instance, answer: LowerBound) -> None:
    """A lower bound: its value, the optimal pulls, the instances that they tell apart."""
    console = output()
    worth = "the structure leaves nothing to explore"
    if answer.value > 0.0:
        worth = f"{answer.unconstrained / answer.value:.3g} times that"
    growth = (
        f"the regret of a consistent algorithm is asymptotically at least {answer.value:.6g} ln T"
    )
    console.print(Text.assemble((f"V = {answer.value:.6g}", "bold"), f": {growth}"))
    console.print(f"without the structure: {answer.unconstrained:.6g} ({worth})")
    console.print(f"certified to a relative {answer.gap:.0e}\n")
    print_table(
        ("arm", "mean", "gap", "pulls per ln T", "regret per ln T"), _arms(instance, answer)
    )
    console.print()
    if not answer.alternatives:
        console.print("No instance with another best arm could be mistaken for this one.")
        return
    console.print("Confusing instances; where their means differ, a star:")
    print_table(("weight", "best arm", "means"), _confusing(instance, answer), left=("means",))
    more = len(answer.alternatives) - MOST_ALTERNATIVES
    if more > 0:
        console.print(f"and {more} more with less weight (--json has all)")


def _arms(instance: Instance, answer: LowerBound) -> list[list[str]]:
    rows = []
    optimal, gaps = answer.pulls.reshape(-1), instance.gaps.reshape(-1)
    least, names = 1e-6 * max(optimal), _names(instance)
    for k in range(instance.n_arms):
        pulls = float(optimal[k]) if optimal[k] > least else 0.0
        best = k in _best(instance)
        free = best and pulls == 0.0
        rows.append(
            [
                f"{names[k]} *" if best else names[k],
                f"{instance.cells[k]:.4g}",
                f"{gaps[k]:.4g}",
                "all others" if free else f"{pulls:.4g}",
                "0" if free else f"{pulls * gaps[k]:.4g}",
            ]
        )
    return rows


def _best(instance: Instance) -> list[int]:
    """The best arm; of a table, the cell of each segment's."""
    starts = [start for start, _ in instance.structure.segments]
    return [start + best for start, best in zip(starts, instance.best_arms, strict=True)]


def _names(instance: Instance) -> list[str]:
    """The arms' numbers; of a table, each with its segment."""
    if not instance.structure.is_table:
        return [str(k) for k in range(instance.n_arms)]
    K = instance.means.shape[1]
    return [f"{name}, {k}" for name in instance.structure.segment_names for k in range(K)]


def _confusing(instance: Instance, answer: LowerBound) -> list[list[str]]:
    rows = []
    for alternative in answer.alternatives[:MOST_ALTERNATIVES]:
        cells, names = alternative.means.reshape(-1), _names(instance)
        rivals = [
            names[k]
            for start, stop in instance.structure.segments
            for k in range(start, stop)
            if k not in _best(instance) and cells[k] >= max(cells[start:stop]) - 1e-6
        ]
        means = [
            f"{new:.4g}*" if abs(new - old) > 1e-6 else f"{new:.4g}"
            for old, new in zip(instance.cells, cells, strict=True)
        ]
        rows.append([f"{alternative.weight:.4g}", ", ".join(rivals), " ".join(means)])
    return rows


def print_summary(found: PlanSummary) -> None:
    """One row for each policy, the least regret first."""
    plan, summary = found.plan, found.table
    rows = []
    for policy, row in summary.sort_values("regret").iterrows():
        cells = [f"{row['regret']:.4g} ± {row['standard_error']:.2g}"]
        cells += [f"{row[name]:.3g}" for name in ("q5%", "q50%", "q95%", "slope")]
        cells += ["" if math.isnan(row["explored"]) else f"{row['explored']:.1%}"]
        cells += ["" if math.isnan(row["us_per_round"]) else f"{row['us_per_round']:.2g}"]
        rows.append([str(policy), *cells])
    console = output()
    runs = f": {plan.repetitions} runs of {plan.horizon:,} rounds"
    console.print(Text.assemble((visible(plan.full_title), "bold"), runs))
    titles = ("policy", "regret", "5%", "median", "95%", "slope", "explored", "us/round")
    print_table(titles, rows, left=("policy",))
    value = summary["V"].iloc[0]
    least = "" if math.isnan(value) else f"; asymptotically at least V = {value:.4g}"
    console.print(f"slope: growth per ln t over the last decade{least}")


def print_stopping(found: PlanSummary) -> None:
    """One row for each policy and delta, the fewest rounds first for each delta."""
    plan, summary = found.plan, found.table
    deltas, threshold = plan.settings["deltas"], plan.settings["threshold"]
    console = output()
    runs = f": {plan.repetitions} runs of each policy, threshold {threshold!r}"
    if "margin" in plan.settings:
        runs += f", margin {visible(str(plan.settings['margin']))}"
    console.print(Text.assemble((visible(plan.full_title), "bold"), runs))
    rows = []
    for delta in deltas:
        for policy, row in summary.xs(delta, level="delta").sort_values("rounds").iterrows():
            cells = [f"{row['rounds']:.4g} ± {row['standard_error']:.2g}"]
            cells += [f"{row[name]:.4g}" for name in ("q5%", "q50%", "q95%")]
            cells += ["" if math.isnan(row["ratio"]) else f"{row['ratio']:.3g}"]
            cells += [f"{row['errors']:.2%}", f"{row['unsure']:.1%}"]
            rows.append([f"{delta:g}", str(policy), *cells])
    titles = ("delta", "policy", "rounds", "5%", "median", "95%", "ratio", "errors", "unsure")
    print_table(titles, rows, left=("policy",))
    value = summary["T*"].iloc[0]
    if not math.isnan(value):
        console.print(f"ratio: mean rounds over T* ln(1 / delta), with T* = {value:.6g}")


def regret_as_json(found: list[PlanSummary]) -> str:
    """The tables of all points of a sweep: for each, the numbers of each policy."""
    return _as_json(
        found,
        [
            {"policies": {str(name): _numbers(row) for name, row in summary.table.iterrows()}}
            for summary in found
        ],
    )


def stopping_as_json(found: list[PlanSummary]) -> str:
    """The tables of all points of a sweep: for each, a row for each policy and delta."""
    return _as_json(
        found,
        [
            {"rows": [_numbers(row) for row in summary.table.reset_index().to_dict("records")]}
            for summary in found
        ],
    )


def _as_json(found: list[PlanSummary], tables: Iterable[dict[str, Any]]) -> str:
    points = [
        {"point": summary.plan.point, **table} for summary, table in zip(found, tables, strict=True)
    ]
    return json.dumps({"title": found[0].plan.title, "results": points}, indent=2)


def _numbers(row: Any) -> dict[str, Any]:
    """A row of a table, in which nan is null."""
    return {
        str(key): value if isinstance(value, str) else None if math.isnan(value) else float(value)
        for key, value in row.items()
    }
