"""The keys of a sweep: paths of entries that a run depends on."""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Iterator
from typing import Any

from armature.errors import ArmatureError
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, Allowed, Classes, class_named
from armature.storage.spelling import nearest

WHOLE = ("means", "theta", "structure", "family", "horizon", "repetitions", "seed")
SECTIONS = ("means", "structure", "family", "policies")
GENERATED = ("n_arms", "best", "gap")  # the entries of means that a file describes
MOST_POINTS = 100_000


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
