"""An assessment in words: sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from armature.assess.compare import LOGGED, Trial
from armature.assess.fit import Candidate, Noticeable

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


CLOSE = 2.0  # standard errors within which two mean regrets are not told apart


def number(value: float, digits: int = 3) -> str:
    """A number for people.

    >>> number(1234567.0), number(0.01234), number(math.inf)
    ('1,234,567', '0.0123', 'inf')
    """
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 10.0 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def listed(names: Sequence[Hashable], most: int = 4) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"]), listed(range(7))
    ('a, b and c', '0, 1, 2 and 4 more')
    """
    texts = [str(name) for name in names]
    if len(texts) > most:
        texts = [*texts[: most - 1], f"{len(texts) - most + 1} more"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def about_fit(one: Candidate) -> str:
    """Whether a structure fits."""
    if one.evidence is None:
        return f"{one.name}: rewards of this family give no evidence for or against structures."
    if one.assumes_nothing:
        return f"{one.name} assumes nothing, so that nothing speaks against it."
    return one.evidence.sentence(one.name).shown(one.evidence.arms)


def about_noticeable(one: Candidate, arms: Sequence[Hashable]) -> str:
    """What could be wrong without anybody's noticing."""
    near = one.noticeable
    if near is None or one.refuted:
        return ""
    least = np.minimum(near.up, near.down)
    if not np.isfinite(least).any():
        return (
            f"No change of a single arm's mean would have refuted {one.name} with these numbers "
            "of rewards: that it is not refuted says little."
        )
    k, worst = int(np.argmin(least)), _worst(near)
    text = (
        f"What these data can't tell: a single arm off {one.name} by less than "
        f"{number(float(least[k]))} (at {arms[k]}) would have gone unnoticed; from there on it "
        f"would have been refuted with probability {near.power:g} or more."
    )
    if worst is not None and worst != k:
        text += f" At {arms[worst]} it takes {number(float(least[worst]))}."
    silent = [arms[i] for i in range(len(arms)) if not math.isfinite(least[i])]
    if silent:
        text += f" At {listed(silent)}, no change would have been noticed."
    return text


def _worst(near: Noticeable) -> int | None:
    least = np.minimum(near.up, near.down)
    known = np.where(np.isfinite(least), least, -math.inf)
    return int(np.argmax(known)) if np.isfinite(known).any() else None


def about_candidates(candidates: Sequence[Candidate]) -> str:
    """What the data do not decide between structures."""
    standing = [one for one in candidates if not one.refuted]
    assuming = [one.name for one in standing if not one.assumes_nothing]
    if not assuming:
        return "Every structure that assumes something is refuted: start from Unconstrained."
    if len(assuming) == 1:
        return (
            f"{assuming[0]} is not refuted, which does not make it true: what it rests on is your "
            "knowledge, and the data do not contradict it."
        )
    return (
        f"The data do not decide between {listed(assuming, 8)}: none is refuted. Which of them to "
        "rely on is for what you know to decide, not for these data."
    )


def about_worth(assessment: Assessment) -> str:
    """What the structure saves."""
    worth = assessment.chosen.worth
    if worth is None:
        text = f"{assessment.chosen.name} is refuted: what it would save is not to be had."
        free = next((one for one in assessment.candidates if one.assumes_nothing), None)
        if free is None or free.worth is None or free.worth.value is None:
            return text
        return (
            f"{text} Without it, exploration costs at least {number(free.worth.value)} ln T "
            f"{assessment.unit} in the long run. {asymptotic(assessment)}"
        )
    if worth.value is None or worth.unconstrained is None:
        return f"There is no lower bound at the fitted means: {worth.reason}"
    unit = assessment.unit
    if assessment.chosen.assumes_nothing:
        return (
            f"Without a structure, regret grows at least like {number(worth.value)} ln T {unit} in "
            f"the long run. {asymptotic(assessment)}"
        )
    if worth.value == 0.0:
        name = assessment.chosen.name
        return f"If {name} is true, V is 0: nothing has to be explored in the long run."
    ratio = worth.unconstrained / worth.value
    return (
        f"If {assessment.chosen.name} is true, exploration costs at least {number(worth.value)} "
        f"ln T {unit} in the long run, without it {number(worth.unconstrained)} ln T: {ratio:.2g} "
        f"times as much. {asymptotic(assessment)}"
    )


def asymptotic(assessment: Assessment) -> str:
    """What a lower bound does not say."""
    T = assessment.horizon
    text = (
        f"The bound is asymptotic: it compares structures, and is no amount that {T:,} rounds must "
        "cost."
    )
    if assessment.trials:
        text += " What policies lose in so many was tried out: see their regret."
    if assessment.traffic is not None:
        days = number(T / assessment.traffic)
        text += f" At {number(assessment.traffic)} rounds a day, {T:,} rounds are {days} days."
    return text


def about_trial(trial: Trial, unit: str) -> str:
    """Which policy loses least."""
    ranking = [name for name in trial.ranking if name != LOGGED]
    first = ranking[0]
    text = (
        f"Over {trial.regret.shape[1]} draws around the log and {trial.horizon:,} rounds, {first} "
        f"loses least: {number(trial.mean(first))} {unit} on average, and "
        f"{number(trial.quantile(first, 0.95))} at the 95th percentile."
    )
    close = [name for name in ranking[1:] if not differs(trial, first, name)]
    if close:
        text += f" The draws do not tell it from {listed(close)}."
    as_logged = trial.mean(LOGGED)
    if as_logged > 0.0:
        text += f" The shares of the log would lose {number(as_logged)}."
    return text


def differs(trial: Trial, one: str, other: str) -> bool:
    """Whether two policies' mean regrets are told apart, on the same draws."""
    rows = [trial.regret[trial.names.index(name)] for name in (one, other)]
    gap = rows[1] - rows[0]
    if gap.size < 2:
        return False
    return bool(abs(gap.mean()) > CLOSE * gap.std(ddof=1) / math.sqrt(gap.size))


def about_certainty(assessment: Assessment) -> str:
    """Whether the best arm is known."""
    sure, chosen = assessment.certainty, assessment.chosen
    if sure.verdict.statistic == math.inf and not chosen.refuted:
        return f"In {chosen.name}, {sure.verdict.arm} is the best arm whatever the rewards are."
    text = str(sure.verdict)
    if chosen.refuted:
        text = f"Without {chosen.name}, which is refuted: {text}"
    if math.isfinite(sure.least) and sure.least > 0.0:
        text += (
            f" From nothing, the best rule there could be would need about {number(sure.least)} "
            "samples"
        )
        if not (chosen.refuted or chosen.assumes_nothing):
            text += f", without the structure {number(sure.unconstrained)}"
        text += "."
    return text


def recommendation(assessment: Assessment) -> str:
    """What to do, in a sentence or two."""
    chosen, drift = assessment.chosen, assessment.drift
    parts = []
    if drift.found:
        parts.append("Rewards changed over the log: look into that first.")
    if chosen.refuted:
        standing = [
            c.name for c in assessment.candidates if not c.refuted and not c.assumes_nothing
        ]
        parts.append(f"Do not use {chosen.name}: the log refutes it.")
        parts.append(
            f"Not refuted: {listed(standing, 8)}." if standing else "Start from Unconstrained."
        )
    elif chosen.assumes_nothing:
        parts.append("Without a structure there is nothing to be wrong about.")
    else:
        parts.append(f"{chosen.name} is compatible with the log.")
    trial = assessment.trials[0] if assessment.trials else None
    if trial is not None:
        best = next(name for name in trial.ranking if name != LOGGED)
        parts.append(f"{_choice(assessment, best)}")
    return " ".join([*parts, _best_arm(assessment)]).rstrip()


def _best_arm(assessment: Assessment) -> str:
    """What to say where the best arm is known already."""
    found, chosen = assessment.certainty.verdict, assessment.chosen
    if not found.sure:
        return ""
    if found.statistic == math.inf and not chosen.refuted:
        return f"{chosen.name} says by itself that {found.arm} is best: there is nothing to learn."
    given = "" if chosen.refuted or chosen.assumes_nothing else f", if {chosen.name} is true"
    return (
        f"The log is enough to say that {found.arm} is best, up to an error of "
        f"{found.delta:g}{given}: you may just use it."
    )


def _choice(assessment: Assessment, best: str) -> str:
    unit = assessment.unit
    first = assessment.trials[0]
    horizon = f"{first.horizon:,} rounds"
    text = (
        f"Of the policies tried, {best} loses least: {number(first.mean(best))} {unit} in {horizon}"
    )
    guarded = f"Guarded(policy={best})"
    if guarded not in first.names:
        guarded = next((n for n in first.names if n.startswith("Guarded") and best in n), "")
    if guarded in ("", best) or assessment.chosen.refuted or len(assessment.trials) < 2:
        return text + "."
    other = assessment.trials[1]
    return (
        f"{text}; guarded against a wrong structure, {number(first.mean(guarded))}. If only the "
        f"log's own means are right, these are {number(other.mean(best))} and "
        f"{number(other.mean(guarded))}."
    )
