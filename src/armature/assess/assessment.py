"""The result of an assessment: a record that the terminal, JSON and the page show."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from armature.assess import charts, report
from armature.assess.arms import ArmEstimates, Informed
from armature.assess.charts import picture_of_arms, plot_assessment
from armature.assess.compare import Trial
from armature.assess.drift import Drift
from armature.assess.fit import Candidate
from armature.assess.log import Log
from armature.assess.worth import Certainty
from armature.errors import ArmatureError
from armature.experiments.keys import versions_of
from armature.storage.files import checked_path, write_text
from armature.storage.tagged_json import encoded
from armature.words import Card, Shown, best_first, row_of

if TYPE_CHECKING:
    from armature.views.figure import Drawing
    from armature.views.picture import Picture

VERSION = 1
PAGE, DATA = "report.html", "assessment.json"
MOST_ROWS = 24  # arms in the picture of changes


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Shown):
    """A structure and policies on a log; `str` gives the report.

    Attributes
    ----------
        title: what the page is called.
        log: the log itself, with its arms in order.
        informed: the reward family, with a sigma that is estimated from the log if need be.
        arms: estimates with intervals, beside the structure's fit.
        chosen: the structure that you asked about.
        candidates: that one and the others. Those that are not refuted come first, and of these
            the one that needs the least exploration.
        trials: regret of policies on problems drawn around the log. First those in which the
            structure is true (unless it is refuted), then those with the log's own means.
        certainty: how many rounds until the best arm is known; without the structure, where that
            is refuted.
        drift: whether rewards changed over the log.
        delta: the probability of error of the intervals and the verdict.
        horizon: the number of rounds that is planned.
        traffic: rounds a day, if known.
        unit: of rewards.
    """

    title: str
    log: Log
    informed: Informed
    arms: ArmEstimates
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    trials: tuple[Trial, ...]
    certainty: Certainty
    drift: Drift
    delta: float
    horizon: int
    traffic: float | None
    unit: str

    @property
    def recommendation(self) -> str:
        """The recommendation, in a sentence or two."""
        return report.recommendation(self).shown(self.log.arms)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences on fit, worth, policies, certainty and drift."""
        said = report.sentences(self).values()
        return tuple(sentence.shown(self.log.arms) for sentence in said)

    def card(self) -> Card:
        estimates, log = self.arms, self.log
        rows = [
            row_of(arm, log.counts[k], estimates.means[k], estimates.low[k], estimates.high[k])
            for k, arm in enumerate(log.arms)
        ]
        ranked = best_first(estimates.means.tolist())
        columns = ("arm", "rounds", "mean", "from", "to")
        return Card(f"{self.title}: {self.recommendation}", columns, tuple(rows[k] for k in ranked))

    def picture(self) -> Picture:
        """The picture for notebooks: means, intervals, fit, and how well the structure fits."""
        return picture_of_arms(self)

    def __str__(self) -> str:
        return report.as_text(self)

    def to_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "version": VERSION,
            "title": self.title,
            "log": {"name": self.log.name, "rounds": self.log.rounds},
            "family": str(self.informed.given),
            "sigma": getattr(self.informed.family, "sigma", None)
            if self.informed.estimated
            else None,
            "horizon": self.horizon,
            "traffic": self.traffic,
            "unit": self.unit,
            "delta": self.delta,
            "recommendation": self.recommendation,
            "notes": list(self.notes),
            "structure": self.chosen.name,
            "arms": self.arms.to_data(),
            "candidates": [one.to_data() for one in self.candidates],
            "trials": [trial.to_data() for trial in self.trials],
            "certainty": self.certainty.to_data(),
            "drift": self.drift.to_data(),
        }

    def to_json(self) -> str:
        """The same as JSON; what JSON does not have is written as in all files of the library."""
        return json.dumps(encoded(self.to_data()), allow_nan=False, indent=1)

    def to_html(self) -> str:
        """A page that opens without a network."""
        return as_page(self)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `report.html` and `assessment.json` to a folder, each whole or not at all."""
        contents = {DATA: self.to_json() + "\n", PAGE: self.to_html()}  # before any is written
        out = checked_path(folder)
        if out.exists() and not out.is_dir():
            raise ArmatureError(f"{str(folder)!r} is a file: give a folder.")
        out.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            write_text(out / name, text)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Drawing:
        """Draw the arms with the fit, and the policies' regret; into a PNG, SVG or PDF, if so."""
        return plot_assessment(self, path)


def as_page(assessment: Assessment) -> str:
    """The page."""
    from armature.views.pages import environment, stylesheet

    shown = charts.picture_of_arms(assessment)
    page = environment("armature.assess", (charts.regret_chart, charts.drift_chart))
    return page.get_template("assessment.html").render(
        css=Markup(stylesheet()),
        found=assessment,
        shown=shown,
        target=charts.target_of(assessment, shown),
        arms=report.arms_table(assessment),
        structures=report.structures_table(assessment),
        allocation=_allocation(assessment),
        trials=[(trial, report.trial_table(trial)) for trial in assessment.trials],
        most=max((charts.reach(trial) for trial in assessment.trials), default=None),
        sentences={
            about: sentence.shown(assessment.log.arms)
            for about, sentence in report.sentences(assessment).items()
        },
        changes=_changes(assessment),
        versions=versions_of("numpy", "numba", "scipy"),
    )


def _allocation(assessment: Assessment) -> Any:
    worth = assessment.chosen.worth
    return None if worth is None or worth.pulls is None else report.allocation_table(assessment)


def _changes(assessment: Assessment) -> bool:
    known = int(np.isfinite(assessment.drift.before).sum())
    return 0 < known <= MOST_ROWS
