"""docs/guide.md: what is typed there works, in its order (its Python is run as a doctest)."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from serving import serving

import armature as am

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
SERVER = "http://127.0.0.1:8000"
FEW = ["--draws", "2", "--horizon", "200"]  # what a reader need not type


def lines() -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


def run(words: list[str], folder: Path) -> str:
    programs = {
        "armature": [sys.executable, "-m", "armature"],
        "python": [sys.executable],
        "curl": ["curl", "--silent", "--show-error", "--fail-with-body"],
    }
    more = FEW if words[:2] == ["armature", "assess"] else []
    answer = subprocess.run(
        [*programs[words[0]], *words[1:], *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(am.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, (words, answer.stdout, answer.stderr)
    return answer.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl on this machine")
def test_every_command_of_the_guide(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said, url, decision = {}, "", ""
    with ExitStack() as stack:
        for line in lines():
            words = [w.replace(SERVER, url).replace("/ID/", f"/{decision}/")
                     for w in shlex.split(line)]  # fmt: skip
            if words[:2] == ["armature", "serve"]:
                storage = words[3].replace("sqlite:///", f"sqlite:///{tmp_path}/")
                url = stack.enter_context(serving(storage))
                continue
            said[line] = run(words, tmp_path)
            if "/notebook/decisions" in line:
                decision = json.loads(said[line])["decisions"][0]["id"]
    texts = list(said.values())
    assert len(texts) == 10
    assert texts[0].startswith("Prices of a notebook: 2,400 rewards of 8 arms")
    assert any(text.startswith("300 visitors brought") for text in texts)
    assert any(text.startswith("notebook is running.") for text in texts)
    for name in ("report", "live-report"):
        data = json.loads((tmp_path / name / "assessment.json").read_text())
        assert (tmp_path / name / "report.html").is_file()
        assert not data["drift"]["found"]
    assert data["log"]["rounds"] == 301
    assert (tmp_path / "results").is_dir()


def test_what_the_guide_shows_is_what_is_there() -> None:
    specs = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert specs == [(ROOT / "examples" / "guide" / "shop.toml").read_text()]
    shown = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    log = (ROOT / "examples" / "guide" / "shop.csv").read_text()
    assert log.startswith(shown[0])
