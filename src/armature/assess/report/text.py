"""An assessment as a text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from armature.assess.compare import Trial
from armature.assess.fit import Candidate
from armature.assess.report.words import number

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment

ALLOCATION = "Pulls of each arm per ln T that the lower bounds ask for in the long run"
Rows = list[list[str]]
Titles = tuple[str, ...]


def as_text(assessment: Assessment) -> str:
    """The report: what to do, the tables, the sentences."""
    parts = [
        f"{assessment.title}: {assessment.log.rounds:,} rewards of {len(assessment.log.arms)} arms"
    ]
    parts += [assessment.recommendation, ""]
    for heading, (titles, rows) in tables(assessment):
        parts += [heading, *aligned(titles, rows), ""]
    return "\n".join([*parts, *assessment.notes])


def tables(assessment: Assessment) -> list[tuple[str, tuple[Titles, Rows]]]:
    """The tables of the report, each with its heading."""
    shown = [
        ("Arms", arms_table(assessment)),
        ("Structures", structures_table(assessment)),
    ]
    if assessment.chosen.worth is not None and assessment.chosen.worth.pulls is not None:
        shown.append((ALLOCATION, allocation_table(assessment)))
    for trial in assessment.trials:
        truth = (
            f"if {assessment.chosen.name} is true"
            if trial.projected
            else "with the log's own means"
        )
        shown.append((f"Regret in {trial.horizon:,} rounds, {truth}", trial_table(trial)))
    return shown


def arms_table(assessment: Assessment) -> tuple[Titles, Rows]:
    """Estimates with intervals, and the fit."""
    arms = assessment.arms
    share = f"{1.0 - arms.delta:.0%} interval"
    rows = []
    for k, arm in enumerate(arms.arms):
        mean = f"{arms.means[k]:.4g}" if arms.pulls[k] > 0.0 else ""
        interval = f"[{arms.low[k]:.4g}, {arms.high[k]:.4g}]" if arms.pulls[k] > 0.0 else ""
        fitted = f"{arms.fitted[k]:.4g}" if math.isfinite(arms.fitted[k]) else ""
        rows.append([str(arm), f"{arms.pulls[k]:,.0f}", mean, interval, fitted])
    return ("arm", "rewards", "mean", share, "fitted"), rows


def structures_table(assessment: Assessment) -> tuple[Titles, Rows]:
    """The candidates, ranked."""
    rows = [_structure_row(one, one is assessment.chosen) for one in assessment.candidates]
    return ("structure", "misfit", "evidence", "refuted at", "V", "of V without", "verdict"), rows


def _structure_row(one: Candidate, chosen: bool) -> list[str]:
    found = one.evidence
    numbers = ["", "", ""]
    if found is not None:
        numbers = [f"{found.misfit:.3g}", f"{found.log_e:.3g}", f"{found.threshold:.3g}"]
    value = left = ""
    if one.worth is not None and one.worth.value is not None:
        value = number(one.worth.value)
        left = "" if one.worth.left is None else f"{one.worth.left:.0%}"
    return [one.name + (" *" if chosen else ""), *numbers, value, left, verdict_on(one)]


def verdict_on(one: Candidate) -> str:
    """One or two words on a structure."""
    if one.refuted:
        return "refuted"
    if one.assumes_nothing:
        return "assumes nothing"
    return "fits badly" if one.doubted else "not refuted"


def allocation_table(assessment: Assessment) -> tuple[Titles, Rows]:
    """The optimal pulls of each arm per ln T, with the structure and without."""
    worth = assessment.chosen.worth
    assert worth is not None
    assert worth.pulls is not None
    assert worth.pulls_without is not None
    rows = []
    for k, arm in enumerate(worth.arms):
        if arm == worth.best:
            rows.append([str(arm), "all others", "all others"])
        else:
            rows.append([str(arm), number(worth.pulls[k]), number(worth.pulls_without[k])])
    return ("arm", f"with {assessment.chosen.name}", "without"), rows


def trial_table(trial: Trial) -> tuple[Titles, Rows]:
    """Quantiles of the regret."""
    rows = []
    for name in trial.ranking:
        mean = f"{number(trial.mean(name))} ± {number(trial.error(name), 2)}"
        rows.append([name, mean, *(number(trial.quantile(name, q)) for q in (0.05, 0.5, 0.95))])
    return ("policy", "mean", "5 %", "median", "95 %"), rows


def aligned(titles: Titles, rows: Rows) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    widths = [max(len(row[c]) for row in [list(titles), *rows]) for c in range(len(titles))]
    lines = []
    for row in [list(titles), *rows]:
        cells = [
            row[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
