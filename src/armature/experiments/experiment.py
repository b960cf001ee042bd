"""An experiment in a TOML file: a problem, policies, how long and how often.

    means = [0.2, 0.4, 0.9, 0.7, 0.1]
    [structure]
    kind = "unimodal"

    [experiment]                   # or the same keys above the first section
    horizon = 10_000
    repetitions = 200
    seed = 0
    policies = ["ucb", "spk", { kind = "spk", test = "raw" }, "my_module:MyPolicy"]

    [sweep]                        # optional: every combination is run
    "family.sigma" = [0.5, 1.0]
    "policies.spk.epsilon" = [0.5, 1.0]

The problem is described as for `armature bound`; `docs/experiments.md` says which keys a sweep can
have. A policy of your own is "my_module:MyPolicy", if the caller allows `my_module`.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armature.errors import ArmatureError, nearest, unknown
from armature.experiments.spec import parse_instance_table, parse_table, read_spec
from armature.policies import Policy
from armature.storage.registry import (
    FAMILIES,
    POLICIES,
    STRUCTURES,
    Allowed,
    Classes,
    build,
    class_named,
)
from armature.structures.instance import Instance

WHOLE = ("means", "theta", "structure", "family", "horizon", "repetitions", "seed")
SECTIONS = ("means", "structure", "family", "policies")
GENERATED = ("n_arms", "best", "gap")  # the entries of means that a file describes
MOST_POINTS = 100_000
NUMBERS = {"horizon": 10_000, "repetitions": 200, "seed": 0}


@dataclass(frozen=True, eq=False)
class Experiment:
    """One point of the grid: what `simulate` needs, and the values that the sweep has set.

    `common` is what all points of a sweep have in common and can't be extended: the file without
    policies, repetitions and what is swept.
    """

    title: str
    instance: Instance
    policies: tuple[Policy, ...]
    horizon: int
    repetitions: int
    seed: int
    point: dict[str, Any]
    common: dict[str, Any] = field(default_factory=dict)


def load_experiments(spec: str | Path, allow: Allowed = ()) -> list[Experiment]:
    """The experiments that a file describes: one, or one for each point of its sweep.

    `allow` names the modules and packages from which the file may name classes, as "module:Class".
    """
    return parse_experiments(read_spec(spec), allow)


def parse_experiments(
    text: str, allow: Allowed = (), policies: Sequence[str] = ()
) -> list[Experiment]:
    """The experiments in the text of a file; `policies` are those of a file that names none."""
    table = parse_table(text)
    table["policies"] = _policy_tables(table.get("policies", list(policies)))
    sweep = checked_sweep(table.pop("sweep", {}), table, allow)
    common = _common(table, sweep)
    experiments = []
    for values in itertools.product(*sweep.values()):
        point = dict(zip(sweep, values, strict=True))
        one = copy.deepcopy(table)
        for path, value in point.items():
            _set(one, path, copy.deepcopy(value))
        experiments.append(_experiment(one, point, common, allow))
    return experiments


def _experiment(
    table: dict[str, Any], point: dict[str, Any], common: dict[str, Any], allow: Allowed
) -> Experiment:
    numbers = {}
    for name, default in NUMBERS.items():
        value = table.pop(name, default)
        least = 0 if name == "seed" else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ArmatureError(f"{name} must be a whole number, at least {least}; got {value!r}.")
        numbers[name] = value
    policies = tuple(build(POLICIES, "policies", entry, allow) for entry in table.pop("policies"))
    title = table.get("title", "experiment")
    if not isinstance(title, str):
        raise ArmatureError(f"title must be a text; got {title!r}.")
    instance = parse_instance_table(table, allow)
    return Experiment(title, instance, policies, point=point, common=common, **numbers)


def _common(table: dict[str, Any], sweep: dict[str, Any]) -> dict[str, Any]:
    """The settings that all points of a sweep share, except policies and repetitions."""
    common = copy.deepcopy(NUMBERS | table)
    for name in ("title", "policies", "repetitions"):
        common.pop(name, None)
    for path in sweep:
        first, _, rest = path.partition(".")
        section = common.get(first)
        if rest and isinstance(section, dict):
            section.pop(rest, None)
        elif not rest:
            common.pop(first, None)
    return common


def _policy_tables(policies: Any) -> list[dict[str, Any]]:
    if not isinstance(policies, list) or not policies:
        raise ArmatureError('there are no policies: give a list, as in policies = ["spk", "ucb"].')
    tables = []
    for entry in policies:
        if isinstance(entry, str):
            tables.append({"kind": entry})
        elif isinstance(entry, dict):
            tables.append(dict(entry))
        else:
            raise ArmatureError(f"policies: {entry!r} is neither a name nor a table with a kind.")
    return tables


def _set(table: dict[str, Any], path: str, value: Any) -> None:
    """Set an entry by its path."""
    first, _, rest = path.partition(".")
    if first == "policies":
        kind, _, option = rest.partition(".")
        found = [p for p in table["policies"] if str(p.get("kind", "")).lower() == kind.lower()]
        if not found:
            kinds = {str(p.get("kind", "")) for p in table["policies"]}
            raise unknown(f"sweep.{path}: the policy", kind, kinds)
        if not option:
            raise ArmatureError(f'sweep.{path} names no option, as in "{path}.<option>" = [...].')
        for policy in found:
            policy[option] = value
        if any(one == other for one, other in itertools.combinations(found, 2)):
            raise ArmatureError(
                f"sweep.{path} sets {option!r} of all policies {kind!r}, which makes two of them "
                "the same: keep one of these."
            )
    elif rest:
        section = table.setdefault(first, {"kind": "gaussian"} if first == "family" else {})
        if not isinstance(section, dict):
            raise ArmatureError(f"sweep.{path}: {first!r} is not a section of the file.")
        section[rest] = value
    else:
        table[first] = value


def checked_sweep(sweep: Any, table: dict[str, Any], allow: Allowed = ()) -> dict[str, list[Any]]:
    """The section [sweep] of a file; refused with the nearest key where one means nothing."""
    if not isinstance(sweep, dict) or not all(isinstance(v, list) and v for v in sweep.values()):
        raise ArmatureError('[sweep] must have a list for each key, as in "family.sigma" = [1, 2].')
    points = 1
    for path, values in sweep.items():
        _check_key(path, table, allow)
        _check_values(path, values)
        points *= len(values)
    if points > MOST_POINTS:
        raise ArmatureError(f"[sweep] has {points:,} points: at most {MOST_POINTS:,} can be run.")
    for one, other in itertools.permutations(sweep, 2):
        if f"{other}.".lower().startswith(f"{one}.".lower()):
            raise ArmatureError(f"sweep.{one} and sweep.{other} set the same entry: keep one.")
    return sweep


def _check_values(path: str, values: list[Any]) -> None:
    """Refuse a value that is there twice, also as 1 and 1.0."""
    seen = set()
    for value in values:
        text = json.dumps(_alike(value), default=str, sort_keys=True)
        if text in seen:
            raise ArmatureError(f"sweep.{path} has {value!r} twice.")
        seen.add(text)


def _alike(value: Any) -> Any:
    """A value in which numbers that are equal are written alike."""
    if isinstance(value, dict):
        return {key: _alike(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_alike(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_key(path: str, table: dict[str, Any], allow: Allowed) -> None:
    first, dot, rest = path.partition(".")
    if path in WHOLE or (dot and rest and first in SECTIONS):
        return
    if path.rpartition(".")[2] == "policies":
        raise ArmatureError(
            f"sweep.{path}: all policies of the file run at every point. Sweep an option of one, "
            'as in "policies.spk.epsilon" = [0.5, 1.0].'
        )
    known = list(_keys_of(table, allow))
    last = path.rpartition(".")[2]
    close = next((key for key in known if key.rpartition(".")[2] == last), nearest(path, known))
    hint = f"did you mean {close!r}?" if close else f"a sweep can set {', '.join(known)}."
    raise ArmatureError(
        f"sweep.{path}: the key {path!r} is unknown, as no run depends on it: {hint}"
    )


def _keys_of(table: dict[str, Any], allow: Allowed) -> Iterator[str]:
    """The keys that a sweep of this file can have."""
    yield from (key for key in WHOLE if key != "theta" or "theta" in table)
    if isinstance(table.get("means"), dict):
        yield from (f"means.{name}" for name in GENERATED)
    yield from _arguments("structure", STRUCTURES, table.get("structure"), allow)
    yield from _arguments("family", FAMILIES, table.get("family", "gaussian"), allow)
    policies = table.get("policies")
    for policy in policies if isinstance(policies, list) else []:
        kind = policy.get("kind") if isinstance(policy, dict) else policy
        yield from _arguments(f"policies.{kind}", POLICIES, policy, allow)


def _arguments(section: str, classes: Classes, description: Any, allow: Allowed) -> Iterator[str]:
    kind = description.get("kind") if isinstance(description, dict) else description
    try:
        cls = class_named(classes, section, kind, allow)
    except ArmatureError:  # its own error comes when it is made
        return
    yield from (f"{section}.{name}" for name in inspect.signature(cls).parameters)
