"""The assessment of a log with segments: a record that the terminal, JSON and the page show."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from armature.assess.arms import Informed, informed, intervals
from armature.assess.log import Log
from armature.assess.segments.judging import (
    SAME,
    SEPARATE,
    Common,
    Pooled,
    Saved,
    judged,
    pooled_against_segments,
    read_cells,
    saved_by,
)
from armature.assess.table import Columns
from armature.bounds.evidence import DELTA
from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.storage.files import checked_path, write_text
from armature.storage.tagged_json import encoded
from armature.structures import Segments
from armature.views.picture import Picture, ShownArms
from armature.words import Card, Shown, listed, number, row_of

if TYPE_CHECKING:
    from armature.views.figure import Drawing

VERSION = 1
PAGE, DATA = "report.html", "assessment.json"


@dataclass(frozen=True, eq=False, repr=False)
class SegmentedAssessment(Shown):
    """Segments in a log; `str` gives the report.

    Attributes
    ----------
        title: what the page is called.
        table: what you asked about.
        log: of cells, an arm in a segment each, in the table's order.
        arms: what they are called.
        informed: the reward family of cells, with a sigma from the log if need be.
        low, high: (segments, arms) the interval of each mean by itself.
        candidates: what segments may have in common, from the same means to nothing.
        advised: the one to take: the first of these that is not refuted.
        worth: what it saves in simulations; None where nothing was simulated, or several arms are
            best.
        pooled: what one would say without a look at segments.
        delta: the probability of error of the intervals.
        horizon, traffic, unit: rounds that are planned, rounds a day, the unit of rewards.
    """

    title: str
    table: Segments
    log: Log
    arms: tuple[Hashable, ...]
    informed: Informed
    low: Floats
    high: Floats
    candidates: tuple[Common, ...]
    advised: Common
    worth: Saved | None
    pooled: Pooled
    delta: float
    horizon: int
    traffic: float | None
    unit: str

    @property
    def shares(self) -> Floats:
        """How much of the log each segment is."""
        counts = self._rows(self.log.counts).sum(axis=1)
        return np.asarray(counts / counts.sum())

    @property
    def differ(self) -> bool:
        """Whether the log shows that segments differ."""
        return self.candidates[0].name == SAME and self.candidates[0].refuted

    @property
    def one_for_all(self) -> float:
        """The cost, in `horizon` rounds, of giving everyone the arm that is best on average.

        By the means of the advised fit, against the best arm of each segment.
        """
        means, shares = self.advised.fitted, self.shares
        best = int(np.argmax(shares @ means))
        return self.horizon * float(shares @ (means.max(axis=1) - means[:, best]))

    @property
    def recommendation(self) -> str:
        """The recommendation, in a sentence or two."""
        parts = []
        if self.pooled.paradox:
            parts.append("Do not trust the pooled means: this log has Simpson's paradox.")
        name = self.advised.name
        if name == SAME:
            parts.append(
                "The log does not show that segments differ: one bandit for all is enough so far. "
                "With coupling=Additive() little is lost if they do."
            )
        elif name == SEPARATE:
            parts.append(
                "Use a bandit for each segment: whatever they may have in common is refuted."
            )
        else:
            parts.append(
                f"Use Segments with coupling={name}, and Guarded, which drops the coupling if it "
                "is wrong."
            )
        return " ".join(parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences on differences, couplings, worth and pooling."""
        return tuple(filter(None, [self._on_difference(), *self._on_couplings(), self._on_worth(),
                                   self._on_one_for_all(), self._on_pooling()]))  # fmt: skip

    def card(self) -> Card:
        columns, rows = self._means_table()
        return Card(f"{self.title}: {self.recommendation}", columns, tuple(map(tuple, rows)))

    def __str__(self) -> str:
        from armature.assess.report import aligned

        S, K = self.table.n_segments, self.table.n_each
        parts = [f"{self.title}: {self.log.rounds:,} rewards of {K} arms in {S} segments"]
        parts += [self.recommendation, ""]
        for heading, (titles, rows) in self.tables():
            parts += [heading, *aligned(titles, rows), ""]
        return "\n".join([*parts, *self.notes])

    def tables(self) -> list[tuple[str, tuple[tuple[str, ...], list[list[str]]]]]:
        """The tables of the report, each with its heading."""
        return [("Mean rewards", self._means_table()), ("In common", self._candidates_table())]

    def to_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        worth = self.worth
        return {
            "version": VERSION,
            "title": self.title,
            "log": {"name": self.log.name, "rounds": self.log.rounds},
            "family": str(self.informed.given),
            "segments": list(self.table.names),
            "arms": list(self.arms),
            "horizon": self.horizon,
            "traffic": self.traffic,
            "unit": self.unit,
            "delta": self.delta,
            "recommendation": self.recommendation,
            "notes": list(self.notes),
            "shares": self.shares.tolist(),
            "pulls": self._rows(self.log.counts).tolist(),
            "means": self._rows(self.log.means).tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "candidates": [one.to_data() for one in self.candidates],
            "advised": self.advised.name,
            "worth": None
            if worth is None
            else {"separate": list(worth.separate), "together": list(worth.together)},
            "one_for_all": self.one_for_all,
            "pooled": {
                "means": self.pooled.pooled.tolist(),
                "adjusted": self.pooled.adjusted.tolist(),
                "best": self.arms[self.pooled.best],
                "best_adjusted": self.arms[self.pooled.rival],
                "paradox": self.pooled.paradox,
                "clear": self.pooled.clear,
            },
        }

    def to_json(self) -> str:
        """The same as JSON; what JSON does not have is written as in all files of the library."""
        return json.dumps(encoded(self.to_data()), allow_nan=False, indent=1)

    def to_html(self) -> str:
        """A page that opens without a network."""
        from armature.views.pages import environment, stylesheet
        from armature.views.side_by_side import segment_charts
        from armature.views.svg import drawn

        charts = [(above.title, drawn(above)) for above, _ in segment_charts(self.pictures())]
        page = environment("armature.assess").get_template("segments.html")
        return page.render(css=Markup(stylesheet()), found=self, charts=charts)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `report.html` and `assessment.json` to a folder, each whole or not at all."""
        contents = {DATA: self.to_json() + "\n", PAGE: self.to_html()}
        out = checked_path(folder)
        if out.exists() and not out.is_dir():
            raise ArmatureError(f"{str(folder)!r} is a file: give a folder.")
        out.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            write_text(out / name, text)

    def pictures(self) -> dict[Hashable, Picture]:
        """Each segment, ready to be drawn: means, intervals, the advised fit."""
        found: dict[Hashable, Picture] = {}
        counts, means = self._rows(self.log.counts), self._rows(self.log.means)
        for c, name in enumerate(self.table.names):
            fit = self.advised.fitted[c]
            arms = ShownArms(
                names=tuple(map(str, self.arms)),
                places=np.arange(len(self.arms)),
                connected=self.table.rows[c].arms_in_order,
                groups=(),
                pulls=counts[c],
                means=means[c],
                low=self.low[c],
                high=self.high[c],
                fit=fit,
                alternative=None,
                leader=int(fit.argmax()),
                rival=None,
            )
            rounds = int(counts[c].sum())
            found[name] = Picture("", rounds, "max", arms, None, None, None, None)
        return found

    def plot(self, path: str | os.PathLike[str] | None = None) -> Drawing:
        """Draw all segments side by side; into a PNG, SVG or PDF, if so."""
        from armature.views.side_by_side import plot_segments

        return plot_segments(self.pictures(), path)

    # The tables and sentences.

    def _rows(self, cells: Floats) -> Floats:
        return cells.reshape(self.table.n_segments, self.table.n_each)

    def _means_table(self) -> tuple[tuple[str, ...], list[list[str]]]:
        counts, means = self._rows(self.log.counts), self._rows(self.log.means)
        titles = ("segment", "rewards", *map(str, self.arms), "best so far")
        rows = []
        for c, name in enumerate(self.table.names):
            best = self.arms[int(np.nanargmax(means[c]))] if counts[c].any() else ""
            rows.append([*row_of(name, counts[c].sum(), *means[c]), str(best)])
        everyone = self.pooled.pooled
        best = self.arms[self.pooled.best]
        rows.append([*row_of("all, pooled", counts.sum(), *everyone), str(best)])
        return titles, rows

    def _candidates_table(self) -> tuple[tuple[str, ...], list[list[str]]]:
        rows = []
        for one in self.candidates:
            star = " *" if one is self.advised else ""
            against = "" if one.evidence is None else number(one.evidence.log_e, ".3g")
            said = "refuted" if one.refuted else "fits"
            value = "" if one.value is None else number(one.value, ".3g")
            rows.append([one.name + star, said, against, value])
        return ("in common (* advised)", "fit", "log-evidence against", "V"), rows

    def _on_difference(self) -> str:
        same = self.candidates[0]
        if same.name != SAME or same.evidence is None:
            return ""
        if same.refuted:
            return (
                "Segments differ: the same means in all are refuted (log-evidence "
                f"{same.evidence.log_e:.3g}, threshold {same.evidence.threshold:.3g})."
            )
        return "The log does not refute that segments have the same means."

    def _on_couplings(self) -> list[str]:
        refuted = [one.name for one in self.candidates if one.refuted and one.coupling is not None]
        fitting = [
            one.name for one in self.candidates if not one.refuted and one.coupling is not None
        ]
        said = []
        if refuted:
            said.append(f"Refuted: {listed(refuted)}.")
        if fitting:
            said.append(f"Not refuted: {listed(fitting)}. That is no proof: guard it.")
        if self.candidates[-1].refuted:
            said.append("What is known of single rows is refuted, too: look at `each` first.")
        return said

    def _on_worth(self) -> str:
        if self.worth is None or self.advised.coupling is None:
            return ""
        (alone, _), (both, error) = self.worth.separate, self.worth.together
        said = (
            f"If {self.advised.name} is true, separate bandits lose {number(alone, '.3g')} "
            f"{self.unit} in {self.horizon:,} rounds, coupled ones {number(both, '.3g')} "
            f"(\N{PLUS-MINUS SIGN} {number(2.0 * error, '.2g')}): it saves "
            f"{number(alone - both, '.3g')}"
        )
        if self.traffic is not None:
            said += f", within {number(self.horizon / self.traffic, '.3g')} days"
        return said + "."

    def _on_one_for_all(self) -> str:
        if not self.differ:
            return ""
        lost = self.one_for_all
        if lost <= 1e-9 * self.horizon * float(np.abs(self.advised.fitted).max()):
            return "By this fit one arm is best in every segment."
        return (
            f"The arm that is best on average, for everyone, would cost {number(lost, '.3g')} "
            f"{self.unit} in {self.horizon:,} rounds against the best arm of each segment, by the "
            "fitted means."
        )

    def _on_pooling(self) -> str:
        found = self.pooled
        if found.best == found.rival:
            return ""
        best, rival = self.arms[found.best], self.arms[found.rival]
        ahead = float(found.adjusted[found.rival] - found.adjusted[found.best])
        said = f"{number(ahead, '.3g')} \N{PLUS-MINUS SIGN} {number(found.error, '.2g')}"
        if not found.paradox:
            return (
                f"Pooled, {best} looks best; where every arm meets the same segments, {rival} is "
                f"ahead of it by {said}."
            )
        chance = "" if found.clear else " That may be chance."
        return (
            f"Simpson's paradox: pooled, {best} looks better than {rival}, but {rival} is at "
            f"least as good in every segment, by {said} where both meet the same segments. The log "
            f"showed {best} more often where rewards are high.{chance}"
        )


def assess_segments(
    log: Any,
    table: Segments,
    family: Family,
    arms: Sequence[Hashable] | None,
    columns: Columns,
    title: str,
    horizon: int,
    traffic: float | None,
    unit: str,
    delta: float,
    draws: int,
    seed: int,
) -> SegmentedAssessment:
    """The assessment of a log with segments; `armature.assess` has checked the settings."""
    cells, names = read_cells(log, table, family, columns, arms)
    known = informed(cells, table.family_of_cells(family))
    table.checked_family(known.family)
    found = judged(cells, table, known, min(delta, DELTA))
    advised = advice(found)
    worth = None
    if draws and advised.coupling is not None:
        worth = saved_by(advised, table, known, cells, horizon, draws, seed)
    low, high = intervals(known, cells.counts, cells.sums, delta)
    shape = table.n_segments, table.n_each
    return SegmentedAssessment(
        title, table, cells, names, known, low.reshape(shape), high.reshape(shape), tuple(found),
        advised, worth, pooled_against_segments(cells, table, known), delta, horizon, traffic, unit,
    )  # fmt: skip


def advice(candidates: Sequence[Common]) -> Common:
    """The first that is not refuted, of what leaves most in common; the last if all are."""
    return next((one for one in candidates if not one.refuted), candidates[-1])
