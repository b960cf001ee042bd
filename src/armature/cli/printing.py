"""How the command line shows bounds and the summaries of simulations."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.text import Text

from armature.cli.terminal import output, print_table
from armature.words import visible

if TYPE_CHECKING:
    from armature.bounds import LowerBound
    from armature.experiments.runs import Summary
    from armature.structures.instance import Instance

MOST_ALTERNATIVES = 10


def print_bound(instance: Instance, answer: LowerBound) -> None:
    """A lower bound: its value, the optimal pulls, the instances that they tell apart."""
    console = output()
    worth = "the structure leaves nothing to explore"
    if answer.value > 0.0:
        worth = f"{answer.unconstrained / answer.value:.3g} times that"
    growth = f"the regret of a consistent algorithm grows at least like {answer.value:.6g} ln T"
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
    least = 1e-6 * max(answer.pulls)
    for k in range(instance.n_arms):
        pulls = float(answer.pulls[k]) if answer.pulls[k] > least else 0.0
        best = k == instance.best_arm
        free = best and pulls == 0.0
        rows.append(
            [
                f"{k} *" if best else f"{k}",
                f"{instance.means[k]:.4g}",
                f"{instance.gaps[k]:.4g}",
                "all others" if free else f"{pulls:.4g}",
                "0" if free else f"{pulls * instance.gaps[k]:.4g}",
            ]
        )
    return rows


def _confusing(instance: Instance, answer: LowerBound) -> list[list[str]]:
    rows = []
    for alternative in answer.alternatives[:MOST_ALTERNATIVES]:
        rivals = [
            str(k)
            for k in range(instance.n_arms)
            if k != instance.best_arm and alternative.means[k] >= max(alternative.means) - 1e-6
        ]
        means = [
            f"{new:.4g}*" if abs(new - old) > 1e-6 else f"{new:.4g}"
            for old, new in zip(instance.means, alternative.means, strict=True)
        ]
        rows.append([f"{alternative.weight:.4g}", ", ".join(rivals), " ".join(means)])
    return rows


def print_summary(found: Summary) -> None:
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
    least = "" if math.isnan(value) else f"; at least V = {value:.4g} in the end"
    console.print(f"slope: growth per ln t over the last decade{least}")


def print_stopping(found: Summary) -> None:
    """One row for each policy and delta, the fewest rounds first for each delta."""
    plan, summary = found.plan, found.table
    deltas, threshold = plan.settings["deltas"], plan.settings["threshold"]
    console = output()
    runs = f": {plan.repetitions} runs of each policy, threshold {threshold!r}"
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


def regret_as_json(found: list[Summary]) -> str:
    """The tables of all points of a sweep: for each, the numbers of each policy."""
    return _as_json(
        found,
        [
            {"policies": {str(name): _numbers(row) for name, row in summary.table.iterrows()}}
            for summary in found
        ],
    )


def stopping_as_json(found: list[Summary]) -> str:
    """The tables of all points of a sweep: for each, a row for each policy and delta."""
    return _as_json(
        found,
        [
            {"rows": [_numbers(row) for row in summary.table.reset_index().to_dict("records")]}
            for summary in found
        ],
    )


def _as_json(found: list[Summary], tables: Iterable[dict[str, Any]]) -> str:
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
