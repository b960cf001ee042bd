"""Objects as plain data: {"kind": name, argument: value, ...}, for TOML and JSON files.

The one place where a word in a file becomes a class. A class of one's own is named by
"module:Class"; to be written to a file, it must keep its arguments as attributes of the same names.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np

from armature.errors import ArmatureError
from armature.families import Bernoulli, Exponential, Gaussian, Poisson
from armature.policies import (
    CATSE,
    IMED,
    KLUCB,
    MINTS,
    OSSB,
    OSUB,
    UCB,
    Challenger,
    EndOfOptimism,
    LinUCB,
    ProjectedThompson,
    SparseUCB,
    SPk,
    SPLambda,
    StructuredUCB,
    ThompsonSampling,
)
from armature.structures import (
    Box,
    Categorised,
    Concave,
    Linear,
    Lipschitz,
    Monotone,
    Multimodal,
    Polyhedral,
    Simplex,
    Sparse,
    Unconstrained,
    Unimodal,
    UnimodalTree,
)

Classes = dict[str, type[Any]]


def _by_name(*classes: type[Any]) -> Classes:
    return {cls.__name__.lower(): cls for cls in classes}


FAMILIES = _by_name(Gaussian, Bernoulli, Poisson, Exponential)
STRUCTURES = _by_name(
    Unconstrained,
    Unimodal,
    Categorised,
    Sparse,
    Linear,
    Lipschitz,
    Concave,
    Simplex,
    Polyhedral,
    Box,
    Monotone,
    Multimodal,
    UnimodalTree,
)
POLICIES = _by_name(
    SPk,
    SPLambda,
    OSSB,
    UCB,
    KLUCB,
    StructuredUCB,
    LinUCB,
    CATSE,
    EndOfOptimism,
    OSUB,
    SparseUCB,
    ThompsonSampling,
    IMED,
    ProjectedThompson,
    MINTS,
    Challenger,
)


def unknown(what: str, name: str, known: Iterable[str]) -> ArmatureError:
    """An error for a word that is not known, with the nearest one that is."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}."
    return ArmatureError(f"{what} {name!r} is unknown: {hint}")


def class_named(classes: Classes, section: str, kind: str) -> type[Any]:
    """The class of a name, or of "module:Class"."""
    if ":" in kind:
        module, _, name = kind.partition(":")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ArmatureError(f"{section}.kind: {kind!r} can't be imported: {error}.") from None
        if not isinstance(found, type):
            raise ArmatureError(f"{section}.kind: {kind!r} is not a class.")
        return found
    if kind.lower() not in classes:
        raise unknown(f"{section}.kind", kind, classes)
    return classes[kind.lower()]


def build(classes: Classes, section: str, description: dict[str, Any]) -> Any:
    """Make an object of the class that `kind` names from the other entries."""
    arguments = dict(description)
    if "kind" not in arguments:
        raise ArmatureError(f"[{section}] has no kind: it can be {', '.join(classes)}.")
    kind = str(arguments.pop("kind"))
    cls = class_named(classes, section, kind)
    parameters = inspect.signature(cls).parameters
    for key in arguments:
        if key not in parameters:
            raise unknown(f"{section}.{key}: the key", key, parameters)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in arguments:
            raise ArmatureError(f"[{section}] of kind {kind!r} needs the key {name!r}.")
    try:
        return cls(**arguments)
    except TypeError as error:
        raise ArmatureError(f"[{section}] of kind {kind!r}: {error}.") from None


def describe(classes: Classes, value: Any) -> dict[str, Any]:
    """What `build` makes an equal object from."""
    cls = type(value)
    name = cls.__name__
    kind = name if classes.get(name.lower()) is cls else f"{cls.__module__}:{cls.__qualname__}"
    description: dict[str, Any] = {"kind": kind}
    for parameter in inspect.signature(cls).parameters.values():
        if not hasattr(value, parameter.name):
            raise ArmatureError(
                f"{cls.__name__} can't be written to a file: it has no attribute "
                f"{parameter.name!r}, as its argument is called."
            )
        argument = _plain(getattr(value, parameter.name))
        if parameter.default is parameter.empty or argument != _plain(parameter.default):
            description[parameter.name] = argument
    return description


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
