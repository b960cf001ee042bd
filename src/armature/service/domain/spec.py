"""The spec of an experiment, as a request gives it, checked.

    {"structure": {"kind": "unimodal", "n_arms": 5}, "family": {"kind": "bernoulli"},
     "policy": "guarded", "labels": [4.99, 5.99, 6.99, 7.99, 8.99], "seed": 0, "floor": 0,
     "rewards": {"window": 604800, "default": null}, "sticky": null,
     "segments": {"names": ["mobile", "desktop"], "coupling": "additive", "otherwise": "desktop"},
     "changes": "restart", "forget": "7d"}

Structure, family and policy are described as in the library's TOML files. A text from outside names
only what is built in and what the operator allowed: nothing is imported because a request says so.
What is stored is the spec spelled out, so that an experiment stays the same when a default changes.
Most have no segments; with segments, the structure is that of each of them, and so is the floor.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal, cast

from armature.errors import ArmatureError, unknown
from armature.families import Family
from armature.live.bandit import Bandit
from armature.live.segmented import SegmentedBandit
from armature.policies import Challenger, Guarded, Policy, Restarting
from armature.service.domain.values import (
    Attributes,
    Changes,
    attributes_in,
    checked_changes,
    checked_label,
    half_life_in,
    labels_in,
    number_in,
    seconds_in,
    seed_in,
)
from armature.service.limits import ServiceLimits, check_arms
from armature.storage.registry import (
    COUPLINGS,
    FAMILIES,
    KINDS,
    POLICIES,
    STRUCTURES,
    Allowed,
    Classes,
    as_table,
    build,
    is_allowed,
    spelled_out,
    with_arms,
)
from armature.structures import Segments, Structure

KEYS = (
    "structure", "family", "policy", "labels", "seed", "horizon", "goal", "floor", "rewards",
    "sticky", "segments", "changes", "forget", "ofrep",
)  # fmt: skip
SEGMENT_KEYS = ("names", "coupling", "otherwise")
NO_LIMITS = ServiceLimits(arms=2**31)  # for what is stored


@dataclass(frozen=True)
class Spec:
    """An experiment before its first event.

    Attributes
    ----------
        labels: what the first arms are called.
        window: seconds until a decision without a reward expires; None: never.
        default: the reward that it then gets; None: it counts as cancelled.
        sticky: seconds for which a unit keeps its arm; 0: it keeps none; None: for ever.
        table: the segments, of which each has the structure; None where there are none.
        otherwise: the segment that stands for those that the table does not name, if one does.
        changes: whether a change of the rewards is only noticed, or the policy begins anew.
        forget: the half-life of rewards, a number of them or a time such as "7d"; None: they count
            for ever.
        ofrep: what an OpenFeature context says; None: only when it is evaluated by name.
    """

    structure: Structure
    family: Family
    policy: Policy
    labels: tuple[Hashable, ...]
    seed: int
    horizon: int | None
    goal: Literal["max", "min"]
    floor: float
    window: float | None
    default: float | None
    sticky: float | None
    table: Segments | None = None
    otherwise: Hashable = None
    changes: Changes = "notice"
    forget: float | str | None = None
    ofrep: Attributes | None = None

    def make_bandit(self, clock: Callable[[], float] | None = None) -> Bandit | SegmentedBandit:
        """The bandit before its first decision; the clock says when it forgets."""
        policy = restarting(self.policy) if self.changes == "restart" else self.policy
        options: Any = {
            "labels": self.labels,
            "horizon": self.horizon,
            "goal": self.goal,
            "floor": self.floor,
        }
        if self.table is None:
            options |= {"forget": self.forget, "clock": clock}
            return Bandit(policy, self.structure, self.family, self.seed, **options)
        if self.forget is not None:
            raise ArmatureError("forget does not go with segments: leave one of the two out.")
        options["otherwise"] = self.otherwise
        return SegmentedBandit(policy, self.table, self.family, self.seed, **options)

    def as_text(self, allow: Allowed = ()) -> str:
        """The spec with everything that has a default spelled out, as it is stored."""
        table = {
            "structure": as_written(STRUCTURES, self.structure, allow),
            "family": as_written(FAMILIES, self.family, allow),
            "policy": as_written(POLICIES, self.policy, allow),
            "labels": list(self.labels),
            "seed": self.seed,
            "horizon": self.horizon,
            "goal": self.goal,
            "floor": self.floor,
            "rewards": {"window": self.window, "default": self.default},
            "sticky": self.sticky,
        }
        if self.table is not None:
            coupling = self.table.coupling
            table["segments"] = {
                "names": list(self.table.names),
                "coupling": None if coupling is None else as_written(COUPLINGS, coupling, allow),
                "otherwise": self.otherwise,
            }
        if self.changes != "notice":
            table["changes"] = self.changes
        if self.forget is not None:
            table["forget"] = self.forget
        if self.ofrep is not None:
            table["ofrep"] = vars(self.ofrep)
        return json.dumps(table, sort_keys=True, allow_nan=False)

    def is_that_of(self, text: str, allow: Allowed = ()) -> bool:
        """Whether a stored text, perhaps an earlier version's, says the same."""
        return read_spec(json.loads(text), allow).as_text(allow) == self.as_text(allow)


def as_written(classes: Classes, value: Any, allow: Allowed = ()) -> dict[str, Any]:
    """A description with lists in place of tuples, as people write it, where that says the same."""
    exact = spelled_out(classes, value)
    for table in (_as_lists(exact, deep=True), _as_lists(exact, deep=False)):
        with contextlib.suppress(ArmatureError):
            if spelled_out(classes, build(classes, "spec", table, allow)) == exact:
                return cast(dict[str, Any], table)
    return exact


def _as_lists(value: Any, deep: bool) -> Any:
    """Tuples as lists: all of them, or only those that are not inside of others."""
    if isinstance(value, list):
        return [_as_lists(item, deep) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"tuple"}:
        return [_as_lists(item, deep) for item in value["tuple"]] if deep else value["tuple"]
    return {key: _as_lists(item, deep) for key, item in value.items()}


def parse_spec(table: Any, allow: Allowed, limits: ServiceLimits) -> Spec:
    """The spec that a request describes, or an error that says what is wrong with it."""
    try:
        _check_names(table, allow, limits)
        spec = read_spec(table, allow, limits)
        _try_out(spec)
    except RecursionError:
        raise ArmatureError("the spec is nested too deeply.") from None
    return spec


def read_spec(table: Any, allow: Allowed = (), limits: ServiceLimits = NO_LIMITS) -> Spec:
    """The spec that a table describes: one that was stored, or one whose names were checked."""
    if not isinstance(table, dict):
        raise ArmatureError("a spec must be a JSON object with at least a structure.")
    for key in table:
        if key not in KEYS:
            raise unknown("spec: the key", key, KEYS)
    labels = labels_in(table.get("labels"))
    structure = _structure(table, labels, allow)
    check_arms(structure.n_arms, limits)
    family: Family = build(FAMILIES, "family", table.get("family", "gaussian"), allow)
    segments, otherwise = _segments(table.get("segments"), structure, allow, limits)
    rewards = table.get("rewards") or {}
    if not isinstance(rewards, dict) or not set(rewards) <= {"window", "default"}:
        raise ArmatureError('rewards must be a table such as {"window": 604800, "default": null}.')
    return Spec(
        structure,
        family,
        build(POLICIES, "policy", table["policy"], allow)
        if "policy" in table
        else default_policy(segments if segments and segments.is_coupled else structure, family),
        tuple(range(structure.n_arms)) if labels is None else labels,
        seed_in(table.get("seed", 0)),
        table.get("horizon"),
        table.get("goal", "max"),
        number_in(table.get("floor"), "floor") or 0.0,
        seconds_in(rewards.get("window"), "rewards.window"),
        number_in(rewards.get("default"), "rewards.default"),
        seconds_in(table.get("sticky"), "sticky", none="0 for not at all"),
        segments,
        otherwise,
        checked_changes(table.get("changes", "notice")),
        half_life_in(table.get("forget")),
        attributes_in(table),
    )


def restarting(policy: Policy) -> Policy:
    """The same policy where rewards may change."""
    return policy if isinstance(policy, Restarting) else Restarting(policy)


CURRENCIES = "$€£¥ "
HINT = (
    "the arms are numbers and a reward is 0 or 1, so the experiment finds the arm with the most "
    "sales, which for prices is rarely the one with the most money. For money, give each arm its "
    'price, {"kind": "bernoulli", "scale": [...]}, and send the price, or 0, as the reward.'
)


def hint_about(table: Any) -> str | None:
    """A hint on what may be missing in a valid spec; None if nothing."""
    labels, family = table.get("labels"), table.get("family")
    described = family if isinstance(family, dict) else {"kind": family}
    forgotten = str(described.get("kind")).lower() == "bernoulli" and "scale" not in described
    amounts = isinstance(labels, list) and labels and all(map(_is_amount, labels))
    return HINT if forgotten and amounts else None


def _is_amount(label: Any) -> bool:
    """Whether it is a number, or a text that is one, perhaps with the sign of a currency."""
    try:
        return math.isfinite(float(label.strip(CURRENCIES) if isinstance(label, str) else label))
    except (TypeError, ValueError, OverflowError):
        return False


def default_policy(structure: Structure, family: Family) -> Policy:
    """Challenger with a guard, where there is knowledge that may be wrong and evidence of it."""
    guarded = Guarded()
    if structure.assumes_nothing or not guarded.supports(structure, family):
        return Challenger()
    return guarded


def _try_out(spec: Spec) -> None:
    """Make the bandit, which checks how the parts go together, and give it the default reward."""
    made: Any = spec.make_bandit()
    bandits = [made]
    if isinstance(made, SegmentedBandit):
        bandits = [made.of(name) for name in made.segments]
    if spec.default is not None:
        for bandit in bandits:
            for label in spec.labels:
                bandit.check_reward(label, spec.default)


def _structure(table: dict[str, Any], labels: tuple[Any, ...] | None, allow: Allowed) -> Structure:
    if "structure" not in table:
        raise ArmatureError('a spec needs a structure, such as {"kind": "unimodal", "n_arms": 5}.')
    arguments = as_table(STRUCTURES, "structure", table["structure"])
    if labels is not None:
        arguments = with_arms(arguments, len(labels), "structure", allow)
    structure: Structure = build(STRUCTURES, "structure", arguments, allow)
    if structure.is_table:
        raise ArmatureError(
            'the structure is that of each segment: name these beside it, "segments": {"names": '
            '["mobile", "desktop"], "coupling": {"kind": "additive"}}.'
        )
    return structure


def _segments(
    said: Any, structure: Structure, allow: Allowed, limits: ServiceLimits
) -> tuple[Segments | None, Hashable | None]:
    """The table of the segments, and the one that stands for all others."""
    if said is None:
        return None, None
    names = said.get("names") if isinstance(said, dict) else None
    if not isinstance(names, list) or not set(said) <= set(SEGMENT_KEYS):
        raise ArmatureError(
            'segments must be a table such as {"names": ["mobile", "desktop"], "coupling": '
            '{"kind": "additive"}}; it can have "otherwise", too, one of the names.'
        )
    check_arms(structure.n_arms * len(names), limits)  # those of all segments count
    coupling, otherwise = said.get("coupling"), said.get("otherwise")
    if coupling is not None:
        coupling = build(COUPLINGS, "segments.coupling", coupling, allow)
    if otherwise is not None:
        checked_label(otherwise)
    table = Segments([checked_label(name) for name in names], structure, coupling)
    return table, None if otherwise is None else table.names[table.place(otherwise)]


def _check_names(value: Any, allow: Allowed, limits: ServiceLimits) -> None:
    """Refuse what is neither built in nor allowed, wherever it is named, and too many arms."""
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, list):
        for item in value:
            _check_names(item, allow, limits)
    elif isinstance(value, dict):
        check_arms(value.get("n_arms"), limits)
        check_arms(len(value["labels"]) if isinstance(value.get("labels"), list) else 0, limits)
        if "kind" in value:
            _check_kind(value["kind"], allow)
        for key in ("structure", "family", "policy", "coupling"):
            if isinstance(value.get(key), str):
                _check_kind(value[key], allow)
        for key, item in value.items():
            _check_text(key)
            _check_names(item, allow, limits)


def _check_text(text: str) -> None:
    """Refuse half of a character: JSON allows it, but it can't be shown."""
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise ArmatureError(f"the text {text!a} has half of a character (a lone surrogate).")


def _check_kind(kind: Any, allow: Allowed) -> None:
    if not isinstance(kind, str):
        raise ArmatureError("a kind must be a text.")
    module, colon, _ = kind.partition(":")
    known = any(kind.lower() in classes for classes in KINDS)
    if not known and not (colon and is_allowed(module, allow)):
        if colon:
            raise ArmatureError(
                f"{kind!r} is not part of Armature, and this server does not --allow its module."
            )
        raise unknown("the kind", kind, {name for classes in KINDS for name in classes})
