"""Assessing a log by a TOML file: what its columns are, the structure, what is planned.

    title = "Prices"
    horizon = 20_000               # rounds that are planned for
    traffic = 800                  # rounds a day
    unit = "euros"

    [log]                          # what the columns of the log are called
    arm = "price"
    reward = "margin"

    [structure]
    kind = "unimodal"

    [family]                       # Gaussian with a sigma that the log tells, unless given
    kind = "gaussian"
    sigma = "unknown"

    [[candidates]]                 # others to be compared; the usual ones unless given
    kind = "concave"

With a structure of kind "segments" (`each`, `coupling`), [log] may say what the column of segments
is called, and `names` are those of the log, unless given. `arms = [...]` names the arms in the
structure's order, where they are not numbers. `policies`, `draws`, `seed`, `delta` and `spread` are
the arguments of `am.assess`. The number of arms follows from the log; the other keys of a structure
are the arguments of its class.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from armature.assess.assess import assess
from armature.assess.assessment import Assessment
from armature.assess.compare import Progress
from armature.assess.log import read_table
from armature.assess.segments.assessment import SegmentedAssessment
from armature.assess.table import Columns, LogRows, Totals
from armature.errors import ArmatureError, unknown
from armature.storage.files import read_text
from armature.storage.registry import (
    FAMILIES,
    POLICIES,
    STRUCTURES,
    Allowed,
    as_table,
    build,
    with_arms,
)
from armature.structures import Structure

SETTINGS = ("horizon", "traffic", "unit", "draws", "seed", "delta", "margin", "spread")
KEYS = ("title", "arms", "log", "structure", "family", "candidates", "policies", *SETTINGS)


def assess_file(
    log: str | Path,
    spec: str | Path,
    *,
    columns: Mapping[str, str | None] | None = None,
    settings: Mapping[str, Any] | None = None,
    allow: Allowed = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> Assessment | SegmentedAssessment:
    """Assess a log as a TOML file says.

    `columns` and `settings` that are not None take the place of the file's. `allow` names the
    modules and packages from which the file may name classes.
    """
    path = Path(spec)
    if not path.is_file():
        raise ArmatureError(f"there is no file {str(spec)!r}.")
    table = parse_spec(read_text(path))
    named = _columns(table, columns or {})
    rows = read_table(log, named)
    arms = _arms(table)
    n_arms = len(rows.labels) if arms is None else len(arms)
    given = {key: table[key] for key in SETTINGS if key in table}
    given |= {key: value for key, value in (settings or {}).items() if value is not None}
    policies = table.get("policies")
    structure = as_table(STRUCTURES, "structure", table["structure"])
    if str(structure["kind"]).lower() == "segments" and "names" not in structure:
        structure["names"] = _segments(rows)
    return assess(
        rows,
        _structure(structure, "structure", n_arms, allow),
        build(FAMILIES, "family", table.get("family", {"kind": "gaussian", "sigma": None}), allow),
        arms=arms,
        candidates=_candidates(table, n_arms, allow),
        policies=None
        if policies is None
        else [build(POLICIES, "policies", one, allow) for one in _list(policies, "policies")],
        title=table.get("title", "Assessment"),
        workers=workers,
        progress=progress,
        **given,
    )


def parse_spec(text: str) -> dict[str, Any]:
    """The content of a TOML file; unknown keys are refused."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArmatureError(f"this is not TOML: {error}.") from None
    for key in table:
        if key not in KEYS:
            raise unknown("the key", key, KEYS)
    if "structure" not in table:
        raise ArmatureError("there is no [structure]: give one, such as kind = 'unimodal'.")
    return table


def _columns(table: dict[str, Any], options: Mapping[str, str | None]) -> Columns:
    section = table.get("log", {})
    if not isinstance(section, dict):
        raise ArmatureError(
            "log must be a section: write [log], and arm = ..., reward = ... below."
        )
    names = dict(vars(Columns()))
    keys = {"sum" if name == "total" else name: name for name in names}
    for key, value in section.items():
        if key not in keys:
            raise unknown(f"log.{key}: the key", key, keys)
        if not isinstance(value, str):
            raise ArmatureError(f"log.{key} must be the name of a column; got {value!r}.")
        names[keys[key]] = value
    names |= {key: value for key, value in options.items() if value is not None}
    return Columns(**names)


def _segments(rows: LogRows | Totals) -> list[Any]:
    """The segments of a log, in the order in which they come."""
    found = getattr(rows, "segments", None)
    if found is None:
        raise ArmatureError(f"{rows.name} has no column of segments: say [log], segment = ...")
    return list(found()[0])


def _arms(table: dict[str, Any]) -> list[Any] | None:
    arms = table.get("arms")
    if arms is None:
        return None
    plain = isinstance(arms, list) and all(isinstance(arm, (str, int, float)) for arm in arms)
    if not plain or len(arms) < 2:
        raise ArmatureError(f"arms must be a list of at least two names; got {arms!r}.")
    return list(arms)


def _structure(description: Any, section: str, n_arms: int, allow: Allowed) -> Structure:
    arguments = as_table(STRUCTURES, section, description)
    found: Structure = build(
        STRUCTURES, section, with_arms(arguments, n_arms, section, allow), allow
    )
    return found


def _candidates(table: dict[str, Any], n_arms: int, allow: Allowed) -> list[Structure] | None:
    given = table.get("candidates")
    if given is None:
        return None
    return [_structure(one, "candidates", n_arms, allow) for one in _list(given, "candidates")]


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ArmatureError(f"{name} must be a list; got {value!r}.")
    return value
