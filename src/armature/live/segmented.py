"""The online bandit of a table: an arm for each segment that arrives, learned together."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from armature.bounds.change import FALSE_ALARMS
from armature.bounds.evidence import Evidence, evidence, threshold_at
from armature.errors import ArmatureError
from armature.families import Family, Gaussian
from armature.kernels.checks import check_kind
from armature.kernels.streams import key_of
from armature.live.bandit import Bandit
from armature.live.change import Change
from armature.live.checkpoint import SEGMENTED
from armature.live.explanation import Explanation
from armature.live.readable import Arm
from armature.live.segments_file import SEGMENT, VERSION, checked_content, content_of, restore
from armature.live.verdict import Verdict
from armature.policies import Policy
from armature.rounds.segmented import seed_of, write_down
from armature.storage import fields
from armature.storage.files import checksum, read_text, write_text
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, Allowed, build, describe
from armature.storage.tagged_json import decoded, encoded
from armature.structures import Segments, Structure
from armature.structures.segments.row import rows_of
from armature.words import Card, Shown, row_of


class SegmentBandit(Bandit):
    """The bandit of one segment, as `SegmentedBandit.of` gives it."""

    def add_arm(self, *args: Any, **facts: Any) -> Arm:
        """Refused: the arms are those of the table."""
        raise ArmatureError(
            "arms do not come or go in one segment: make a new bandit with another table, and give "
            "it what was learned as its history."
        )

    def retire_arm(self, arm: Arm) -> None:
        """Refused: the arms are those of the table."""
        self.add_arm()

    def to_json(self) -> str:
        """Refused: what it knows is in the table."""
        raise ArmatureError("a segment can't be saved by itself: save the bandit of the table.")


class SegmentedBandit(Shown):
    """A policy that decides live for the segments of a table; `Bandit(policy, table)` makes one.

    Each segment has a bandit of its own, `bandit.of(segment)`, with all that a `Bandit` can: the
    methods here pass on to it. What is told of one segment counts in the others as far as the
    coupling says. Rewards that are outstanding count in their own segment only.

    What is refused changes nothing. Everything is a function of what was asked and told, and of the
    seed; `to_json` keeps all of it.

    >>> import armature as am
    >>> table = am.Segments(["mobile", "desktop"], each=am.Unimodal(3), coupling=am.Additive())
    >>> bandit = am.Bandit(am.Challenger(), table, labels=[4.99, 6.99, 8.99])
    >>> bandit.tell([4.99, 6.99, 8.99], [0.1, 90.0, 0.2], segment="mobile")
    >>> bandit.tell(4.99, 5.0, segment="desktop")
    >>> bandit.ask(segment="desktop")  # what is known of prices from "mobile" is known here, too
    6.99
    >>> bandit.pulls.tolist()
    [[1, 1, 1], [1, 0, 0]]

    Parameters
    ----------
    policy, structure, family, seed, labels, horizon, goal, floor
        As for `Bandit`; the structure is a table, which says which segments there are. The floor is
        one for all, or one for segments by name (else 0). Costs (goal "min") go with segments that
        are not coupled.
    otherwise : hashable, optional
        A segment of the table that stands for every one that it does not name. Without, such a
        segment is refused, with a list of those that are known.
    history : mapping, optional
        For segments, by name: what `Bandit` takes.
    """

    def __init__(
        self,
        policy: Policy,
        structure: Segments,
        family: Family | None = None,
        seed: int = 0,
        *,
        labels: Sequence[Hashable] | None = None,
        horizon: int | None = None,
        goal: Literal["max", "min"] = "max",
        floor: float | Mapping[Hashable, float] = 0.0,
        history: Mapping[Hashable, Any] | None = None,
        otherwise: Hashable = None,
    ) -> None:
        check_kind(structure, Segments, "structure", "Segments(['a', 'b'], each=Unimodal(3))")
        family = Gaussian() if family is None else family
        check_kind(family, Family, "family", "Gaussian()")
        if goal != "max" and structure.is_coupled:
            raise ArmatureError(
                'goal="min" does not go with coupled segments: leave goal="max", tell minus the '
                "costs, and say what is known about these."
            )
        structure.checked_family(family)
        key_of(seed)  # which says what a seed is
        past = {} if history is None else history
        check_kind(past, Mapping, "history", "{'mobile': [(0, 1.0)]}")
        names = structure.names
        self.otherwise = None if otherwise is None else names[structure.place(otherwise)]
        self.policy, self.family = policy, family
        self._seed = int(seed)
        self._options: dict[str, Any] = {"labels": labels, "horizon": horizon, "goal": goal}
        seeds = {name: seed_of(seed, c) for c, name in enumerate(names)}
        for name in (*past, *(floor if isinstance(floor, Mapping) else ())):
            structure.place(name)
        self._open(structure, seeds, floor, past)

    def _open(
        self,
        table: Segments,
        seeds: Mapping[Hashable, int],
        floor: float | Mapping[Hashable, float] = 0.0,
        past: Mapping[Hashable, Any] | None = None,
    ) -> None:
        """A bandit for each row of a table."""
        rows = rows_of(table, self.family.as_told)
        made: dict[Hashable, SegmentBandit] = {}
        for c, (name, row) in enumerate(zip(table.names, rows, strict=True)):
            known = (past or {}).get(name)
            made[name] = SegmentBandit(
                self.policy,
                row,
                table.family_of(self.family, c),
                seeds[name],
                floor=floor.get(name, 0.0) if isinstance(floor, Mapping) else floor,
                history=known,
                **self._options,
            )
            write_down(made[name]._decisions)
        self.structure, self._of = table, made

    def warm_up(self) -> None:
        """Compile all that `ask` and `tell` need, or load it, now: see `Bandit.warm_up`."""
        next(iter(self._of.values())).warm_up()

    # Segments.

    @property
    def segments(self) -> list[Hashable]:
        """The names of the segments, in the table's order: that of `pulls`, `means`, ..."""
        return list(self.structure.names)

    def of(self, segment: Hashable) -> Bandit:
        """The bandit of a segment, or of what stands for those that are not named."""
        if self.otherwise is not None and segment not in self.structure.names:
            segment = self.otherwise
        return self._of[self.structure.names[self.structure.place(segment)]]

    def add_segment(self, name: Hashable, each: Structure | None = None) -> None:
        """One more segment, the last one: its first decisions come from the coupling.

        `each` is what is known of its row, where the table has no structure for all. All else goes
        on as it is.
        """
        rows = self.structure.each
        if isinstance(rows, Mapping):
            if each is None:
                raise ArmatureError(
                    f"say what is known of segment {name!r}: the table has a structure for each."
                )
            rows = {**rows, name: each}
        elif each is not None and each != rows:
            rows = {**dict.fromkeys(self.structure.names, rows), name: each}
        self._go_on(Segments([*self.structure.names, name], rows, self.structure.coupling))

    def remove_segment(self, name: Hashable) -> None:
        """A segment is gone, and what was learned in it has no say any more."""
        place = self.structure.place(name)
        if self.structure.n_segments == 1:
            raise ArmatureError("there is one segment left: a table needs at least one.")
        if name == self.otherwise:
            raise ArmatureError(f"{name!r} stands for all segments that are not named: keep it.")
        names = [one for c, one in enumerate(self.structure.names) if c != place]
        rows = self.structure.each
        if isinstance(rows, Mapping):
            rows = {one: rows[one] for one in names}
        self._go_on(Segments(names, rows, self.structure.coupling))

    def _go_on(self, table: Segments) -> None:
        """The same with another table: segments that stay keep their seeds and what they know."""
        if self.family.n_arms not in (None, table.n_each):
            raise ArmatureError(
                "rewards have parameters for each cell of the table: make a new bandit, with what "
                "was learned as its history."
            )
        before = self._of
        seeds = {name: bandit._seed for name, bandit in before.items()}
        fresh = (seed_of(self._seed, c) for c in range(2 * len(seeds) + 2))
        unused = (seed for seed in fresh if seed not in seeds.values())
        more = {name: next(unused) for name in table.names if name not in seeds}
        self._open(table, {**seeds, **more})
        for name in table.names:
            if name in before:
                restore(self._of[name], content_of(before[name]))

    # Asking and telling.

    def ask(
        self,
        n: int | None = None,
        *,
        segment: Hashable,
        exclude: Sequence[Arm] = (),
        ids: bool = False,
    ) -> Any:
        """The arm to pull next for a segment: see `Bandit.ask`. (Ids count in their segment.)"""
        ask: Any = self.of(segment).ask
        return ask(n, exclude=exclude, ids=ids)

    def tell(
        self, arm: Arm | Sequence[Arm], reward: float | Sequence[float], *, segment: Hashable
    ) -> None:
        """Take in the reward of an arm in a segment, or the rewards of several."""
        self.of(segment).tell(arm, reward)

    def tell_by_id(self, id: int, reward: float, *, segment: Hashable) -> str:
        """Take in the reward of a decision of a segment, once: see `Bandit.tell_by_id`."""
        return self.of(segment).tell_by_id(id, reward)

    def cancel(self, arm: Arm, *, segment: Hashable) -> None:
        """A reward that is outstanding in a segment will never come."""
        self.of(segment).cancel(arm)

    # Reading.

    @property
    def arms(self) -> list[Arm]:
        """The labels of the arms, in the structure's order."""
        return next(iter(self._of.values())).arms

    @property
    def pulls(self) -> npt.NDArray[np.int64]:
        """(segments, arms): how many rewards came in."""
        return np.stack([bandit.pulls for bandit in self._of.values()])

    @property
    def means(self) -> npt.NDArray[np.float64]:
        """(segments, arms): the mean rewards; nan where there are none."""
        return np.stack([bandit.means for bandit in self._of.values()])

    @property
    def pending(self) -> npt.NDArray[np.int64]:
        """(segments, arms): how many rewards are outstanding."""
        return np.stack([bandit.pending for bandit in self._of.values()])

    def card(self) -> Card:
        pulls, means = self.pulls, self.means
        return Card(
            f"Bandit: {self.policy.name} on {self.structure!r}, {self.family!r}, {pulls.sum():,} "
            f"rewards, {self.pending.sum():,} pending",
            ("segment", "rewards", *(f"{arm}: mean" for arm in self.arms)),
            tuple(
                row_of(name, pulls[c].sum(), *means[c])
                for c, name in enumerate(self.structure.names)
            ),
        )

    def explain(self, *, segment: Hashable) -> Explanation:
        """The estimates of a segment, its next decision, and its reason."""
        return self.of(segment).explain()

    def verdict(self, delta: float = 0.05, *, segment: Hashable, **options: Any) -> Verdict:
        """Which arm of a segment is best, if that is known: see `Bandit.verdict`."""
        return self.of(segment).verdict(delta, **options)

    def plot(self, path: str | os.PathLike[str] | None = None, *, segment: Hashable = None) -> Any:
        """The belief about a segment, as a picture; without one, about all, side by side.

        See `Bandit.plot`. Segments side by side have the same axes, and one legend.
        """
        if segment is not None:
            return self.of(segment).plot(path)
        from armature.views.side_by_side import plot_segments

        return plot_segments({name: one.picture() for name, one in self._of.items()}, path)

    def change(self, false_alarms: float = FALSE_ALARMS, *, segment: Hashable) -> Change | None:
        """The change of the rewards of a segment, if one shows: see `Bandit.change`."""
        return self.of(segment).change(false_alarms)

    def changes(self, false_alarms: float = FALSE_ALARMS) -> dict[Hashable, Change]:
        """The segments whose rewards changed, each with its change.

        As long as nothing changes in any of them, one is ever reported with probability at most
        `false_alarms`: each has its share of that.
        """
        threshold_at(false_alarms)  # which says what it must be
        share = false_alarms / len(self._of)
        found = {name: bandit.change(share) for name, bandit in self._of.items()}
        return {name: change for name, change in found.items() if change is not None}

    def evidence(self, delta: float = 0.01) -> Evidence:
        """How well rows and coupling fit the rewards of all segments: see `Bandit.evidence`."""
        table, family = self.structure, self.structure.family_of_cells(self.family)
        histories = [bandit._decisions.history for bandit in self._of.values()]
        pulls, sums = (
            np.concatenate([getattr(one, name) for one in histories]) for name in ("pulls", "sums")
        )
        cells = [(name, arm) for name in table.names for arm in self.arms]
        means = np.where(pulls > 0.0, sums / np.maximum(pulls, 1.0), family.some_mean)
        fit = table.project(family.clipped(means), pulls, self.family)
        flat = fit._replace(means=np.asarray(fit.means).reshape(-1))
        return evidence(table, family, pulls, sums, delta, cells, flat)

    # Saving.

    def to_json(self) -> str:
        """Everything that the next decisions depend on, for `from_json`."""
        labels = self._options["labels"]
        whole = {
            "format": SEGMENTED,
            "version": VERSION,
            "policy": describe(POLICIES, self.policy),
            "table": describe(STRUCTURES, self.structure),
            "family": describe(FAMILIES, self.family),
            "seed": self._seed,
            "horizon": self._options["horizon"],
            "goal": self._options["goal"],
            "labels": None if labels is None else encoded(list(labels)),
            "otherwise": encoded(self.otherwise),
            "segments": [content_of(bandit) for bandit in self._of.values()],
        }
        return json.dumps({**whole, "checksum": checksum(whole)}, indent=1, allow_nan=False)

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        policy: Policy | None = None,
        structure: Segments | None = None,
        family: Family | None = None,
        allow: Allowed = (),
    ) -> SegmentedBandit:
        """The bandit that `to_json` wrote down; it goes on with the same decisions.

        As `Bandit.from_json`: give objects here, and what the text says of them is not looked at.
        """
        content = checked_content(text)
        bandit = cls(
            build(POLICIES, "policy", content["policy"], allow) if policy is None else policy,
            build(STRUCTURES, "table", content["table"], allow) if structure is None else structure,
            build(FAMILIES, "family", content["family"], allow) if family is None else family,
            content["seed"],
            labels=None if content["labels"] is None else decoded(content["labels"]),
            horizon=content["horizon"],
            goal=content["goal"],
            otherwise=decoded(content["otherwise"]),
        )
        names, parts = bandit.structure.names, content["segments"]
        if not isinstance(parts, list) or len(parts) != len(names):
            raise fields.wrong("segments", f"one for each of {len(names)} segments", parts)
        seeds = {}
        for name, part in zip(names, parts, strict=True):
            fields.table(part, "segments", SEGMENT)
            seeds[name] = fields.whole(part["seed"], "segments.seed", 2**64 - 1)
        bandit._open(bandit.structure, seeds)
        for name, part in zip(names, parts, strict=True):
            restore(bandit._of[name], part)
        return bandit

    def __reduce__(self) -> Any:
        """For pickle and copy: what `to_json` says, with the objects in it as they are."""
        own: Any = {"policy": self.policy, "structure": self.structure, "family": self.family}
        return functools.partial(type(self).from_json, **own), (self.to_json(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file, which at any moment is the old one or the new one."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, allow: Allowed = ()) -> SegmentedBandit:
        """The bandit in a file."""
        return cls.from_json(read_text(path), allow=allow)
