"""The tutorial of docs/service.md: what is typed there works, in its order."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from serving import serving, sqlite_in

from armature.service.domain.spec import parse_spec
from armature.service.limits import ServiceLimits

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")


def test_the_specs() -> None:
    """What stands there as a spec is one."""
    texts = re.findall(r"^```text\n(\{.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert texts
    for text in texts:
        parse_spec(json.loads(text), (), ServiceLimits())


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl on this machine")
def test_the_tutorial_with_curl(tmp_path: Path) -> None:
    lines = re.findall(r"^curl .*$", PAGE, re.MULTILINE)
    assert len(lines) == 7
    decision = ""
    with serving(sqlite_in(tmp_path)) as url:
        for line in lines:
            words = [
                word.replace("http://127.0.0.1:8000", url).replace("/ID/", f"/{decision}/")
                for word in shlex.split(line)
            ]
            answer = subprocess.run(
                [*words, "--silent", "--show-error", "--fail-with-body"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert answer.returncode == 0, (line, answer.stdout, answer.stderr)
            found = json.loads(answer.stdout)
            if "decisions" in found and isinstance(found["decisions"], list):
                decision = found["decisions"][0]["id"]
    assert found["status"] == "paused"
    assert found["rounds"] == 1
