"""A log: the arm, the reward and the probability of each round."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armature.assess.reading import read_csv, read_frame, read_pairs, read_parquet, read_summary
from armature.assess.table import (
    Codes,
    Columns,
    LogRows,
    Totals,
    Where,
    check_rewards,
    check_totals,
)
from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import ROUNDING
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_list, is_several
from armature.structures import Structure

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


@dataclass(frozen=True, eq=False)
class Log:
    """Rewards of the arms of a structure, in its order.

    Attributes
    ----------
        arms: what they are called.
        counts, sums: how many rewards of each arm, and their sum.
        squares: the sum of their squares about their mean; None where that is not known.
        places, rewards: (n,) the arm and the reward of each row; None where there are only sums.
        probabilities: (n,) with which each was shown, nan where that is not known; None: nowhere.
        where: how a row is named.
        name: what the log is called.
    """

    arms: tuple[Hashable, ...]
    counts: Floats
    sums: Floats
    squares: Floats | None
    places: Codes | None
    rewards: Floats | None
    probabilities: Floats | None
    where: Where
    name: str

    @property
    def rounds(self) -> int:
        """The number of rewards."""
        return int(self.counts.sum())

    @property
    def means(self) -> Floats:
        """The mean of each arm; nan without rewards."""
        with np.errstate(invalid="ignore"):
            means: Floats = self.sums / np.where(self.counts > 0.0, self.counts, np.nan)
        return means

    def rewards_of(self, k: int) -> Floats:
        """The rewards of an arm, in the order in which they came."""
        if self.rewards is None or self.places is None:
            raise ArmatureError(f"{self.name} has only sums: there are no single rewards.")
        own: Floats = self.rewards[self.places == k]
        return own


def read_log(
    log: Any,
    structure: Structure | None = None,
    family: Family | None = None,
    *,
    columns: Columns | None = None,
    arms: Sequence[Hashable] | None = None,
) -> Log:
    """A log, whatever it comes as, with its arms in the structure's order.

    Parameters
    ----------
    log
        The path of a CSV or Parquet file; a data frame; pairs of arm and reward; or sums, as
        `{"counts": ..., "sums": ..., "squares": ...}`, a number for each arm.
    structure
        What the arms are those of; without one, they are those of the log, in order.
    family
        How rewards are distributed: others are refused.
    columns
        What the columns are called.
    arms
        The arms' names, in the structure's order. They may be left out where arms are numbers (then
        they come from the least to the greatest, or are the structure's own numbers, from 0), and
        where their order does not matter.
    """
    if structure is not None and structure.is_table:
        raise ArmatureError(
            "here segments are not read from a log: give the rows of one of them, and what is "
            "known of its arms."
        )
    if isinstance(log, Log):
        if structure is not None and structure.n_arms != len(log.arms):
            raise ArmatureError(
                f"{log.name} has {len(log.arms)} arms, and the structure {structure.n_arms}."
            )
        found = log
    else:
        table = read_table(log, Columns() if columns is None else columns)
        names, places = arrange(table.labels, arms, structure, table.name)
        found = _from_totals(table, names, places) if isinstance(table, Totals) else _from_rows(
            table, names, places
        )  # fmt: skip
        check_worth_a_look(found)
    if family is not None:
        check_support(found, family)
    return found


def read_table(log: Any, columns: Columns) -> LogRows | Totals:
    """The content of a log, before its arms are matched with those of a structure."""
    if isinstance(log, (LogRows, Totals)):
        return log
    if isinstance(log, (str, os.PathLike)):
        return _read_file(Path(log), columns)
    if isinstance(log, Mapping):
        return read_summary(log)
    if hasattr(log, "columns"):
        return read_frame(log, columns)
    if is_several(log):
        return read_pairs(log)
    raise ArmatureError(
        "log must be the path of a CSV or Parquet file, a data frame, pairs of arm and reward, or "
        f"a mapping with counts and sums; got {log!r}."
    )


def _read_file(path: Path, columns: Columns) -> LogRows | Totals:
    if path.is_dir():
        raise ArmatureError(f"{str(path)!r} is a folder: give the path of a CSV or Parquet file.")
    if not path.exists():
        raise ArmatureError(f"there is no file {str(path)!r}.")
    if path.suffix.lower() not in SUFFIXES:
        raise ArmatureError(f"{str(path)!r}: a log is a .csv or .parquet file.")
    return (read_parquet if path.suffix.lower() == ".parquet" else read_csv)(path, columns)


def _from_rows(table: LogRows, names: tuple[Hashable, ...], places: Codes) -> Log:
    check_rewards(table)
    codes = places[table.codes]
    counts = np.bincount(codes, minlength=len(names)).astype(np.float64)
    sums: Floats = np.bincount(codes, table.rewards, len(names)).astype(np.float64)
    means = sums / np.maximum(counts, 1.0)
    away = table.rewards - means[codes]
    squares: Floats = np.bincount(codes, away * away, len(names)).astype(np.float64)
    return Log(
        names,
        counts,
        sums,
        squares,
        codes,
        table.rewards,
        table.probabilities,
        table.where,
        table.name,
    )


def _from_totals(totals: Totals, names: tuple[Hashable, ...], places: Codes) -> Log:
    check_totals(totals)
    counts, sums = np.zeros(len(names)), np.zeros(len(names))
    counts[places], sums[places] = totals.counts, totals.sums
    squares = None
    if totals.squares is not None:
        squares = np.zeros(len(names))
        about_zero = totals.sums**2 / np.maximum(totals.counts, 1.0)
        squares[places] = np.maximum(totals.squares - about_zero, 0.0)
    lines = {int(place): row for row, place in enumerate(places)}
    return Log(
        names,
        counts,
        sums,
        squares,
        None,
        None,
        None,
        lambda k: totals.where(lines[k]) if k in lines else f"arm {names[k]!r}",
        totals.name,
    )


# Which arm of the structure each label is.


def arrange(
    labels: Sequence[Hashable],
    arms: Sequence[Hashable] | None,
    structure: Structure | None,
    name: str,
) -> tuple[tuple[Hashable, ...], Codes]:
    """The arms' names in order, and the place of each label among them."""
    n_arms = len(labels) if structure is None else structure.n_arms
    if arms is not None:
        names = checked_list(arms, "arms", "a list such as ['red', 'blue']")
        if structure is not None and len(names) != n_arms:
            raise ArmatureError(
                f"arms has {len(names)} names, where the structure has {n_arms} arms."
            )
        return matched(labels, names, name)
    values = [_as_number(label) for label in labels]
    _check_written_alike(labels, values, name)
    known = [value for value in values if value is not None]
    if len(known) == len(labels):
        if structure is not None and all(v % 1.0 == 0.0 and 0.0 <= v < n_arms for v in known):
            return matched(labels, list(range(n_arms)), name)
        order = sorted(range(len(labels)), key=lambda i: known[i])
    elif structure is None or structure.exchangeable:
        order = sorted(range(len(labels)), key=lambda i: str(labels[i]))
    else:
        shown = ", ".join(repr(label) for label in labels[:3])
        raise ArmatureError(
            f"{name}: the arms ({shown}, ...) have names, and their order means something to "
            f"{type(structure).__name__}: name them all with arms=[...], in order."
        )
    if structure is not None and len(labels) != n_arms:
        shown = ", ".join(str(labels[i]) for i in order[:5]) + (", ..." if len(order) > 5 else "")
        raise ArmatureError(
            f"{name} has {len(labels)} arms ({shown}), and the structure {n_arms}: name all of the "
            "structure's with arms=[...], in order."
        )
    places = np.empty(len(labels), dtype=np.int64)
    places[order] = np.arange(len(labels))
    return tuple(labels[i] for i in order), places


def _check_written_alike(
    labels: Sequence[Hashable], values: Sequence[float | None], name: str
) -> None:
    """Refuse "1" beside "1.0": one arm that is written in two ways, or two that look like one."""
    first: dict[float, Hashable] = {}
    for label, value in zip(labels, values, strict=True):
        if value is not None and first.setdefault(value, label) != label:
            raise ArmatureError(
                f"{name}: several arms are written like the number {value:g}, {first[value]!r} and "
                f"{label!r}: write each arm in one way, or name them all with arms=[...], in order."
            )


def matched(
    labels: Sequence[Hashable], names: list[Hashable], log: str, what: str = "an arm"
) -> tuple[tuple[Hashable, ...], Codes]:
    """Labels among names: the same, or the same number."""
    exact = {one: k for k, one in enumerate(names)}
    if len(exact) < len(names):
        twice = next(one for i, one in enumerate(names) if one in names[:i])
        raise ArmatureError(f"arms has {twice!r} twice.")
    numbers = {_as_number(one): k for k, one in enumerate(names)}
    places = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        value = _as_number(label)
        place = exact.get(label, numbers.get(value) if value is not None else None)
        if place is None:
            shown = ", ".join(repr(one) for one in names[:6]) + (", ..." if len(names) > 6 else "")
            raise ArmatureError(f"{log} has {what} {label!r}, which is not one of {shown}.")
        places[i] = place
    return tuple(names), places


def _as_number(label: Hashable) -> float | None:
    """A label as a number; None if it is not one."""
    if isinstance(label, bool) or not isinstance(label, (int, float, str)):
        return None
    try:
        value = float(label)
    except (ValueError, OverflowError):
        return None
    return value if abs(value) < np.inf else None


# What can be learned from it.


def check_worth_a_look(log: Log) -> None:
    """Refuse a log of one arm, and one in which all rewards are the same."""
    seen = np.flatnonzero(log.counts > 0.0)
    if not seen.size:
        raise ArmatureError(f"{log.name} has no rewards.")
    if seen.size == 1:
        raise ArmatureError(
            f"{log.name} has one arm only, {log.arms[int(seen[0])]!r}, from "
            f"{_extent(log)}: there is nothing to compare it with."
        )
    means = log.means[seen]
    same = bool((means == means[0]).all()) and log.squares is not None
    least = (ROUNDING * np.abs(means)) ** 2 * log.counts[seen]
    if same and log.squares is not None and bool((log.squares[seen] <= least).all()):
        raise ArmatureError(
            f"{log.name}: all {log.rounds:,} rewards are {means[0]:g}, from {_extent(log)}: there "
            "is nothing to learn from them."
        )


def _extent(log: Log) -> str:
    if log.rewards is None:
        places = np.flatnonzero(log.counts > 0.0)
        first, last = int(places[0]), int(places[-1])
    else:
        first, last = 0, log.rewards.size - 1
    return log.where(first) if first == last else f"{log.where(first)} to {log.where(last)}"


def check_support(log: Log, family: Family) -> None:
    """Refuse rewards that the family does not have; the error names the row."""
    family.check_arms(len(log.arms))
    for k in range(len(log.arms)):
        if not log.counts[k] > 0.0:
            continue
        own = family.for_arm(k)
        if log.rewards is not None and log.places is not None:
            rows = np.flatnonzero(log.places == k) if family.n_arms else np.arange(log.rewards.size)
            wrong = ~_supported(own, log.rewards[rows])
            if wrong.any():
                at = int(rows[int(wrong.argmax())])
                raise ArmatureError(
                    f"{log.name}, {log.where(at)}: the reward {log.rewards[at]:g} can't come from "
                    f"{own}: its rewards lie in {own.support}."
                )
            if family.n_arms is None:
                return
        elif not _is_mean(own, float(log.sums[k]), float(log.counts[k])):
            raise ArmatureError(
                f"{log.name}, {log.where(k)}: {log.counts[k]:g} rewards of {own} can't have the "
                f"sum {log.sums[k]:g}: they lie in {own.support}."
            )


def _supported(family: Family, rewards: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
    support, domain = family.support, family.domain
    if support.ends:
        return np.asarray((rewards == support.low) | (rewards == support.high))
    above = rewards >= support.low if support.closed and domain.closed else rewards > support.low
    inside = above & (rewards <= support.high)
    return np.asarray(inside & (rewards % 1.0 == 0.0) if support.integer else inside)


def _is_mean(family: Family, total: float, count: float) -> bool:
    domain, support = family.domain, family.support
    mean, slack = total / count, 1e-9 * abs(total / count)
    if not domain.low - slack <= mean <= domain.high + slack:
        return False
    if support.integer or support.ends:
        unit = support.high if support.ends else 1.0
        return abs(total - unit * round(total / unit)) <= 1e-9 * max(abs(total), unit)
    return True
