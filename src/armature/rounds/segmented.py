"""A policy at work on a table: which segment arrives, and what the policy chooses for it.

Every segment has a policy of its own, with a state of its own, which sees its row of the table. It
is asked and told by the one loop of `armature.rounds.play`: there, the arms are the cells. What
segments learn of each other they learn by their rows (`armature.structures.segments.row`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import estimate_variance
from armature.kernels.addresses import Address
from armature.kernels.arrays import Floats, Ints
from armature.kernels.gears import interpreted
from armature.kernels.kernel import kernel
from armature.kernels.packing import pack
from armature.kernels.streams import ARRIVALS, Stream, make_stream, next_unit
from armature.policies import CompiledPolicy, History, Policy
from armature.policies.policy import make_history
from armature.rounds.play import (
    CHOOSE,
    UPDATE,
    chooser_at,
    packed_address,
    set_variance,
    updater_at,
)
from armature.rounds.runner import Packed, PolicyRunner, make_runner
from armature.structures import Segments
from armature.structures.oracles.model import Model
from armature.structures.segments.row import Row, rows_of

GOLDEN = 0x9E3779B97F4A7C15  # the golden ratio as 64 bits: far steps between the seeds of segments


BY_FREQUENCY: Ints = np.empty(0, dtype=np.int64)  # who arrives is not given


def seed_of(seed: int, segment: int) -> int:
    """The seed of a segment's decisions; of the first, the seed itself."""
    return (seed + segment * GOLDEN) % 2**64


class TableState(NamedTuple):
    """The policies of all segments, packed, and who arrives."""

    words: Ints  # (S, n): of each segment's policy; a list where nothing is compiled
    reals: Floats  # the same memory
    clocks: Ints  # (S, 2): see `History.clock`
    shares: Floats  # (S,): how often they arrive, added up
    arrivals: Stream
    given: Ints  # who arrives in each round, where that is given; else empty
    choose_address: Address
    update_address: Address
    each_arm_first: bool
    estimates: bool  # whether the model is told an estimate of the variance,
    coupled: bool  # from all segments' rewards

    def numbers_of_kernels(self) -> set[Address]:
        """Those that it calls by number."""
        return {self.choose_address, self.update_address} - {0}


@kernel
def next_to_arrive(state: TableState, rounds: int) -> int:
    """The segment of the next round, as given, or by frequency: of one, no number is drawn."""
    if state.given.size > 0:
        return int(state.given[min(rounds, state.given.size - 1)])
    last = state.shares.size - 1
    c = 0
    if last > 0:
        unit = next_unit(state.arrivals)
        while c < last and unit >= state.shares[c]:  # unit: not among the shares before c
            c += 1
    return c


@kernel
def choose(state: TableState, model: Model, history: History, stream: Stream) -> int:
    """The cell that the policy of the arriving segment chooses."""
    return choose_for(state, history, next_to_arrive(state, history.clock[0]))


@kernel
def choose_for(state: TableState, history: History, c: int) -> int:
    """The cell that the policy of a segment chooses; -1: no arm of it."""
    K = history.pulls.size // state.shares.size
    at = c * K
    if state.each_arm_first:
        for k in range(K):
            if history.pulls[at + k] == 0.0:
                return at + k
    explored = state.clocks[c, 1]
    arm = chooser_at(state.choose_address)(state.words[c])
    history.clock[1] += state.clocks[c, 1] - explored
    return at + arm if 0 <= arm < K else -1


@kernel
def variance_of(state: TableState, history: History, c: int) -> float:
    """The estimate of the variance from a segment's rewards; from all where these are coupled."""
    if state.coupled:
        return estimate_variance(history.pulls, history.means, history.squares)
    K = history.pulls.size // state.shares.size
    a = c * K
    b = a + K
    return estimate_variance(history.pulls[a:b], history.means[a:b], history.squares[a:b])


@kernel
def update(state: TableState, model: Model, history: History, cell: int, reward: float) -> None:
    """The policy of the segment learns; the others, if they are told, of the variance."""
    S = state.shares.size
    K = history.pulls.size // S
    c = cell // K
    state.clocks[c, 0] += 1
    if state.estimates:
        for d in range(S) if state.coupled else range(c, c + 1):
            set_variance(state.words[d], state.reals[d], variance_of(state, history, d))
    if state.update_address != 0:
        updater_at(state.update_address)(state.words[c], cell - c * K, reward)


class TableRunner:
    """A policy for each segment of a table, for the loop."""

    each_arm_first = False  # the loop need not: which arms come first is each segment's business

    def __init__(
        self,
        policy: Policy,
        table: Segments,
        family: Family,
        seed: int,
        repetition: int,
        given: Ints = BY_FREQUENCY,
    ) -> None:
        self.policy, self.table, self._given = policy, table, given
        self._clocks: Ints = np.zeros((table.n_segments, 2), dtype=np.int64)
        self.rows, self.history = make_row_runners(
            policy, table, family, seed, repetition, self._clocks
        )
        self._arrivals = make_stream(seed, repetition, ARRIVALS)

    def packed(self, frequencies: Floats) -> Packed:
        """As the loop takes it, with segments that arrive by these frequencies."""
        rows = [row.packed() for row in self.rows]
        is_compiled = isinstance(self.policy, CompiledPolicy)
        words: Any = [row.words for row in rows]
        if isinstance(words[0], np.ndarray):
            words = np.stack(words)
        state = TableState(
            words=words,
            reals=words.view(np.float64) if isinstance(words, np.ndarray) else words,
            clocks=self._clocks,
            shares=np.cumsum(frequencies),
            arrivals=self._arrivals,
            given=self._given,
            choose_address=rows[0].choose,
            update_address=rows[0].update,
            each_arm_first=self.policy.starts_with_each_arm,
            estimates=len(rows[0].reals) > 0,
            coupled=self.table.is_coupled,
        )
        told: Any = self.rows[0].known(), state, self.history, self._arrivals
        self._packed = told  # the words point to it
        if is_compiled:
            addresses = (packed_address(CHOOSE, choose, told), packed_address(UPDATE, update, told))
            return Packed(*addresses, pack(*told), np.empty(0))
        return Packed(*_in_python(state, rows, told[0], self.history), [], [])


def _in_python(
    state: TableState, rows: list[Packed], told: Any, history: History
) -> tuple[Any, Any]:
    """The two halves of a round for policies in plain Python, each with functions of its own."""
    K = history.pulls.size // state.shares.size

    def of_segment(c: int) -> TableState:
        return state._replace(choose_address=rows[c].choose, update_address=rows[c].update)

    def choose_in_python(words: Any) -> int:
        with interpreted():
            c = next_to_arrive(state, history.clock[0])
            return choose_for(of_segment(c), history, c)

    def update_in_python(words: Any, cell: int, reward: float) -> None:
        with interpreted():
            update(of_segment(cell // K), told, history, cell, reward)

    return choose_in_python, update_in_python


def make_row_runners(
    policy: Policy, table: Segments, family: Family, seed: int, repetition: int, clocks: Ints
) -> tuple[list[PolicyRunner], History]:
    """A runner for each segment, and the history of all cells, of which each sees its row.

    `clocks` (S, 2) are the rows' (`History.clock`).
    """
    K = table.n_each
    told = rows_of(table, family.as_told)
    history = make_history(table.n_arms)
    if isinstance(told[0], Row):
        seen = told[0].ledger
        pulls, sums, means = (part.reshape(-1) for part in (seen.pulls, seen.sums, seen.means))
        history = history._replace(pulls=pulls, sums=sums, means=means)
    runners = []
    for c, row in enumerate(told):
        runner = make_runner(policy, row, table.family_of(family, c), seed_of(seed, c), repetition)
        cells = slice(c * K, c * K + K)
        runner.history = History(
            pulls=history.pulls[cells],
            sums=history.sums[cells],
            means=history.means[cells],
            squares=history.squares[cells],
            clock=clocks[c],
        )
        runners.append(runner)
    return runners, history


def write_down(runner: PolicyRunner) -> None:
    """Let what a runner sees be written to the ledger that the other segments read."""
    row = runner.structure
    if isinstance(row, Row):
        c, own, seen = row.segment, runner.history, row.ledger
        kept = own._replace(pulls=seen.pulls[c], sums=seen.sums[c], means=seen.means[c])
        for name in ("pulls", "sums", "means"):
            getattr(kept, name)[:] = getattr(own, name)
        runner.history = kept
