"""`armature experiments restore`: what it does, and when it refuses."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from serving import PRICES, copy_sqlite, fingerprint, serving, sqlite_in
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.client import Client
from armature.service.db.maintenance import restore


def _filled(folder: Path, name: str, decisions: int) -> Path:
    """A storage with an experiment."""
    folder.mkdir(exist_ok=True)
    with serving(sqlite_in(folder)) as url, Client(url) as client:
        client.create(name, PRICES)
        client.decide_many(name, decisions)
    return folder / "armature.db"


def _restore(backup: Path, file: Path) -> str:
    """What the command says, from a process of its own, as locks are one process's."""
    command = [sys.executable, "-m", "armature", "experiments", "restore", str(backup)]
    ran = subprocess.run(
        [*command, "--storage", f"sqlite:///{file}"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == (0 if ran.stdout else 2)
    return " ".join((ran.stdout + ran.stderr).split())


def test_a_backup_is_restored(tmp_path: Path) -> None:
    file, backup = _filled(tmp_path / "live", "new", 9), _filled(tmp_path / "old", "old", 5)
    file.chmod(0o640)
    inode = file.stat().st_ino
    said = _restore(backup, file)
    assert said == f"armature.db now has the content of {backup}; experiments: 1"
    assert fingerprint(f"sqlite:///{file}") == fingerprint(f"sqlite:///{backup}")
    assert (file.stat().st_ino, stat.S_IMODE(file.stat().st_mode)) == (inode, 0o640)
    assert [path.name for path in file.parent.iterdir()] == ["armature.db"]
    with serving(f"sqlite:///{file}") as url, Client(url) as client:
        client.decide("old")
        assert [row["decisions"] for row in client.experiments()] == [6]


def test_not_while_a_server_runs(tmp_path: Path) -> None:
    """Also one that does nothing just now; and what it has is not touched."""
    file, backup = tmp_path / "armature.db", _filled(tmp_path / "old", "old", 5)
    with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
        client.create("new", PRICES)
        assert "is open elsewhere: stop all servers" in _restore(backup, file)
        client.decide("new")
        assert [row["decisions"] for row in client.experiments()] == [1]
    assert "experiments: 1" in _restore(backup, file)


def test_where_there_is_nothing(tmp_path: Path) -> None:
    """The file was deleted, and what stood beside it was not: that is another file's."""
    backup = _filled(tmp_path / "old", "old", 5)
    file = tmp_path / "armature.db"
    with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
        client.create("new", PRICES)
        client.decide_many("new", 50)
        for suffix in ("-wal", "-shm"):
            shutil.copy(f"{file}{suffix}", tmp_path / f"kept{suffix}")
    file.unlink()
    for suffix in ("-wal", "-shm"):
        shutil.copy(tmp_path / f"kept{suffix}", f"{file}{suffix}")
    restore(backup, f"sqlite:///{file}")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert fingerprint(f"sqlite:///{file}") == fingerprint(f"sqlite:///{backup}")


def test_over_a_file_with_the_wal_of_another(tmp_path: Path) -> None:
    """As after `mv copy.db armature.db` under a server: restoring mends it."""
    backup = _filled(tmp_path / "old", "old", 5)
    file = tmp_path / "armature.db"
    with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
        client.create("new", PRICES)
        client.decide_many("new", 500)
        shutil.copy(f"{file}-wal", tmp_path / "kept-wal")
    copy_sqlite(backup, tmp_path / "copy.db")
    (tmp_path / "copy.db").rename(file)
    shutil.copy(tmp_path / "kept-wal", f"{file}-wal")
    restore(backup, f"sqlite:///{file}")
    assert fingerprint(f"sqlite:///{file}") == fingerprint(f"sqlite:///{backup}")


def test_a_backup_that_is_a_file_and_its_wal(tmp_path: Path) -> None:
    """Copied with the server stopped by force: what is in the -wal is of it."""
    (tmp_path / "copied").mkdir()
    copied = tmp_path / "copied" / "armature.db"
    with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
        client.create("new", PRICES)
        client.decide_many("new", 7)
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"armature.db{suffix}", f"{copied}{suffix}")
    said = restore(copied, f"sqlite:///{tmp_path / 'restored.db'}")
    assert said == 1
    rows = fingerprint(f"sqlite:///{tmp_path / 'restored.db'}")
    assert rows == fingerprint(sqlite_in(tmp_path))


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    file, backup = _filled(tmp_path / "live", "new", 9), _filled(tmp_path / "old", "old", 500)
    before = file.read_bytes()
    (tmp_path / "text.db").write_text("a text, and no database" * 100)
    sqlite3.connect(tmp_path / "empty.db").close()
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE something (else_ INTEGER)")
    other.close()
    content = bytearray(backup.read_bytes())
    content[12_000:16_000] = bytes(4_000)
    (tmp_path / "damaged.db").write_bytes(content)
    newer = sqlite3.connect(shutil.copy(backup, tmp_path / "newer.db"))
    with newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    newer.close()
    for name, reason in {
        "text": "no copy of a storage",
        "empty": "no copy of a storage",
        "other": "no copy of a storage",
        "damaged": "is damaged|no copy",
        "newer": "newer release",
        "missing": "there is no file",
    }.items():
        with pytest.raises(am.ArmatureError, match=reason):
            restore(tmp_path / f"{name}.db", f"sqlite:///{file}")
    with pytest.raises(am.ArmatureError, match="the same file"):
        restore(file, f"sqlite:///{file}")
    with pytest.raises(am.ArmatureError, match="pg_restore"):
        restore(backup, "postgresql://host/name")
    assert file.read_bytes() == before


def test_a_damaged_file_is_moved_by_hand(tmp_path: Path) -> None:
    backup = _filled(tmp_path / "old", "old", 5)
    file = tmp_path / "armature.db"
    file.write_text("not a database any more" * 1_000)
    command = ["experiments", "restore", str(backup), "--storage", f"sqlite:///{file}"]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert "out of the way" in " ".join(refused.stderr.split())
    file.rename(tmp_path / "damaged.db")
    assert CliRunner().invoke(app, command).exit_code == 0
    assert fingerprint(f"sqlite:///{file}") == fingerprint(f"sqlite:///{backup}")


def test_a_restore_that_fails_half_way(tmp_path: Path) -> None:
    """There is no room: the file is as it was."""
    file, backup = _filled(tmp_path / "live", "new", 9), _filled(tmp_path / "old", "old", 1_000)
    before = fingerprint(f"sqlite:///{file}")
    script = (
        "import resource, sys\n"
        "from armature.cli.program import app\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))\n"
        "app(sys.argv[1:])\n"
    )
    command = ["experiments", "restore", str(backup), "--storage", f"sqlite:///{file}"]
    ran = subprocess.run(
        [sys.executable, "-c", script, *command], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "it is as it was before" in " ".join(ran.stderr.split())
    assert fingerprint(f"sqlite:///{file}") == before
