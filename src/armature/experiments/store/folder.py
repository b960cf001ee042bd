"""The folder of an experiment: whose it is, what is in it, and what has to be made again.

    experiment.json   what the folder is for, of which results the other files were made, and a
                      checksum of these
    parts/            finished runs, each file named by all that its numbers depend on
    results.parquet   the runs of all policies, put together: `Results.load` reads it
    summary.csv       a row for each policy
    regret.png        a picture

The parts are what lasts: everything else is made from them, and made again when it is missing,
damaged, or was made from something else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armature.errors import ArmatureError
from armature.experiments import Results
from armature.experiments.store.results_file import read_file
from armature.policies import Policy
from armature.storage.files import read_text, remove_leftovers, write_text
from armature.structures.instance import Instance

if TYPE_CHECKING:
    import pandas as pd

NOTE, RESULTS, TABLE, PICTURE = "experiment.json", "results.parquet", "summary.csv", "regret.png"
PROBLEM = ("structure", "family", "means", "horizon", "seed")  # what can't be extended

Say = Callable[[str], None]


class ExperimentFolder:
    """A folder that is claimed for an experiment.

    `description` is the experiment as plain data; `about` is what its results will say of
    themselves (`Results.about`). A folder of another problem is refused; the same problem with
    other policies or repetitions is the same experiment, extended.
    """

    def __init__(
        self, path: Path, description: dict[str, Any], about: dict[str, Any], say: Say
    ) -> None:
        self._path, self._about, self._say = path, as_read(about), say
        self._stored = self._read_results()
        self._made: dict[str, str] = self._claim(description)
        self._note = description
        path.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path)
        self._write_note()

    def results(self, instance: Instance, policies: tuple[Policy, ...]) -> Results | None:
        """The results that are asked for, where they are there and of the code that is running."""
        if self._stored is None:
            return None
        about, frame = self._stored
        if about == self._about:
            return Results.from_frame(instance, policies, about, frame)
        names = list(dict.fromkeys(frame["policy"]))
        before = dict(zip(names, about.get("keys", [None] * len(names)), strict=True))
        now = dict(zip((p.name for p in policies), self._about["keys"], strict=True))
        changed = [name for name in now if name in before and before[name] != now[name]]
        if changed:
            self._say(
                f"{', '.join(changed)}: the code or a default has changed since "
                f"{str(self._path / RESULTS)!r} was written (by Armature {about['armature']}): "
                "run again."
            )
        return None

    def write(self, results: Results, picture: bool) -> None:
        """Write the results, the table and the picture where they are not there."""
        about = as_read(results.about())
        if self._stored is None or self._stored[0] != about:
            results.save(self._path / RESULTS)
        of = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
        if self._lacks(TABLE, of):
            summary = results.summary().drop(columns="us_per_round")
            write_text(self._path / TABLE, summary.to_csv(lineterminator="\n"))
            self._note_made(TABLE, of)
        if picture and self._lacks(PICTURE, of):
            results.plot(self._path / PICTURE)
            self._note_made(PICTURE, of)

    def _lacks(self, name: str, of: str) -> bool:
        """Whether a file is missing, made from other results, or not as it was written."""
        return self._made.get(name) != _mark(self._path / name, of)

    def _note_made(self, name: str, of: str) -> None:
        self._made[name] = _mark(self._path / name, of)
        self._write_note()

    def _write_note(self) -> None:
        text = json.dumps({**self._note, "made": self._made}, indent=1) + "\n"
        path = self._path / NOTE
        if not path.is_file() or path.read_bytes() != text.encode():
            write_text(path, text)

    def _read_results(self) -> tuple[dict[str, Any], pd.DataFrame] | None:
        if not (self._path / RESULTS).is_file():
            return None
        try:
            about, frame = read_file(self._path / RESULTS)
        except ArmatureError as error:
            self._say(f"{error} It is made again from the finished runs that are there.")
            return None
        return {key: value for key, value in about.items() if key != "version"}, frame

    def _claim(self, description: dict[str, Any]) -> dict[str, str]:
        """Check that the folder is free or this experiment's; what was made, from which results."""
        path = self._path / NOTE
        note = self._read_note(path)
        if note is not None:
            if any(note.get(key) != as_read(description)[key] for key in PROBLEM):
                raise another(self._path)
            return dict(note.get("made", {}))
        if self._stored is not None:
            if any(self._stored[0][key] != self._about[key] for key in PROBLEM):
                raise another(self._path)
        elif any((self._path / name).exists() for name in (RESULTS, TABLE, PICTURE)):
            if not path.exists():
                raise another(self._path)
            raise damaged(path, (RESULTS, TABLE, PICTURE))
        if path.exists():
            self._say(f"{str(path)!r} was damaged: it is written anew.")
        return {}

    def _read_note(self, path: Path) -> dict[str, Any] | None:
        """The note in the folder; None where there is none, or none that can be read."""
        if not path.is_file():
            return None
        try:
            note = json.loads(read_text(path))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        whole = isinstance(note, dict) and ("sweep" in note or all(key in note for key in PROBLEM))
        return note if whole and isinstance(note.get("made", {}), dict) else None


def _mark(path: Path, of: str) -> str:
    """From which results a file was made, and what is in it; nothing where it is no file."""
    if not path.is_file():
        return ""
    return f"{of} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"


def claim_folder(out: Path, note: str, text: str, written: Sequence[str]) -> None:
    """Leave word in a folder, in a file called `note`, what it is for: a line, or JSON.

    A folder that is for something else is refused, and so is one without that word that has files
    which would be `written`. A word that was cut off is completed.
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
    """An error for a folder of which nothing tells any more what it is for."""
    return ArmatureError(
        f"{str(note)!r} is damaged, and without it nothing tells what the folder is for: choose "
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
