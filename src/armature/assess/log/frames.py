"""Logs in memory and in Parquet files: data frames, pairs of arm and reward, counts and sums."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armature.assess.log.csv_file import read_columns, stripped
from armature.assess.log.table import Columns, Table, Totals
from armature.errors import ArmatureError
from armature.kernels.arrays import Floats

SUMMARY = ("counts", "sums", "squares")


def read_parquet(path: Path, columns: Columns) -> Table | Totals:
    """The log in a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            kept = [name for name in dict.fromkeys(vars(columns).values()) if name in names]
            table = file.read(columns=kept)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ArmatureError(
            f"{str(path)!r} is no Parquet file that can be read: {reason}."
        ) from None
    reader = _Frame(table.to_pandas(), repr(str(path)))
    reader.frame.columns = kept
    return read_columns(reader, names, columns)


def read_frame(frame: Any, columns: Columns) -> Table | Totals:
    """A data frame: pandas', or another with columns of numbers and `to_pandas`."""
    if hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    return read_columns(_Frame(frame, "the log"), [str(c) for c in frame.columns], columns)


def read_pairs(pairs: Iterable[Any]) -> Table | Totals:
    """Pairs of arm and reward."""
    import pandas as pd

    rows = []
    for number, row in enumerate(pairs):
        pair = isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, (str, bytes))
        if not pair or len(row) != 2:
            raise ArmatureError(f"log[{number}] = {row!r} is not a pair: an arm and a reward.")
        rows.append(tuple(row))
    return read_frame(pd.DataFrame(rows, columns=["arm", "reward"]), Columns())


def read_summary(summary: Mapping[str, Any]) -> Totals:
    """{"counts": ..., "sums": ..., "squares": ...}, each a list, or a mapping from arms."""
    for key in summary:
        if key not in SUMMARY:
            raise ArmatureError(f"log has no entry {key!r}: it can have {', '.join(SUMMARY)}.")
    for key in SUMMARY[:2]:
        if key not in summary:
            raise ArmatureError(f"log needs {key!r}, a number for each arm.")
    counts = summary["counts"]
    labels: list[Hashable] = list(counts) if isinstance(counts, Mapping) else []
    if not labels:
        labels = list(range(len(counts)))
    found = [
        _vector(summary[key], labels, f"log[{key!r}]") if summary.get(key) is not None else None
        for key in SUMMARY
    ]
    assert found[0] is not None
    assert found[1] is not None
    return Totals(
        labels, found[0], found[1], found[2], lambda row: f"arm {labels[row]!r}", "the log"
    )


def _vector(values: Any, labels: list[Hashable], name: str) -> Floats:
    if isinstance(values, Mapping):
        strange = [label for label in values if label not in labels]
        if strange:
            raise ArmatureError(f"{name} has {strange[0]!r}, which log['counts'] has not.")
        values = [values.get(label, 0.0) for label in labels]
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArmatureError(f"{name} must be numbers; got {values!r}.") from None
    if vector.shape != (len(labels),):
        raise ArmatureError(
            f"{name} must be {len(labels)} numbers, one for each arm; got an array of shape "
            f"{vector.shape}."
        )
    return vector


class _Frame:
    """A table in memory, whose rows are counted from 0."""

    def __init__(self, frame: Any, name: str) -> None:
        self.frame, self.name = frame, name

    def where(self, row: int) -> str:
        """A row, by its number."""
        return f"row {row}"

    def read(self, arm: str, wanted: list[str], may_lack: str = "") -> tuple[Any, Any, Any]:
        """Different arms, which of them each row has, and columns of numbers."""
        import pandas as pd

        codes, labels = pd.factorize(self.frame[arm])
        if (codes < 0).any():
            raise ArmatureError(
                f"{self.name}, {self.where(int((codes < 0).argmax()))}: {arm!r} is empty, where an "
                "arm is needed."
            )
        plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
        numbers = {key: self._numbers(key) for key in wanted}
        return *stripped(plain, codes.astype(np.int64)), numbers

    def _numbers(self, key: str) -> Floats:
        column = self.frame[key]
        try:
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError):
            pass
        for row, value in enumerate(column.tolist()):
            try:
                if isinstance(value, str):
                    raise TypeError
                float(value)
            except (TypeError, ValueError):
                raise ArmatureError(
                    f"{self.name}, {self.where(row)}: {key!r} is {value!r}, where a number is "
                    "needed."
                ) from None
        raise ArmatureError(f"{self.name}: the column {key!r} is not one of numbers.")
