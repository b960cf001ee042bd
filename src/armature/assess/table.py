"""A log as it was given, with the arms' own names: a row for each reward, or for each arm.

Whatever a log comes as, it becomes `LogRows` or `Totals`. Both know how to name a row, so that an
error that is found later can still say where.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST

Codes = npt.NDArray[np.int64]
MOST_ARMS = 10_000  # different arms, beyond which a column is another one

Where = Callable[[int], str]  # how a row is named: "line 7", "row 6"


@dataclass(frozen=True)
class Columns:
    """The names of a log's columns.

    `probability` may be missing in the log, and is then not known. `segment` is read where a table
    of segments is asked about. `count` and `total` are those
    of a log that has a line for each arm: the number of its rewards and their sum, and `squares`
    the sum of their squares, which may be missing.
    """

    arm: str = "arm"
    reward: str = "reward"
    probability: str = "probability"
    count: str = "count"
    total: str = "sum"
    squares: str = "squares"
    segment: str = "segment"


@dataclass(frozen=True, eq=False)
class LogRows:
    """One row for each reward.

    Attributes
    ----------
        labels: the different arms.
        codes: (n,) which of them is in each row.
        rewards, probabilities: (n,) of each row; nan where a probability is not known, None where
            none is.
        where: how a row is named.
        name: what the log is called, for errors.
        segments: reads the different segments, and which of them is in each row; None where the log
            has no such column.
    """

    labels: list[Hashable]
    codes: Codes
    rewards: Floats
    probabilities: Floats | None
    where: Where
    name: str
    segments: Callable[[], tuple[list[Hashable], Codes]] | None = None


@dataclass(frozen=True, eq=False)
class Totals:
    """One row for each arm: how many rewards, their sum, the sum of their squares if known."""

    labels: list[Hashable]
    counts: Floats
    sums: Floats
    squares: Floats | None
    where: Where
    name: str


def check_rewards(table: LogRows) -> None:
    """Refuse rows without a valid reward and probability; the error names the row."""
    rewards = table.rewards
    if not rewards.size:
        raise ArmatureError(f"{table.name} has no rewards: it has columns, and no rows.")
    beyond = ~(np.abs(rewards) <= LARGEST)
    if beyond.any():
        at = int(beyond.argmax())
        raise ArmatureError(
            f"{table.name}, {table.where(at)}: the reward is {rewards[at]:g}, where a finite "
            f"number between {-LARGEST:g} and {LARGEST:g} is needed: leave the row out, or use "
            "another unit."
        )
    if table.probabilities is not None:
        _check_probabilities(table, table.probabilities)


def _check_probabilities(table: LogRows, probabilities: Floats) -> None:
    wrong = ~((probabilities > 0.0) & (probabilities <= 1.0)) & ~np.isnan(probabilities)
    if wrong.any():
        at = int(wrong.argmax())
        raise ArmatureError(
            f"{table.name}, {table.where(at)}: the probability is {probabilities[at]:g}; it must "
            "be above 0 and at most 1."
        )


def check_totals(totals: Totals) -> None:
    """Refuse wrong counts, sums and sums of squares."""
    name, where, counts, sums = totals.name, totals.where, totals.counts, totals.sums
    wrong = ~((counts >= 0.0) & (counts % 1.0 == 0.0) & (counts <= 2.0**53))
    if wrong.any():
        at = int(wrong.argmax())
        raise ArmatureError(
            f"{name}, {where(at)}: the count is {counts[at]:g}, where a whole number, 0 or more, "
            "is needed."
        )
    beyond = ~(np.abs(sums) <= LARGEST) | ((counts == 0.0) & (sums != 0.0))
    if beyond.any():
        at = int(beyond.argmax())
        raise ArmatureError(
            f"{name}, {where(at)}: the sum of {counts[at]:g} rewards can't be {sums[at]:g}."
        )
    if totals.squares is None:
        return
    least = sums * sums / np.maximum(counts, 1.0)
    short = ~(totals.squares >= least * (1.0 - 1e-9)) | ~np.isfinite(totals.squares)
    if short.any():
        at = int(short.argmax())
        raise ArmatureError(
            f"{name}, {where(at)}: the sum of squares is {totals.squares[at]:g}, but "
            f"{counts[at]:g} rewards with the sum {sums[at]:g} have at least {least[at]:g}."
        )


def check_labels(labels: list[Hashable], name: str, column: str, what: str = "arms") -> None:
    """Refuse a column of arms, or of segments, that seems to be another column."""
    if len(labels) > MOST_ARMS:
        raise ArmatureError(
            f"{name} has {len(labels):,} different {what}, the first of which is {labels[0]!r}: is "
            f"{column!r} the column of {what}?"
        )
