"""The folder of a plan: whose it is, what is in it, and what has to be made again.

    experiment.json   what the folder is for, of which results the other files were made, and a
                      checksum of these
    parts/            finished runs, each file named by all that its numbers depend on
    results.parquet   the runs of all policies, put together: `Results.load` reads it
    summary.csv       a row for each policy
    regret.png        a picture

That is a simulation's; an identification's are called `identification.json`, `.parquet`, `.csv` and
`.png`. The parts are what lasts: everything else is made from them, and made again when it is
missing, damaged, or was made from something else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from armature.errors import ArmatureError
from armature.experiments.plan import Plan
from armature.experiments.runs import AllRuns, read_file
from armature.storage.files import read_text, remove_leftovers, write_text

if TYPE_CHECKING:
    import pandas as pd

F = TypeVar("F", bound=AllRuns[Any])
Say = Callable[[str], None]


class PlanFolder(Generic[F]):
    """A folder that is claimed for a plan.

    A folder of another problem is refused; the same problem with other policies or repetitions is
    the same experiment, extended.
    """

    def __init__(self, path: Path, plan: Plan[Any, F], say: Say) -> None:
        self._path, self._plan, self._say = path, plan, say
        self._note = plan.description()
        self._stored: dict[str, Any] | None = None  # what the results in the file are of, if known
        self._made = self._claim()
        path.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path)
        self._write_note()

    def results(self) -> F | None:
        """The results that are asked for, where they are there and of the code that is running."""
        found = self._read_results()
        if found is None:
            return None
        (about, frame), now = found, as_read(self._plan.about())
        if about == now:
            return self._plan.read(about, frame)
        names = list(dict.fromkeys(frame["policy"]))
        before = dict(zip(names, about.get("keys", [None] * len(names)), strict=True))
        keys = self._plan.origin.keys
        changed = [name for name in keys if name in before and before[name] != keys[name]]
        if changed:
            self._say(
                f"{', '.join(changed)}: the code or a default has changed since "
                f"{str(self._path / self._plan.files.results)!r} was written (by Armature "
                f"{about['armature']}): run again."
            )
        return None

    def write(self, results: AllRuns[Any], picture: bool) -> None:
        """Write the results, the table and the picture where they are not there."""
        about, files = as_read(results.about()), self._plan.files
        if self._stored != about:
            results.save(self._path / files.results)
            self._stored = about
        of = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
        if self._lacks(files.table, of):
            summary = results.summary().drop(columns="us_per_round")
            write_text(self._path / files.table, summary.to_csv(lineterminator="\n"))
            self._note_made(files.table, of)
        if picture and self._lacks(files.picture, of):
            results.plot(self._path / files.picture)
            self._note_made(files.picture, of)

    def _lacks(self, name: str, of: str) -> bool:
        """True if a file is missing, made from other results, or not as it was written."""
        return self._made.get(name) != _mark(self._path / name, of)

    def _note_made(self, name: str, of: str) -> None:
        self._made[name] = _mark(self._path / name, of)
        self._write_note()

    def _write_note(self) -> None:
        text = json.dumps({**self._note, "made": self._made}, indent=1) + "\n"
        path = self._path / self._plan.files.note
        if not path.is_file() or path.read_bytes() != text.encode():
            write_text(path, text)

    def _read_results(self) -> tuple[dict[str, Any], pd.DataFrame] | None:
        path = self._path / self._plan.files.results
        self._stored = None
        if not path.is_file():
            return None
        try:
            about, frame = read_file(path, self._plan.kind)
        except ArmatureError as error:
            self._say(f"{error} It is made again from the finished runs that are there.")
            return None
        self._stored = {key: value for key, value in about.items() if key != "version"}
        return self._stored, frame

    def _claim(self) -> dict[str, str]:
        """Check that the folder is free or this plan's; what was made, from which results."""
        _, *written = self._plan.files
        path, fixed = self._path / self._plan.files.note, self._plan.fixed
        note = _read_note(path, fixed)
        if note is not None:
            if not _agree(note, as_read(self._note), fixed):
                raise another(self._path)
            return dict(note.get("made", {}))
        found = self._read_results()
        if found is not None:
            about = as_read(self._plan.about())
            if not _agree(found[0], about, fixed):
                raise another(self._path)
        elif any((self._path / name).exists() for name in written):
            if not path.exists():
                raise another(self._path)
            raise damaged(path, written)
        if path.exists():
            self._say(f"{str(path)!r} was damaged: it is written again.")
        return {}


def holds(path: Path, plan: Plan[Any, Any]) -> bool:
    """True if a folder's note is for this plan: for its policies, or for some more or fewer."""
    note = _read_note(path / plan.files.note, plan.fixed)
    asked = as_read(plan.description())
    if note is None or not _agree(note, asked, plan.fixed):
        return False
    there, wanted = ({json.dumps(one) for one in of.get("policies", ())} for of in (note, asked))
    return there <= wanted or wanted <= there


def _read_note(path: Path, fixed: Sequence[str]) -> dict[str, Any] | None:
    """The note in a folder; None if it is missing or can't be read."""
    if not path.is_file():
        return None
    try:
        note = json.loads(read_text(path))
    except (ArmatureError, FileNotFoundError, ValueError, RecursionError):
        return None
    whole = isinstance(note, dict) and ("sweep" in note or all(key in note for key in fixed))
    return note if whole and isinstance(note.get("made", {}), dict) else None


def _agree(found: dict[str, Any], asked: dict[str, Any], fixed: Sequence[str]) -> bool:
    """True if the settings agree that a folder can't be extended by."""
    same = all(found.get(key) == asked[key] for key in fixed)
    return same and found.get("margin") == asked.get("margin")  # which few have


def _mark(path: Path, of: str) -> str:
    """From which results a file was made, and what is in it; nothing where it is no file."""
    if not path.is_file():
        return ""
    return f"{of} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"


def claim_folder(out: Path, note: str, text: str, written: Sequence[str]) -> None:
    """Write into the file `note` of a folder what the folder is for: a line of text, or JSON.

    A folder for something else is refused, and so is one without a note that has files which would
    be `written`. A note that was cut off is completed.
    """
    path = out / note
    found = read_text(path) if path.is_file() else None
    if found is None and any((out / name).exists() for name in written):
        found = "other results\n"
    if found is not None and not text.startswith(found):
        raise damaged(path, written) if _is_broken_json(path, found) else another(out)
    out.mkdir(parents=True, exist_ok=True)
    remove_leftovers(out)
    if found != text:
        write_text(path, text)


def _is_broken_json(path: Path, text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return path.suffix == ".json" and path.is_file()
    return False


def damaged(note: Path, beside: Sequence[str]) -> ArmatureError:
    """An error for a folder whose note is damaged."""
    return ArmatureError(
        f"{str(note)!r} is damaged, so it is unknown what the folder is for: choose "
        f"another folder for --out, or delete that file and, beside it, {', '.join(beside)} "
        "(finished runs, in the folder of parts, are still used)."
    )


def as_read(value: dict[str, Any]) -> dict[str, Any]:
    """Plain data as it is after it was written to JSON and read."""
    return dict(json.loads(json.dumps(value)))


def another(out: Path) -> ArmatureError:
    """An error for a folder that is not for this."""
    return ArmatureError(
        f"{str(out)!r} holds another experiment: choose another folder for --out, or delete it."
    )
