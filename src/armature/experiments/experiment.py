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
have. A policy of one's own is "my_module:MyPolicy", if the caller allows `my_module`.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armature.errors import ArmatureError
from armature.experiments.spec import parse_instance_table, parse_table, read_spec
from armature.experiments.sweep_keys import checked_sweep
from armature.policies import Policy
from armature.storage.registry import POLICIES, Allowed, build
from armature.storage.spelling import unknown
from armature.structures.instance import Instance

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
    allow: Allowed = ()  # from where its file, and the results, may name classes

    @property
    def point_text(self) -> str:
        """Its point of the sweep in words; empty where there is none."""
        return ", ".join(f"{key} = {value}" for key, value in self.point.items())

    @property
    def full_title(self) -> str:
        """The title, with the point of the sweep."""
        return f"{self.title} ({self.point_text})" if self.point else self.title


def load_experiments(spec: str | Path, allow: Allowed = ()) -> list[Experiment]:
    """The experiments that a file describes: one, or one for each point of its sweep.

    `allow` names the modules and packages from which the file may name classes, as "module:Class".
    """
    return parse_experiments(read_spec(spec), allow)


def parse_experiments(
    text: str, allow: Allowed = (), policies: Sequence[str] = ()
) -> list[Experiment]:
    """The same from the text of the file; `policies` are those of a file that names none."""
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
    return Experiment(title, instance, policies, point=point, common=common, allow=allow, **numbers)


def _common(table: dict[str, Any], sweep: dict[str, Any]) -> dict[str, Any]:
    """What the points of a sweep have in common, but for policies and repetitions."""
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
        if not option or not found:
            kinds = [str(p.get("kind", "")) for p in table["policies"]]
            raise unknown(f"sweep.{path}: the policy", kind, kinds)
        for policy in found:
            policy[option] = value
    elif rest:
        section = table.setdefault(first, {"kind": "gaussian"} if first == "family" else {})
        if not isinstance(section, dict):
            raise ArmatureError(f"sweep.{path}: {first!r} is not a section of the file.")
        section[rest] = value
    else:
        table[first] = value
