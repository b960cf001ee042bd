"""Processes that tests start: signals reach them, however the tests were started."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import PATIENCE, obeying, run

TESTS = Path(__file__).parents[1]

# Started with SIGINT and SIGTERM ignored, as by `nohup make test &`; it sends itself the signal.
IGNORING = """
import signal, subprocess, sys
from processes import obeying
for sent in (signal.SIGINT, signal.SIGTERM):
    signal.signal(sent, signal.SIG_IGN)
code = "import os, signal; os.kill(os.getpid(), signal.SIGNAL); print('goes on')"
command = [sys.executable, "-c", code]
print(subprocess.run(command, capture_output=True, text=True).stdout.strip())
done = subprocess.run(obeying(command), capture_output=True, text=True)
print(done.stdout.strip(), "KeyboardInterrupt" in done.stderr, done.returncode)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_are_obeyed_where_they_are_ignored(name: str) -> None:
    told = run(IGNORING.replace("SIGNAL", name), cwd=TESTS / "helpers").splitlines()
    assert told[0] == "goes on"
    assert told[1].split() == [str(name == "SIGINT"), str(-getattr(signal, name))]


def test_a_command_keeps_its_number() -> None:
    process = subprocess.Popen(
        obeying([sys.executable, "-c", "import os; print(os.getpid())"]),
        stdout=subprocess.PIPE,
        text=True,
    )
    said, _ = process.communicate(timeout=PATIENCE)
    assert int(said) == process.pid


POSTGRES = """
from serving import Postgres
server = Postgres()
print(server.psql("SELECT 2 + 3;"))
server.stop()
"""


def test_a_postgresql_needs_no_file_of_another_user(tmp_path: Path) -> None:
    (tmp_path / ".lockfile").mkdir()  # nobody can write there
    tmp_path.chmod(0o755)
    told = run(POSTGRES, cwd=TESTS / "helpers", silent=False, TMPDIR=str(tmp_path))
    assert "5" in told


def test_who_sends_a_signal_starts_what_obeys() -> None:
    sending = re.compile(r"send_signal\(signal\.SIG(?!KILL)|\.terminate\(\)")
    texts = {path.name: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    senders = {name: text for name, text in texts.items() if sending.search(text)}
    assert len(senders) >= 4
    assert [name for name, text in senders.items() if "obeying(" not in text] == []
