"""Files that are nearly right: valid tables with an entry that is wrong, missing or too many."""

from __future__ import annotations

import copy
import datetime
import json
import math
from random import Random
from typing import Any

ARRAY = {"type": "float64", "shape": [2], "values": [1, 2]}
WRONG: list[Any] = [
    "x", "", "unimodal", "\0", "a" * 3000, -3, 0, 1, 2**63 - 1, 1.5, -0.0, 1e-320, -1e308, 1e308,
    math.nan, math.inf, True, [], [[]], ["a"], [1, 2], [[1, 2], [3]], [1.0, 2.0, 3.0], [[[[1]]]],
    {}, [{}], datetime.date(2020, 1, 1), {"kind": "ucb"}, {"kind": 3}, {"kind": "gaussian"},
    {"kind": "unimodal"}, {"kind": "unimodal", "n_arms": 3}, {"kind": "json:loads"},
    {"tuple": [1, 2]}, {"tuple": 3}, {"float": "inf"}, {"float": [1]}, {"dict": [[1, 2]]},
    {"dict": [[[1], 2]]}, {"array": ARRAY}, {"array": {**ARRAY, "shape": [10**9]}},
    {"array": {**ARRAY, "shape": "x", "values": {}}}, {"array": {}},
]  # fmt: skip
KEYS = ("kind", "n_arms", "sigma", "x", "", "means", "a.b", "policies", "structure", "horizon")


def mutated(table: dict[str, Any], seed: int) -> dict[str, Any]:
    """A copy with one or two entries, at any depth, that are replaced, deleted or added."""
    rng, table = Random(seed), copy.deepcopy(table)
    for _ in range(rng.choice((1, 1, 1, 2))):
        places = _places(table)
        if not places:
            break
        inside, key = rng.choice(places)
        deed, wrong = rng.random(), copy.deepcopy(rng.choice(WRONG))
        if deed < 0.75:
            inside[key] = wrong
        elif deed < 0.85:
            del inside[key]
        elif isinstance(inside, dict):
            inside[rng.choice(KEYS)] = wrong
        else:
            inside.insert(0, wrong)
    return table


def _places(value: Any) -> list[tuple[Any, Any]]:
    """All entries of all tables and lists: what they are in, and where."""
    entries: list[tuple[Any, Any]] = []
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            entries += [(value, key), *_places(value[key])]
    return entries


def as_toml(table: dict[str, Any]) -> str:
    """A table as text: inline, whatever is in it."""

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            entries = (f"{json.dumps(k)} = {inline(v)}" for k, v in value.items())
            return "{" + ", ".join(entries) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(inline, value)) + "]"
        if isinstance(value, datetime.date):
            return str(value)
        text = json.dumps(value)
        return text if isinstance(value, str) else text.lower().replace("infinity", "inf")

    return "\n".join(f"{json.dumps(key)} = {inline(value)}" for key, value in table.items()) + "\n"
