"""Segments in a log: whether they differ, what they have in common, and what that is worth.

The log is read as one of cells, an arm in a segment each. What rows may have in common is judged as
a structure is (`armature.bounds.evidence`): the evidence against a coupling that is true reaches
1 / delta with probability delta at most, however the arms were chosen.

**Simpson's paradox.** Pooled over segments, an arm's mean is weighted by how often each segment met
that arm. Where the log showed an arm more often to those who give more, the pooled order of two
arms can be the opposite of that in every segment. So the arm that is best in the pooled log is
compared with the arm that is best when all arms meet the same mix of segments.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armature.assess.arms import Informed
from armature.assess.log import Log, arrange, matched, read_log, read_table
from armature.assess.table import Columns, LogRows
from armature.bounds import lower_bound
from armature.bounds.evidence import Evidence, evidence
from armature.errors import ArmatureError
from armature.experiments import simulate
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.policies import Challenger
from armature.structures import Additive, Coupling, Fit, SameBest, Segments
from armature.structures.instance import Instance

CLEAR = 2.0  # standard errors, from which on an order of two arms is no chance


def read_cells(
    log: Any, table: Segments, family: Family, columns: Columns, arms: Sequence[Hashable] | None
) -> tuple[Log, tuple[Hashable, ...]]:
    """The log of all cells, (segment, arm) each, in the table's order; and the arms' names."""
    rows = read_table(log, columns)
    if not isinstance(rows, LogRows):
        raise ArmatureError(
            f"{rows.name} has sums, without segments: give a log with a row for each reward."
        )
    if rows.segments is None:
        raise ArmatureError(
            f"{rows.name} has no column {columns.segment!r}, which says whom each row is about: "
            'name it, with columns={"segment": ...}.'
        )
    labels, codes = rows.segments()
    _, segments = matched(labels, list(table.names), rows.name, "a segment")
    like = next((row for row in table.rows if not row.exchangeable), table.rows[0])
    names, places = arrange(rows.labels, arms, like, rows.name)
    cells = [(segment, arm) for segment in table.names for arm in names]
    placed = segments[codes] * len(names) + places[rows.codes]
    seen, among = np.unique(placed, return_inverse=True)
    wide = replace(rows, labels=[cells[cell] for cell in seen], codes=among, segments=None)
    return read_log(wide, None, table.family_of_cells(family), arms=cells), names


@dataclass(frozen=True, eq=False)
class Common:
    """Something that segments may have in common, and its fit to the log.

    Attributes
    ----------
        name: what it is called.
        coupling: None: nothing, or the same means in all.
        evidence: against it, and what is known of rows; None where the family has none.
        fitted: (segments, arms) the nearest means.
        value: V, the least growth of regret per ln T at these; None where there is no such number.
    """

    name: str
    coupling: Coupling | None
    evidence: Evidence | None
    fitted: Floats
    value: float | None

    @property
    def refuted(self) -> bool:
        """True if the log refutes it."""
        return self.evidence is not None and self.evidence.refuted

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "name": self.name,
            "refuted": self.refuted,
            "evidence": None if self.evidence is None else self.evidence.to_data(),
            "fitted": self.fitted.tolist(),
            "V": self.value,
        }


SEPARATE, SAME = "separate", "the same means"


def judged(log: Log, table: Segments, known: Informed, delta: float) -> list[Common]:
    """All that segments may have in common: the same means, what was asked about, ..., nothing."""
    found = []
    if len(set(table.rows)) == 1:
        found.append(_same(log, table, known, delta))
    couplings: list[Coupling] = [Additive(), SameBest()]
    if table.coupling is not None and table.coupling not in couplings:
        couplings.insert(0, table.coupling)
    for coupling in couplings:
        try:
            found.append(_coupled(log, table, coupling, known, delta))
        except ArmatureError:  # more pieces than can be served, or none
            if coupling == table.coupling:
                raise
    return [*found, _coupled(log, table, None, known, delta)]


def _coupled(
    log: Log, table: Segments, coupling: Coupling | None, known: Informed, delta: float
) -> Common:
    one = Segments(table.names, table.each, coupling)
    fit = one.project(_cell_means(log, known), log.counts, known.family)
    name = SEPARATE if coupling is None else repr(coupling)
    value = _value(one, np.asarray(fit.means), known, _shares(log, table))
    return Common(name, coupling, _evidence(log, one, known, delta, fit), *_rest(fit, value))


def _same(log: Log, table: Segments, known: Informed, delta: float) -> Common:
    """The same means in all segments: the fit of the pooled log."""
    shape = table.n_segments, table.n_each
    counts, sums = (x.reshape(shape).sum(axis=0) for x in (log.counts, log.sums))
    row = table.rows[0]
    family = table.family_of(known.family, 0)
    pooled = family.clipped(np.where(counts > 0.0, sums / np.maximum(counts, 1.0), _some(log)))
    fitted = np.tile(np.asarray(row.project(pooled, counts, family).means), (shape[0], 1))
    own = _cell_means(log, known)
    parts = known.family.divergence(own, fitted.reshape(-1))
    seen = log.counts > 0.0
    fit = Fit(fitted, float((log.counts * parts)[seen].sum()))
    free = Segments(table.names, table.each)
    try:
        value = lower_bound(Instance(row, fitted[0], family)).value
    except ArmatureError:
        value = None
    return Common(SAME, None, _evidence(log, free, known, delta, fit), *_rest(fit, value))


def _rest(fit: Fit, value: float | None) -> tuple[Floats, float | None]:
    return np.asarray(fit.means), value


def _evidence(
    log: Log, table: Segments, known: Informed, delta: float, fit: Fit
) -> Evidence | None:
    """The evidence against a fit; with the cautious estimate of sigma, if there is one."""
    family = table.family_of_cells(known.cautious)
    if not family.has_evidence:
        return None
    cost = fit.cost
    if known.cautious is not known.family:
        parts = family.divergence(_cell_means(log, known), np.asarray(fit.means).reshape(-1))
        cost = float((log.counts * parts)[log.counts > 0.0].sum())
    flat = Fit(np.asarray(fit.means).reshape(-1), cost)
    return evidence(table, family, log.counts, log.sums, delta, log.arms, flat)


def _some(log: Log) -> float:
    return float(log.sums.sum() / log.counts.sum())


def _cell_means(log: Log, known: Informed) -> Floats:
    seen = log.counts > 0.0
    return known.family.clipped(np.where(seen, log.means, _some(log)))


def _shares(log: Log, table: Segments) -> Floats:
    """How often segments arrived."""
    counts = log.counts.reshape(table.n_segments, table.n_each).sum(axis=1)
    return np.asarray((counts + 1e-9 * counts.sum()) / (counts + 1e-9 * counts.sum()).sum())


def _value(table: Segments, fitted: Floats, known: Informed, shares: Floats) -> float | None:
    try:
        return lower_bound(Instance(table, fitted, known.family, frequencies=shares)).value
    except ArmatureError:  # several arms are best
        return None


@dataclass(frozen=True, eq=False)
class Pooled:
    """The answer without a look at segments, beside that of the segments.

    Attributes
    ----------
        pooled: (arms,) means over all rewards; nan without rewards.
        adjusted: (arms,) means if every arm met the same mix of segments; nan where a segment never
            met the arm.
        error: the standard error of the difference of the adjusted means of `best` and `rival`.
        best, rival: the best arm of the pooled means, and of the adjusted ones.
        reversed: whether `rival` is at least as good as `best` in every segment that met both.
    """

    pooled: Floats
    adjusted: Floats
    error: float
    best: int
    rival: int
    reversed: bool

    @property
    def paradox(self) -> bool:
        """True if the pooled order of two arms is the opposite of that in the segments."""
        return self.best != self.rival and self.reversed

    @property
    def clear(self) -> bool:
        """True if that is more than chance explains."""
        ahead = float(self.adjusted[self.rival] - self.adjusted[self.best])
        return ahead > CLEAR * self.error


def pooled_against_segments(log: Log, table: Segments, known: Informed) -> Pooled:
    """The pooled means beside those of an equal mix of segments."""
    shape = table.n_segments, table.n_each
    counts, sums = log.counts.reshape(shape), log.sums.reshape(shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = sums.sum(axis=0) / counts.sum(axis=0)
        means = sums / counts
    shares = counts.sum(axis=1) / counts.sum()
    there = shares > 0.0
    adjusted = np.asarray(shares[there] @ means[there])
    best = int(np.nanargmax(pooled))
    known_all = np.isfinite(adjusted).any() and np.isfinite(adjusted[best])
    rival = int(np.nanargmax(adjusted)) if known_all else best
    both = np.isfinite(means[:, best]) & np.isfinite(means[:, rival])
    turned = bool((means[both, rival] >= means[both, best]).all())
    error = 0.0
    if rival != best:
        spread = _variances(log, known).reshape(shape)[:, [best, rival]] / counts[:, [best, rival]]
        error = math.sqrt(float((shares[there, None] ** 2 * spread[there]).sum()))
    return Pooled(pooled, adjusted, error, best, rival, turned)


def _variances(log: Log, known: Informed) -> Floats:
    """The variance of the rewards of each cell: their own, or about that of all cells."""
    if log.squares is None:
        return np.ones(log.counts.size)
    common = float(log.squares.sum()) / max(float((log.counts - 1.0).clip(0.0).sum()), 1.0)
    own = log.squares / np.maximum(log.counts - 1.0, 1.0)
    return np.where(log.counts >= 20.0, own, common)


@dataclass(frozen=True)
class Saved:
    """Mean regret of Challenger in `horizon` rounds if a coupling's fit is the truth.

    `separate`: of a bandit for each segment; `together`: of one for all; each with the standard
    error of its mean.
    """

    separate: tuple[float, float]
    together: tuple[float, float]


def saved_by(
    found: Common, table: Segments, known: Informed, log: Log, horizon: int, draws: int, seed: int
) -> Saved | None:
    """The regret that a coupling saves, simulated; None where its fit has several best arms."""
    shares = _shares(log, table)
    regrets = []
    for coupling in (None, found.coupling):
        one = Segments(table.names, table.each, coupling)
        try:
            instance = Instance(one, found.fitted, known.simulated, frequencies=shares)
        except ArmatureError:
            return None
        results = simulate(instance, [Challenger()], horizon, draws, seed)
        final = results.regret("Challenger")[:, -1]
        error = float(final.std(ddof=1)) / math.sqrt(draws) if draws > 1 else 0.0
        regrets.append((float(final.mean()), error))
    return Saved(*regrets)
