"""Output folders at addresses, here through Arrow's local file system: the same files, sent."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from folders import SPEC, content, draw_quickly
from processes import PATIENCE
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments.store import remote
from armature.experiments.store.remote import Sending, folder_here
from armature.experiments.store.remote_store import Store


@pytest.fixture(autouse=True)
def quick_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(am.Results, "plot", draw_quickly)


def call(spec: Path, out: str, *words: str) -> str:
    result = CliRunner().invoke(app, [words[0], str(spec), "--out", out, *words[1:]])
    assert result.exit_code == 0, result.stderr
    return result.output + result.stderr


def parts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("parts/*.part")}


def test_the_same_files_and_what_is_there_is_used(tmp_path: Path) -> None:
    spec, there = tmp_path / "spec.toml", tmp_path / "there"
    spec.write_text(SPEC)
    call(spec, str(tmp_path / "here"), "run")
    call(spec, there.as_uri(), "run", "--shard", "1/2")
    assert len(parts(there)) == 2
    call(spec, there.as_uri(), "run", "--shard", "2/2")
    assert f"are in {there.as_uri()}" in call(spec, there.as_uri(), "merge")
    assert content(there) == content(tmp_path / "here")
    before = {path: path.stat().st_mtime_ns for path in there.rglob("*") if path.is_file()}
    call(spec, there.as_uri(), "run")
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_an_interruption_keeps_what_is_finished(tmp_path: Path) -> None:
    address = (tmp_path / "there").as_uri()
    with pytest.raises(KeyboardInterrupt), folder_here(address) as folder:  # noqa: PT012
        assert folder is not None
        (folder / "parts").mkdir()
        (folder / "parts" / "a.part").write_bytes(b"finished")
        (folder / ".armature-1.tmp").write_bytes(b"not finished")
        raise KeyboardInterrupt
    assert Store(address).names() == ["parts/a.part"]
    assert Store(address).read("parts/a.part") == b"finished"


def test_parts_are_sent_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "EVERY", 0.01)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    with Sending(here, Store(there.as_uri())):
        for text in (b"one", b"another"):
            (here / "a.part").write_bytes(text)
            end = time.monotonic() + PATIENCE
            while not (there / "a.part").is_file() or (there / "a.part").read_bytes() != text:
                assert time.monotonic() < end, "nothing was sent"
                time.sleep(0.01)


@pytest.mark.parametrize("address", ["nowhere://bucket", "s3:///", "file://somewhere/else"])
def test_what_is_no_address(tmp_path: Path, address: str) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    result = CliRunner().invoke(app, ["run", str(spec), "--out", address])
    assert result.exit_code == 2
    assert "is no address of a folder" in result.stderr
