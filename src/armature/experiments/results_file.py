"""Results in a Parquet file: a tidy table, and beside it what the numbers are of.

The table can be read by anything that reads Parquet. What it is about is JSON in the metadata, with
a checksum of both.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armature.errors import ArmatureError
from armature.rounds.record import MOST_TRACED
from armature.storage.files import checked_path, replacing
from armature.storage.sealed import checksum

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "armature results"
VERSION = 2  # since 2, what JSON does not have is written as `armature.storage.tagged_json` says
READABLE = (1, 2)  # versions of the format
SIMULATION = "simulation"  # what a table is of, if it does not say; its columns, and their types
COLUMNS = {
    SIMULATION: {"repetition": int, "round": int, "regret": float, "explored": int},
    "identification": {
        "repetition": int,
        "delta": float,
        "rounds": int,
        "arm": int,
        "statistic": float,
    },
}


def n_traced(n_arms: int) -> int:
    """Of how many arms a file has the pulls: of all, unless they are too many for columns."""
    return n_arms if n_arms <= MOST_TRACED else 0


def write_file(path: str | os.PathLike[str], about: dict[str, Any], frame: pd.DataFrame) -> None:
    """Write a table and what it is about."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    note = {"format": FORMAT, "version": VERSION, **about}
    note["checksum"] = _checksum(note, frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({FORMAT: json.dumps(note)})
    with replacing(path) as beside:
        pq.write_table(table, beside, write_page_checksum=True)


def read_file(
    path: str | os.PathLike[str], kind: str = SIMULATION
) -> tuple[dict[str, Any], pd.DataFrame]:
    """What a file is about and its table, both as they were written; refused if they are not.

    `kind` is what the results must be of. `version` in what it is about is that of the format.
    """
    import pyarrow.parquet as pq

    name = str(checked_path(path))
    if not Path(name).is_file():
        raise ArmatureError(f"there is no file {name!r}.")
    # A damaged file makes the reader fail in a dozen ways, so that every failure is taken for one.
    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read()
        text = (table.schema.metadata or {}).get(FORMAT.encode())
        note = None if text is None else dict(json.loads(text))
        frame = table.to_pandas()
    except PermissionError:
        raise ArmatureError(f"{name!r} can't be read: its permissions forbid it.") from None
    except Exception as error:
        raise _damaged(name, f"it can't be read ({' '.join(str(error).split())[:200]})") from None
    if note is None:
        raise ArmatureError(f"{name!r} is not a file of results.")
    if note.get("version") not in READABLE:
        raise ArmatureError(
            f"{name!r} has version {note.get('version')!r} of the format; this release of "
            f"Armature reads {' and '.join(map(str, READABLE))}."
        )
    found = note.get("kind", SIMULATION)
    if found != kind:
        raise ArmatureError(f"{name!r} has the results of another kind of runs: {found}.")
    if not _has_the_columns(note, frame):
        raise _damaged(name, "its columns are not those that were written")
    if note.pop("checksum", None) != _checksum(note, frame):
        raise _damaged(name, "its checksum does not match")
    return {key: note[key] for key in note if key != "format"}, frame


def _damaged(name: str, why: str) -> ArmatureError:
    return ArmatureError(
        f"{name!r} is damaged, it was cut off or changed: {why}. Simulate again, or restore it "
        "from a copy."
    )


def _has_the_columns(note: dict[str, Any], frame: pd.DataFrame) -> bool:
    means = note.get("means")
    kind = note.get("kind", SIMULATION)
    n_arms = len(means) if isinstance(means, list) else 0
    arms = [f"pulls_{k}" for k in range(n_traced(n_arms) if kind == SIMULATION else n_arms)]
    kinds = {**COLUMNS[kind], **dict.fromkeys(arms, int)}
    if list(frame.columns) != ["policy", *kinds]:
        return False
    if any(frame[column].dtype != np.dtype(of) for column, of in kinds.items()):
        return False
    return all(isinstance(name, str) for name in frame["policy"])


def _checksum(note: dict[str, Any], frame: pd.DataFrame) -> str:
    return checksum(note, *(_column(name, frame[name]) for name in frame.columns))


def _column(name: str, values: pd.Series) -> bytes:
    if name == "policy":
        return "\n".join(values).encode()
    return np.ascontiguousarray(values.to_numpy()).tobytes()
