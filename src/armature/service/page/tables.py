"""Experiments with segments as the page shows them: side by side, and what each borrows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from armature.bounds.evidence import DELTA
from armature.live.explanation import Explanation
from armature.live.segmented import SegmentedBandit
from armature.live.verdict import Verdict
from armature.service.domain.replay import Replica
from armature.service.domain.tables import SegmentWorth, coupling_alone, worth_of_segments
from armature.views import Picture, picture_of
from armature.views.bandit_charts import range_of
from armature.views.chart import Axis, Chart, Line, Points, coordinates, number
from armature.views.picture import Gain, Gauge, Past, Traffic, gain_of, gauge_of, traffic_of


@dataclass(frozen=True, eq=False)
class SegmentView:
    """A segment."""

    name: Any
    picture: Picture
    pending: list[int]
    rewards: int
    share: float  # of the rewards
    worth: SegmentWorth
    verdict: Verdict | None


@dataclass(frozen=True, eq=False)
class TableView:
    """An experiment with segments.

    Attributes
    ----------
        segments: each of them.
        span: the range of means in the charts of all.
        traffic, gain: of all segments together.
        together: the evidence against what is known, rows and coupling together.
        coupling: the same against the coupling alone, whatever is known of each row.
        is_coupled: whether segments have anything in common.
    """

    row: Any  # of the database
    spec: str
    segments: list[SegmentView]
    span: tuple[float, float]
    traffic: Traffic | None
    gain: Gain | None
    together: Gauge | None
    coupling: Gauge | None
    delta: float
    ledger: dict[str, int] | None
    last_at: float
    is_coupled: bool
    changed: list[str]  # sentences on changes of the rewards

    is_table = True
    changed_at: ClassVar[list[int]] = []  # charts are of all segments, which change apart

    @property
    def rounds(self) -> int:
        """How many rewards it has learned from."""
        return sum(segment.rewards for segment in self.segments)


def table_view_of(
    row: Any,
    replica: Replica,
    beliefs: Sequence[Explanation],
    verdicts: Sequence[Verdict | None],
    past: Past | None,
    ledger: dict[str, int] | None,
    last_at: float,
) -> TableView:
    """All of it together."""
    bandit = replica.bandit
    assert isinstance(bandit, SegmentedBandit)
    table, total = bandit.structure, max(1, int(bandit.pulls.sum()))
    worth = worth_of_segments(bandit)
    segments = []
    for c, name in enumerate(table.names):
        shown = picture_of(beliefs[c], table.rows[c], goal=replica.of(c).goal)
        verdict = verdicts[c] if c < len(verdicts) else None
        pending = [int(bandit.pending[c][k]) for k in shown.arms.places]
        own = worth[c].own
        segments.append(SegmentView(name, shown, pending, own, own / total, worth[c], verdict))
    seen = [segment.picture.arms for segment in segments if segment.picture.arms.n_seen]
    ends = np.array([range_of(arms) for arms in seen] or [(0.0, 1.0)])
    together, alone = bandit.evidence(DELTA), coupling_alone(bandit)
    tested = bandit.family.has_evidence and bool(seen)
    return TableView(
        row=row,
        spec=json.dumps(json.loads(row.spec), indent=2, ensure_ascii=False),
        segments=segments,
        span=(float(ends[:, 0].min()), float(ends[:, 1].max())),
        traffic=None if past is None else traffic_of(segments[0].picture.arms, past),
        gain=_gain_of(beliefs, replica.of(0).goal, past),
        together=gauge_of(together) if tested else None,
        coupling=None if alone is None else gauge_of(alone),
        delta=DELTA,
        ledger=ledger,
        last_at=last_at,
        is_coupled=table.is_coupled,
        changed=sentences_on_changes(replica, beliefs),
    )


def sentences_on_changes(replica: Replica, beliefs: Sequence[Explanation]) -> list[str]:
    """Whether rewards have changed, and since when the numbers count, for each segment."""
    found = []
    for c, since in sorted(replica.changed.items()):
        name = f"{replica.segments[c]}: " if replica.segments else ""
        change = beliefs[c].change
        if replica.changes == "restart":
            said = "Rewards changed. It began anew, and its decisions rest on what came after the "
            said += f"first {since:,} rewards."
        elif change is not None:
            said = f"{change} All numbers here are of both times together."
        else:
            said = f"Rewards changed after about {since:,} of them."
        found.append(name + said)
    return found


def _gain_of(beliefs: Sequence[Explanation], goal: str, past: Past | None) -> Gain | None:
    """The gain over choosing uniformly in each segment; None while a cell has no rewards."""
    each = [gain_of(belief, goal) for belief in beliefs]
    known = [gain for gain in each if gain is not None]
    if past is None or len(known) < len(each) or not past.rounds.sum() > 0.0:
        return None
    rounds = np.array([float(gain.rounds[-1]) for gain in known])
    shares = rounds / rounds.sum()
    uniform = float(sum(s * gain.uniform for s, gain in zip(shares, known, strict=True)))
    error = math.hypot(*(s * gain.error for s, gain in zip(shares, known, strict=True)))
    return Gain(np.cumsum(past.rounds), np.cumsum(past.rewards), uniform, error, goal)


def worth_chart(segment: SegmentView) -> Chart:
    """One line: which part of what is known of a segment is from its own rewards."""
    own = segment.worth.share
    marks = (
        Line("groove borrowed", *coordinates((0.0, 0.0), (1.0, 0.0))),
        Line("level", *coordinates((0.0, 0.0), (max(own, 0.004), 0.0))),
        Points("limit own", *coordinates((own, 0.0)), "tick", 12.0),
    )
    label = f"{number(100.0 * own, 2)} % of what is known of {segment.name} is its own."
    return Chart("gauge thin worth", label, Axis(0.0, 1.0), Axis(-1.0, 1.0), marks, 26.0)
