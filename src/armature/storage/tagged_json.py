"""Python values as JSON and back, with nothing lost on the way.

JSON has no tuples, no infinities, no arrays and no keys but strings. What it does not have is
written as a table with one entry that says what it was:

    (1, "a")              {"tuple": [1, "a"]}
    inf                   {"float": "inf"}
    {3: "x"}              {"dict": [[3, "x"]]}
    np.zeros((0, 2))      {"array": {"type": "float64", "shape": [0, 2], "values": []}}

NumPy's scalars become Python's.

>>> encoded([np.int64(3), ("a", math.inf)])
[3, {'tuple': ['a', {'float': 'inf'}]}]
>>> decoded(_)
[3, ('a', inf)]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from armature.errors import ArmatureError

TAGS = ("tuple", "float", "dict", "array")
DTYPES = ("bool", "int64", "uint64", "float64")

Encode = Callable[[Any], Any]  # an object of another kind as plain data, or None: not known
Decode = Callable[[dict[str, Any]], Any]  # what a table without a tag stands for


def encoded(value: Any, other: Encode | None = None) -> Any:
    """The value as JSON can carry it; `other` is asked about objects that are not plain data."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [encoded(item, other) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encoded(item, other) for item in value]}
    if isinstance(value, np.ndarray):
        return {"array": _encoded_array(value)}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and not _is_tagged(value):
            return {key: encoded(item, other) for key, item in value.items()}
        return {"dict": [[encoded(k, other), encoded(v, other)] for k, v in value.items()]}
    found = None if other is None else other(value)
    if found is None:
        raise ArmatureError(
            f"{value!r} can't be written to a file: use numbers, strings, tuples, lists and dicts."
        )
    return found


def decoded(value: Any, table: Decode | None = None) -> Any:
    """Decode plain data; `table` is asked what other tables stand for."""
    if isinstance(value, list):
        return [decoded(item, table) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_tagged(value):
        ((tag, content),) = value.items()
        try:
            return _untagged(tag, content, table)
        except ArmatureError:
            raise
        except (TypeError, ValueError, KeyError):
            raise ArmatureError(
                f"{value!r} can't be read as a value of type {tag}, as it is written to files."
            ) from None
    if table is not None:
        return table(value)
    return {key: decoded(item) for key, item in value.items()}


def _is_tagged(value: dict[Any, Any]) -> bool:
    return len(value) == 1 and next(iter(value)) in TAGS


def _untagged(tag: str, content: Any, table: Decode | None) -> Any:
    if tag == "tuple":
        return tuple(decoded(list(content), table))
    if tag == "float":
        return float(content)
    if tag == "dict":
        return {decoded(key, table): decoded(item, table) for key, item in content}
    if content["type"] not in DTYPES:
        raise ArmatureError(f"an array of {content['type']!r} can't be read.")
    values = np.array(decoded(content["values"]), dtype=content["type"])
    return values.reshape(content["shape"])


def _encoded_array(array: Any) -> dict[str, Any]:
    name = str(array.dtype)
    if name not in DTYPES:
        raise ArmatureError(
            f"an array of {name} can't be written to a file: use one of {', '.join(DTYPES)}."
        )
    values = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        values = encoded(values)
    return {"type": name, "shape": list(array.shape), "values": values}
