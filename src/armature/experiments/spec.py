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
rewards are Gaussian with sigma 1. With `strict = false` the means need not be in the structure (a
problem in which it is wrong). With `changes = [[5000, [...]], ...]` the means are other ones from
those rounds on. In a table of segments means are a list for each segment, and `frequencies` say how
often they arrive. What makes an experiment of it (`experiment.py`) is written above the first
section or in a section [experiment] anywhere. The file is UTF-8 on every machine.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np

from armature.errors import ArmatureError, unknown
from armature.storage.files import read_text
from armature.storage.registry import FAMILIES, STRUCTURES, Allowed, as_table, build, with_arms
from armature.structures.changing import instance_of
from armature.structures.instance import Instance

KEYS = ("title", "means", "changes", "theta", "frequencies", "strict", "structure", "family")
MOST_ARMS = 1_000_000
EXPERIMENT_KEYS = ("horizon", "repetitions", "seed", "policies", "sweep")


def shipped_specs(kind: Literal["panels", "examples"]) -> dict[str, str]:
    """The problems that come with the package, by name: the paper's panels, and an example each."""
    folder = resources.files("armature.experiments") / kind
    files = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return {entry.name.removesuffix(".toml"): entry.read_text("utf-8") for entry in files}


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
    shipped = shipped_specs("panels") | shipped_specs("examples")
    if str(spec) in shipped and not path.is_file():
        return shipped[str(spec)]
    if path.is_dir():
        raise ArmatureError(f"{str(spec)!r} is a folder: give the path of a TOML file.")
    if not path.exists():
        if path.suffix == ".toml" or path.name != str(spec):
            raise ArmatureError(f"there is no file {str(spec)!r}.")
        raise unknown(f"there is no file {str(spec)!r}, and the problem", str(spec), shipped)
    return read_text(path)


def parse_table(text: str) -> dict[str, Any]:
    """The entries of a TOML file; those of [experiment] count as if they were at its top."""
    try:
        table = tomllib.loads(text)
    except ValueError as error:  # a number of thousands of digits is one as well
        raise ArmatureError(f"this is not TOML: {error}.") from None
    except RecursionError:
        raise ArmatureError("this TOML can't be read: it is nested too deeply.") from None
    _check_integers("", table)
    experiment = table.pop("experiment", {})
    if not isinstance(experiment, dict):
        raise ArmatureError("experiment must be a section: write [experiment], and its keys below.")
    for key, value in experiment.items():
        if key not in EXPERIMENT_KEYS:
            raise unknown(f"experiment.{key}: the key", key, EXPERIMENT_KEYS)
        if key in table:
            raise ArmatureError(f"{key} is given twice: at the top and in [experiment].")
        table[key] = value
    for key in table:
        if key not in KEYS and key not in EXPERIMENT_KEYS:
            raise unknown("the key", key, (*KEYS, *EXPERIMENT_KEYS))
    for name in ("structure", "family"):
        _check_places(name, table.get(name))
    return table


def _check_integers(path: str, value: Any) -> None:
    """TOML's whole numbers have 64 bits; Python's reader takes any."""
    if isinstance(value, dict):
        for key, entry in value.items():
            _check_integers(f"{path}.{key}" if path else key, entry)
    elif isinstance(value, list):
        for entry in value:
            _check_integers(path, entry)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ArmatureError(f"{path}: a whole number of TOML has no more than 64 bits.")


def parse_instance(text: str, allow: Allowed = ()) -> Instance:
    """The instance that the text of a TOML file describes."""
    return parse_instance_table(parse_table(text), allow)


def parse_instance_table(table: dict[str, Any], allow: Allowed = ()) -> Instance:
    """The instance that a table describes."""
    if "structure" not in table:
        raise ArmatureError("there is no [structure]: give one, such as kind = 'unimodal'.")
    arguments = as_table(STRUCTURES, "structure", table["structure"])
    family = build(FAMILIES, "family", table.get("family", "gaussian"), allow)
    means = _means(table, arguments)
    n_arms = len(means[0]) if means and isinstance(means[0], list) else len(means)
    arguments = with_arms(arguments, n_arms, "structure", allow)
    structure = build(STRUCTURES, "structure", arguments, allow)
    strict, frequencies = table.get("strict", True), table.get("frequencies")
    return instance_of(structure, means, table.get("changes"), family, strict, frequencies)


def _check_places(name: str, section: Any) -> None:
    """Refuse keys of the file's top that stand below a section's name."""
    if not isinstance(section, dict) or ":" in str(section.get("kind", ":")):
        return  # a user's class has keys of its own
    for key in section:
        if key in KEYS or key in EXPERIMENT_KEYS:
            place = "above the first section of the file"
            place += ", or below [experiment]" * (key in EXPERIMENT_KEYS)
            raise ArmatureError(
                f"{name}.{key}: {key!r} is not a key of [{name}]. Write it {place}."
            )


def _means(table: dict[str, Any], structure: dict[str, Any]) -> list[Any]:
    means = table.get("means")
    if means is not None and "theta" in table:
        raise ArmatureError("means and theta are both given: theta makes means, so keep one.")
    if means is None and "theta" in table and "features" in structure:
        try:
            features, theta = (
                np.asarray(x, float) for x in (structure["features"], table["theta"])
            )
            with np.errstate(all="ignore"):  # what is beyond all numbers is refused as a mean
                return list((features @ theta).tolist())
        except (TypeError, ValueError):
            raise ArmatureError("theta must have one number for each feature.") from None
    if isinstance(means, dict):
        return one_good_arm(**_checked_keys(means))
    if means is None:
        raise ArmatureError("there are no means: give means = [...], one for each arm.")
    rows = means if isinstance(means, list) and means and isinstance(means[0], list) else [means]
    if not all(isinstance(row, list) and all(_is_number(mean) for mean in row) for row in rows):
        raise ArmatureError(f"means must be a list of numbers, one for each arm; got {means!r}.")
    found: list[Any] = means
    return found


def one_good_arm(n_arms: int, best: float, gap: float) -> list[float]:
    """Means with one good arm in the middle.

    >>> one_good_arm(4, 1.0, 0.5)
    [0.5, 0.5, 1.0, 0.5]
    """
    if isinstance(n_arms, bool) or not isinstance(n_arms, int) or n_arms < 2:
        raise ArmatureError(f"means.n_arms must be a whole number, at least 2; got {n_arms!r}.")
    if n_arms > MOST_ARMS:
        raise ArmatureError(f"means.n_arms must be at most {MOST_ARMS:,}.")
    for name, value in (("best", best), ("gap", gap)):
        if not _is_number(value):
            raise ArmatureError(f"means.{name} must be a number; got {value!r}.")
    return [best if k == n_arms // 2 else best - gap for k in range(n_arms)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _checked_keys(means: dict[str, Any]) -> dict[str, Any]:
    names = ("n_arms", "best", "gap")
    for key in means:
        if key not in names:
            raise unknown(f"means.{key}: the key", key, names)
    for name in names:
        if name not in means:
            raise ArmatureError(f"means needs the key {name!r}, or is a list of numbers.")
    return means
