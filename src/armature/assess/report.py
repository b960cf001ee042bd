"""An assessment in words: its tables, and what it says, as sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from armature.assess.compare import LOGGED, Trial
from armature.assess.fit import Candidate
from armature.structures.oracles.margin import Margin
from armature.views.chart import number
from armature.words import Arm, Sentence, listed

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment

ALLOCATION = "Optimal pulls of each arm per ln T, by the lower bounds"
CLOSE = 2.0  # standard errors within which two mean regrets are not told apart
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
            else "with the means of the log"
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
        value = number(one.worth.value, 3)
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
            rows.append([str(arm), number(worth.pulls[k], 3), number(worth.pulls_without[k], 3)])
    return ("arm", f"with {assessment.chosen.name}", "without"), rows


def trial_table(trial: Trial) -> tuple[Titles, Rows]:
    """Quantiles of the regret."""
    rows = []
    for name in trial.ranking:
        mean = f"{number(trial.mean(name), 3)} ± {number(trial.error(name), 2)}"
        rows.append([name, mean, *(number(trial.quantile(name, q), 3) for q in (0.05, 0.5, 0.95))])
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


# Sentences.


def sentences(found: Assessment) -> dict[str, Sentence]:
    """The sentences on fit, worth, policies, certainty and drift that apply."""
    said = {
        "fit": about_fit(found.chosen),
        "noticeable": about_noticeable(found.chosen),
        "candidates": about_candidates(found.candidates),
        "worth": about_worth(found),
        "trial": about_trial(found.trials[0], found.unit) if found.trials else None,
        "certainty": about_certainty(found),
        "drift": found.drift.sentence(),
        "noise": found.informed.note,
    }
    return {about: sentence for about, sentence in said.items() if sentence is not None}


def about_fit(one: Candidate) -> Sentence:
    """A sentence on the fit of a structure."""
    if one.evidence is None:
        text = "{name}: rewards of this family give no evidence for or against structures."
        return Sentence(text, name=one.name)
    if one.assumes_nothing:
        return Sentence("{name} assumes nothing, so nothing can speak against it.", name=one.name)
    return one.evidence.sentence(one.name)


def about_noticeable(one: Candidate) -> Sentence | None:
    """The deviations from the structure that the log could not have shown."""
    near = one.noticeable
    if near is None or one.refuted:
        return None
    least = np.minimum(near.up, near.down)
    known = np.isfinite(least)
    if not known.any():
        return Sentence(
            "This test has no power: with these numbers of rewards, no deviation of a single arm "
            "would have refuted {name}.",
            name=one.name,
        )
    k, worst = int(np.argmin(least)), int(np.argmax(np.where(known, least, -math.inf)))
    said = Sentence(
        "How sharp is this test? If the mean of {arm} deviated from {name} by {least}, the log "
        "would have refuted it with probability {power:.0f} % or more. Smaller deviations may go "
        "unnoticed.",
        arm=Arm(k), name=one.name, least=float(least[k]), power=100.0 * near.power,
    )  # fmt: skip
    if worst != k:
        text = "At {arm}, a deviation must reach {least}."
        said += Sentence(text, arm=Arm(worst), least=float(least[worst]))
    if not known.all():
        silent = [Arm(int(i)) for i in np.flatnonzero(~known)]
        said += Sentence("At {arms}, no deviation would have been noticed.", arms=silent)
    return said


def about_candidates(candidates: tuple[Candidate, ...]) -> Sentence:
    """The sentence on structures between which the data do not decide."""
    standing = [one.name for one in candidates if not one.refuted and not one.assumes_nothing]
    if not standing:
        text = "Every structure that assumes something is refuted. Start from Unconstrained."
    elif len(standing) == 1:
        text = "{names} is not refuted. That does not prove it: it rests on what you know."
    else:
        text = (
            "The data do not decide between {names}: none is refuted. Choose by what you know "
            "about the problem."
        )
    return Sentence(text, names=listed(standing, 8))


def about_worth(found: Assessment) -> Sentence:
    """The sentence on the regret that the structure saves."""
    chosen, worth = found.chosen, found.chosen.worth
    said = Sentence("{name} is refuted, so it saves nothing.", name=chosen.name)
    if worth is None:
        free = next((one for one in found.candidates if one.assumes_nothing), None)
        if free is None or free.worth is None or free.worth.value is None:
            return said
        return said + _without(free.worth.value, found)
    if worth.value is None or worth.unconstrained is None:
        text = "There is no lower bound at the fitted means: {reason}"
        return Sentence(text, reason=worth.reason)
    if chosen.assumes_nothing:
        return _without(worth.value, found)
    if worth.value == 0.0:
        text = "If {name} is true, V is 0: nothing has to be explored in the long run."
        return Sentence(text, name=chosen.name)
    said = Sentence(
        "If {name} is true, asymptotically regret grows at least like {value} ln T {unit}. "
        "Without it: {free} ln T, {ratio:.2g} times as much.",
        name=chosen.name, value=worth.value, unit=found.unit, free=worth.unconstrained,
        ratio=worth.unconstrained / worth.value,
    )  # fmt: skip
    return said + asymptotic(found)


def _without(value: float, found: Assessment) -> Sentence:
    text = "Without a structure, asymptotically regret grows at least like {value} ln T {unit}."
    return Sentence(text, value=value, unit=found.unit) + asymptotic(found)


def asymptotic(found: Assessment) -> Sentence:
    """Why a lower bound is no forecast."""
    text = (
        "The bound is asymptotic: use it to compare structures, not to predict the regret of "
        "{horizon} rounds."
    )
    if found.trials:
        text += " For that, see the simulated regret of the policies."
    if found.traffic is not None:
        text += " At {traffic} rounds a day, {horizon} rounds take {days} days."
    days = math.nan if found.traffic is None else found.horizon / found.traffic
    return Sentence(text, horizon=found.horizon, traffic=found.traffic, days=days)


def about_trial(trial: Trial, unit: str) -> Sentence:
    """The policy with the least regret."""
    first, *others = [name for name in trial.ranking if name != LOGGED]
    text = (
        "In {draws} simulated problems that could have given this log, {horizon} rounds each, "
        "{first} has the least regret: {mean} {unit} on average, {high} at the 95th percentile."
    )
    close = [name for name in others if not differs(trial, first, name)]
    if close:
        text += " The difference to {close} is within the noise."
    logged = trial.mean(LOGGED)
    if logged > 0.0:
        text += " Choosing arms as often as in the log would lose {logged}."
    return Sentence(
        text, draws=trial.regret.shape[1], horizon=trial.horizon, first=first, unit=unit,
        mean=trial.mean(first), high=trial.quantile(first, 0.95), close=listed(close, 4),
        logged=logged,
    )  # fmt: skip


def differs(trial: Trial, one: str, other: str) -> bool:
    """True if two policies' mean regrets are told apart, on the same draws."""
    rows = [trial.regret[trial.names.index(name)] for name in (one, other)]
    gap = rows[1] - rows[0]
    if gap.size < 2:
        return False
    return bool(abs(gap.mean()) > CLOSE * gap.std(ddof=1) / math.sqrt(gap.size))


def about_certainty(found: Assessment) -> Sentence:
    """A sentence on how surely the best arm is known."""
    sure, chosen = found.certainty, found.chosen
    best = Arm(sure.verdict.arms.index(sure.verdict.arm))
    if sure.verdict.statistic == math.inf and not chosen.refuted:
        text = "In {name}, {arm} is the best arm whatever the rewards are."
        return Sentence(text, name=chosen.name, arm=best)
    said = sure.verdict.sentence()
    if chosen.refuted:
        said = Sentence("{name} is refuted, so this is without it.", name=chosen.name) + said
    if math.isfinite(sure.least) and sure.least > 0.0:
        text = "Starting from nothing, the best possible rule needs about {least} samples"
        if not (chosen.refuted or chosen.assumes_nothing):
            text += "; without the structure, {free}"
        said += Sentence(f"{text}.", least=sure.least, free=sure.unconstrained)
    return said


def recommendation(found: Assessment) -> Sentence:
    """The recommendation, in a sentence or two."""
    chosen = found.chosen
    said: dict[str, Any] = {"name": chosen.name}
    parts = ["Rewards changed during the log: look into that first."] if found.drift.found else []
    if chosen.refuted:
        standing = [c.name for c in found.candidates if not c.refuted and not c.assumes_nothing]
        said["standing"] = listed(standing, 8)
        parts.append("The log refutes {name}: do not use it.")
        parts.append("Not refuted: {standing}." if standing else "Start from Unconstrained.")
    elif chosen.assumes_nothing:
        parts.append("No structure is assumed, so there is none to refute.")
    else:
        parts.append("{name} is compatible with the log.")
    if found.trials:
        text, values = _choice(found)
        parts.append(text)
        said |= values
    best = found.certainty.verdict
    if best.good:
        parts.append("The log shows that {good} is good enough: no arm is better by more than "
                     "{margin} (error {error:.3g} %): you can simply use it.")  # fmt: skip
        said |= {"good": Arm(best.arms.index(best.arm)), "margin": str(Margin.of(best.margin))}
        said |= {"error": 100.0 * best.delta}
    elif best.sure:
        said |= {"arm": Arm(best.arms.index(best.arm)), "error": 100.0 * best.delta}
        given = "" if chosen.refuted or chosen.assumes_nothing else ", if {name} is true"
        if best.statistic == math.inf and not chosen.refuted:
            parts.append("{name} alone makes {arm} the best: there is nothing to learn.")
        else:
            parts.append(f"The log shows that {{arm}} is best (error {{error:.3g}} %{given}): "
                         "you can simply use it.")  # fmt: skip
    return Sentence(" ".join(parts), **said)


def _choice(found: Assessment) -> tuple[str, dict[str, Any]]:
    """The advised policy, and what a guard against a wrong structure costs and saves."""
    first = found.trials[0]
    best = next(name for name in first.ranking if name != LOGGED)
    values = {"best": best, "mean": first.mean(best), "unit": found.unit, "rounds": first.horizon}
    text = "Of the policies tried, {best} has the least regret: {mean} {unit} in {rounds} rounds"
    guarded = next((n for n in first.names if n.startswith("Guarded") and best in n), best)
    if guarded == best or found.chosen.refuted or len(found.trials) < 2:
        return f"{text}.", values
    other = found.trials[1]
    values |= {"guarded": first.mean(guarded), "wrong": other.mean(best)}
    values["covered"] = other.mean(guarded)
    return (
        f"{text}; with a guard against a wrong structure, {{guarded}}. If {{name}} is wrong and "
        "the means are those of the log, these are {wrong} and {covered}."
    ), values
