"""Reading a problem from a TOML file.

    means = [0.2, 0.4, 0.9, 0.7, 0.1]

    [structure]
    kind = "unimodal"

    [family]
    kind = "gaussian"
    sigma = 1.0

`means` may be left out for a linear structure with `theta`, or say { n_arms = 10, best = 1.0,
gap = 0.5 }: one arm in the middle is better than all others by a gap. The number of arms follows
from the means; the other keys of a structure are the arguments of its class. Without a family,
rewards are Gaussian with sigma 1.
"""

from __future__ import annotations

import inspect
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np

from armature.descriptions import (
    FAMILIES,
    STRUCTURES,
    Allowed,
    as_table,
    build,
    class_named,
    unknown,
)
from armature.errors import ArmatureError
from armature.instance import Instance

KEYS = ("title", "means", "theta", "structure", "family")
EXPERIMENT_KEYS = ("horizon", "repetitions", "seed", "policies", "sweep")


def shipped_specs(kind: Literal["panels", "examples"]) -> dict[str, str]:
    """The problems that come with the package, by name: the paper's panels, and an example each."""
    folder = resources.files("armature.experiments") / kind
    files = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return {entry.name.removesuffix(".toml"): entry.read_text() for entry in files}


def load_instance(spec: str | Path, allow: Allowed = ()) -> Instance:
    """The instance that a TOML file describes; `spec` is its path, or a shipped problem's name.

    `allow` names the modules and packages from which the file may name classes, as "module:Class".

    >>> load_instance("unimodal-1").means.tolist()
    [0.2, 0.4, 0.9, 0.7, 0.1]
    """
    return parse_instance(read_spec(spec), allow)


def read_spec(spec: str | Path) -> str:
    """The text of a file, or of a shipped problem."""
    path = Path(spec)
    if path.is_file():
        return path.read_text()
    shipped = shipped_specs("panels") | shipped_specs("examples")
    if str(spec) in shipped:
        return shipped[str(spec)]
    if path.suffix == ".toml":
        raise ArmatureError(f"there is no file {str(spec)!r}.")
    raise unknown("the problem", str(spec), shipped)


def parse_instance(text: str, allow: Allowed = ()) -> Instance:
    """The instance that the text of a TOML file describes."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArmatureError(f"this is not TOML: {error}.") from None
    for key in table:
        if key not in KEYS and key not in EXPERIMENT_KEYS:
            raise unknown("the key", key, KEYS)
    return parse_instance_table(table, allow)


def parse_instance_table(table: dict[str, Any], allow: Allowed = ()) -> Instance:
    """The instance that a table describes."""
    if "structure" not in table:
        raise ArmatureError("there is no [structure]: give one, such as kind = 'unimodal'.")
    arguments = as_table(STRUCTURES, "structure", table["structure"])
    family = build(FAMILIES, "family", table.get("family", "gaussian"), allow)
    means = table.get("means")
    if means is None and "theta" in table and "features" in arguments:
        try:
            means = np.asarray(arguments["features"], float) @ np.asarray(table["theta"], float)
        except (TypeError, ValueError):
            raise ArmatureError("theta must have one number for each feature.") from None
    if isinstance(means, dict):
        means = one_good_arm(**_checked_keys(means))
    if means is None:
        raise ArmatureError("there are no means: give means = [...], one for each arm.")
    if not isinstance(means, (list, np.ndarray)):
        raise ArmatureError(f"means must be a list of numbers; got {means!r}.")
    arguments = _with_arms(arguments, len(means), "structure", allow)
    return Instance(build(STRUCTURES, "structure", arguments, allow), means, family)


def _with_arms(table: dict[str, Any], n_arms: int, section: str, allow: Allowed) -> dict[str, Any]:
    """A structure's table with the number of arms, and those of the structures inside of it."""

    def fill(key: str, value: Any) -> Any:
        if isinstance(value, list):
            return [fill(key, item) for item in value]
        if isinstance(value, dict) and "kind" in value:
            return _with_arms(value, n_arms, f"{section}.{key}", allow)
        return value

    filled = {key: fill(key, value) for key, value in table.items()}
    cls = class_named(STRUCTURES, section, table["kind"], allow)
    if "n_arms" in inspect.signature(cls).parameters:
        filled.setdefault("n_arms", n_arms)
    return filled


def one_good_arm(n_arms: int, best: float, gap: float) -> list[float]:
    """Means with one good arm in the middle.

    >>> one_good_arm(4, 1.0, 0.5)
    [0.5, 0.5, 1.0, 0.5]
    """
    if isinstance(n_arms, bool) or not isinstance(n_arms, int) or n_arms < 2:
        raise ArmatureError(f"means.n_arms must be a whole number, at least 2; got {n_arms!r}.")
    return [best if k == n_arms // 2 else best - gap for k in range(n_arms)]


def _checked_keys(means: dict[str, Any]) -> dict[str, Any]:
    names = ("n_arms", "best", "gap")
    for key in means:
        if key not in names:
            raise unknown(f"means.{key}: the key", key, names)
    for name in names:
        if name not in means:
            raise ArmatureError(f"means needs the key {name!r}, or is a list of numbers.")
    return means
