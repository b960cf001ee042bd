"""Reading logs, in files and in memory: they become `LogRows` or `Totals`.

CSV files are read by Arrow. Where that fails they are read line by line to name the bad line. Both
readers accept the same: a header, as many fields in each line as in the header, numbers as
computers write them. Empty lines are skipped. The delimiter is a comma, a semicolon or a tab,
whichever the header has most of.
"""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armature.assess.table import Columns, LogRows, Totals, check_labels
from armature.errors import ArmatureError, unknown
from armature.kernels.arrays import Floats

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
HEADER = 1 << 16  # bytes in which a header ends
DELIMITERS = ",;\t"


def read_csv(path: Path, columns: Columns) -> LogRows | Totals:
    """The log in a file."""
    header, delimiter = _header(path)
    return read_columns(_Reader(path, delimiter, header), header, columns)


def read_columns(reader: Any, header: Sequence[str], columns: Columns) -> LogRows | Totals:
    """Decide by its columns whether a log has rewards or sums."""
    name = reader.name
    twice = next((one for i, one in enumerate(header) if one in header[:i]), None)
    if twice is not None:
        raise ArmatureError(f"{name}: two columns are called {twice!r}.")
    summed = columns.reward not in header and columns.count in header and columns.total in header
    needed = [columns.arm, *([] if summed else [columns.reward])]
    for one in needed:
        if one not in header:
            problem = unknown(f"{name} has the columns {', '.join(map(repr, header))}; the column",
                              one, header)  # fmt: skip
            raise problem
    if summed:
        wanted = [columns.count, columns.total]
        wanted += [columns.squares] if columns.squares in header else []
        labels, codes, numbers = reader.read(columns.arm, wanted)
        return _totals(reader, labels, codes, numbers, columns)
    wanted = [columns.reward]
    wanted += [columns.probability] if columns.probability in header else []
    labels, codes, numbers = reader.read(columns.arm, wanted, may_lack=columns.probability)
    check_labels(labels, name, columns.arm)
    probabilities = numbers.get(columns.probability)
    if probabilities is not None and np.isnan(probabilities).all():
        probabilities = None
    segments = None
    if columns.segment in header:
        segments = functools.partial(_segments, reader, columns.segment)
    return LogRows(
        labels, codes, numbers[columns.reward], probabilities, reader.where, name, segments
    )


def _segments(reader: Any, column: str) -> tuple[list[Hashable], Any]:
    """The different segments, and which of them is in each row."""
    labels, codes, _ = reader.read(column, [])
    check_labels(labels, reader.name, column, "segments")
    return labels, codes


def _totals(reader: Any, labels: Any, codes: Any, numbers: Any, columns: Columns) -> Totals:
    if len(labels) < codes.size:
        at = next(i for i in range(codes.size) if codes[i] in codes[:i])
        raise ArmatureError(
            f"{reader.name}, {reader.where(at)}: the arm {labels[codes[at]]!r} has a line before."
        )
    order = np.argsort(codes)
    found = {key: column[order] for key, column in numbers.items()}
    squares = found.get(columns.squares)
    return Totals(
        labels, found[columns.count], found[columns.total], squares, reader.where, reader.name
    )


def _header(path: Path) -> tuple[list[str], str]:
    """The names of the columns, and what is between them."""
    with path.open("rb") as file:
        start = file.read(HEADER)
    if not start.strip():
        raise ArmatureError(f"{str(path)!r} is empty: a log begins with a line of column names.")
    if b"\0" in start:
        raise ArmatureError(f"{str(path)!r} is no text: it has a zero byte. {_kinds()}")
    first = start.splitlines()[0]
    try:
        text = first.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArmatureError(
            f"{str(path)!r}, line 1: not UTF-8 (byte {error.start}). {_kinds()}"
        ) from None
    delimiter = max(DELIMITERS, key=text.count)
    return [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])], delimiter


def _kinds() -> str:
    return "A log is a CSV file in UTF-8, or a Parquet file."


class _Reader:
    """A CSV file."""

    def __init__(self, path: Path, delimiter: str, header: list[str]) -> None:
        self.path, self.delimiter, self.header = path, delimiter, header
        self.name = repr(str(path))

    def read(self, arm: str, wanted: list[str], may_lack: str = "") -> tuple[Any, Any, Any]:
        """Different arms, which of them each row has, and columns of numbers."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = {arm: pa.dictionary(pa.int32(), pa.string()), **dict.fromkeys(wanted, pa.float64())}
        try:
            table = arrow_csv.read_csv(
                self.path,
                read_options=arrow_csv.ReadOptions(column_names=self.header, skip_rows=1),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=[arm, *wanted],
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            raise self._explained(arm, wanted, may_lack, str(error)) from None
        if any(table[key].null_count for key in (arm, *wanted) if key != may_lack):
            raise self._explained(arm, wanted, may_lack, "a field is empty")
        arms = table[arm].unify_dictionaries().combine_chunks()
        if isinstance(arms, pa.ChunkedArray):
            arms = (
                pa.chunked_array([], type=arms.type).combine_chunks()
                if not arms.num_chunks
                else arms.chunk(0)
            )
        numbers = {key: table[key].to_numpy() for key in wanted}
        codes = arms.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        labels, codes = stripped(arms.dictionary.to_pylist(), codes)
        if "" in labels:
            raise self._explained(arm, wanted, may_lack, "an arm is empty")
        return labels, codes, numbers

    def where(self, row: int) -> str:
        """The line in which a row begins."""
        for number, (line, _) in enumerate(self._rows()):
            if number == row:
                return f"line {line}"
        return f"row {row}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows, and the line in which each begins; of a file that is no text, up to there."""
        content = self.path.read_bytes()
        text = content.decode("utf-8-sig", errors="surrogateescape")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter)
        line = 1
        for number, fields in enumerate(reader):
            if number and fields:
                yield line, fields
            line = reader.line_num + 1

    def _explained(self, arm: str, wanted: list[str], may_lack: str, why: str) -> ArmatureError:
        """The line that can't be read, and what is wrong with it."""
        try:
            for line, fields in self._rows():
                problem = self._problem(fields, arm, wanted, may_lack)
                if problem is not None:
                    return ArmatureError(f"{self.name}, line {line}: {problem}")
        except csv.Error as error:
            return ArmatureError(f"{self.name} can't be read: {error}.")
        return ArmatureError(f"{self.name} can't be read: {why}.")

    def _problem(self, fields: list[str], arm: str, wanted: list[str], may_lack: str) -> str | None:
        if any("\udc80" <= c <= "\udcff" for field in fields for c in field):
            return f"not UTF-8. {_kinds()}"
        if len(fields) != len(self.header):
            return f"{len(fields)} fields, where the header has {len(self.header)}."
        values = dict(zip(self.header, fields, strict=True))
        if not values[arm].strip():
            return f"{arm!r} is empty, where a name is needed."
        for key in wanted:
            text = values[key].strip()
            if not NUMBER.fullmatch(text) and not (key == may_lack and not text):
                shown = text if len(text) <= 40 else text[:37] + "..."
                return f"{key!r} is {shown!r}, where a number is needed."
        return None


def stripped(labels: list[Any], codes: Any) -> tuple[list[Any], Any]:
    """Labels without the blanks around them, each once."""
    bare = [label.strip() if isinstance(label, str) else label for label in labels]
    different = list(dict.fromkeys(bare))
    if len(different) == len(labels):
        return bare, codes
    places = {label: i for i, label in enumerate(different)}
    return different, np.array([places[label] for label in bare], dtype=np.int64)[codes]


SUMMARY = ("counts", "sums", "squares")


def read_parquet(path: Path, columns: Columns) -> LogRows | Totals:
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
    reader = _DataFrame(table.to_pandas(), repr(str(path)))
    reader.frame.columns = kept
    return read_columns(reader, names, columns)


def read_frame(frame: Any, columns: Columns) -> LogRows | Totals:
    """A data frame: pandas', or another with columns of numbers and `to_pandas`."""
    if hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    return read_columns(_DataFrame(frame, "the log"), [str(c) for c in frame.columns], columns)


def read_pairs(pairs: Iterable[Any]) -> LogRows | Totals:
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


class _DataFrame:
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
