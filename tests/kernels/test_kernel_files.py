"""The folder of compiled kernels: whatever happens to it, there is an answer and it is right."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import run

from armature.kernels.compiling import files
from armature.kernels.compiling.files import DAY, FOLDER, prune, read, unwrapped, wrapped, write

KERNEL = """
import armature as am
@am.kernel
def area(x):
    return 3.0 * x * x
print(area(2.0), sum(area.dispatcher.stats.cache_hits.values()))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARMATURE_CACHE_DIR", str(tmp_path))
    return tmp_path / FOLDER


def test_every_kind_of_damage_is_noticed(rng: np.random.Generator) -> None:
    body = rng.bytes(2000)
    sound = wrapped(body, "name")
    assert unwrapped(sound, "name") == body
    assert unwrapped(sound, "another name") is None
    damaged = [sound[:n] for n in range(len(sound))]
    damaged += [sound + b"\0", b"\0" * len(sound), wrapped(b"", "name")[:-1], rng.bytes(300)]
    for bit in range(0, 8 * len(sound), 3):
        flipped = bytearray(sound)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    assert len(damaged) > 7000
    assert all(unwrapped(content, "name") is None for content in damaged)


def test_damaged_files_are_replaced(folder: Path, rng: np.random.Generator) -> None:
    """Cut off, flipped, emptied, foreign: the answer is the same, and the file is mended."""
    assert run(KERNEL) == "12.0 0\n"
    sound = {path: path.read_bytes() for path in folder.iterdir()}
    assert sound

    def flipped(content: bytes) -> bytes:
        changed = bytearray(content)
        changed[int(rng.integers(len(content)))] ^= 16
        return bytes(changed)

    foreign = wrapped(b"\x80\x04cos\nsystem\n.", "another")
    damages = (lambda content: content[: len(content) // 2], flipped, lambda content: foreign)
    for damage in damages:
        for path, content in sound.items():
            path.write_bytes(damage(content))
        assert run(KERNEL) == "12.0 0\n"
    assert run(KERNEL) == "12.0 1\n"
    assert set(folder.iterdir()) == set(sound)


def test_what_is_sound_but_unreadable_is_replaced(folder: Path) -> None:
    """As after a module that it needs was renamed."""
    run(KERNEL)
    for path in folder.iterdir():
        write(path.name, b"\x80\x04cno_such_module\nthing\n.")
    assert run(KERNEL) == "12.0 0\n"
    assert run(KERNEL) == "12.0 1\n"


def test_a_full_disk_is_no_obstacle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*paths: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        assert not write("a", b"1")
    assert list(folder.iterdir()) == []
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    assert run(limit + KERNEL) == "12.0 0\n"
    assert list(folder.iterdir()) == []


def test_a_place_that_cannot_be_written_is_read(folder: Path) -> None:
    run(KERNEL)
    folder.chmod(0o555)
    try:
        assert run(KERNEL) == "12.0 1\n"
    finally:
        folder.chmod(0o755)


def test_where_nothing_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    blocker, temporary = tmp_path / "file", tmp_path / "tmp"
    blocker.write_text("")
    temporary.mkdir()
    place = str(blocker / "cache")
    assert run(KERNEL, ARMATURE_CACHE_DIR=place, TMPDIR=str(temporary)) == "12.0 0\n"
    assert list(temporary.iterdir()) == []


def test_an_empty_name_means_the_default(tmp_path: Path) -> None:
    here, home = tmp_path / "here", tmp_path / "home"
    here.mkdir()
    run(KERNEL, cwd=here, ARMATURE_CACHE_DIR="", XDG_CACHE_HOME=str(home))
    assert list(here.iterdir()) == []
    assert [p.name for p in home.iterdir()] == ["armature"]


def test_files_have_the_usual_permissions(folder: Path) -> None:
    previous = os.umask(0o027)
    try:
        write("a", b"1")
    finally:
        os.umask(previous)
    assert (folder / "a").stat().st_mode & 0o777 == 0o640


def test_what_is_not_used_is_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_pruned", set())
    now = time.time()
    folder.mkdir()
    ages = {"new": 0.1, "recent": 40.0, "old": 70.0, ".new.tmp": 0.1, ".old.tmp": 2.0}
    for name, days in ages.items():
        (folder / name).write_bytes(wrapped(b"1" * 100, name))
        os.utime(folder / name, (now - days * DAY, now - days * DAY))
    assert read("recent") == b"1" * 100  # and so it is used again
    assert write("another", b"1" * 100)
    assert {p.name for p in folder.iterdir()} == {"new", "recent", ".new.tmp", "another"}
    os.utime(folder / "recent", (now - DAY, now - DAY))
    prune(folder, kept_bytes=3 * (folder / "new").stat().st_size)
    assert {p.name for p in folder.iterdir()} == {"new", ".new.tmp", "another"}
