"""What people see: names as they are, tables whole, UTF-8 everywhere, exit codes, no traceback."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from terminals import ARMATURE, environment, on_terminal, piped

import armature as am
from armature.words import visible

NAMES = ["[/b]", "[red]x[/red]", ":smile:", "a\x1b[31mb", "größer ± 日本"]
TITLE = "[/b] [red]prices[/red] :smile: größer 日本"
MODULE = """
import dataclasses
import armature as am

@dataclasses.dataclass(frozen=True)
class Named(am.PythonPolicy):
    called: str = "x"
    @property
    def name(self):
        return self.called
    def choose(self, state, problem, history, rng):
        return 0
"""
SPEC = f"""
title = "{TITLE}"
means = [0.123456789, 0.9, 0.3]
[structure]
kind = "unimodal"
[experiment]
horizon = 12
repetitions = 2
policies = [
    "ucb",
""" + "".join(
    f"    {{ kind = 'named_for_test:Named', called = {json.dumps(name)} }},\n" for name in NAMES
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "named_for_test.py").write_text(MODULE)
    (tmp_path / "mine.toml").write_text(SPEC + "]\n", encoding="utf-8")
    return tmp_path


def whole(text: str) -> str:
    """A text without the line breaks and the spaces that a width has brought."""
    return re.sub(r"\s+", "", text)


RUN = ("run", "mine.toml", "--allow", "named_for_test")


@pytest.mark.parametrize("columns", ["40", "80"])
def test_piped_output_is_plain_and_complete(folder: Path, columns: str) -> None:
    found = piped(folder, *RUN, "--out", "[b]out[/b]", COLUMNS=columns, FORCE_COLOR="1")
    assert found.returncode == 0, found.stderr
    assert "\x1b" not in found.stdout + found.stderr
    assert "…" not in found.stdout
    lines = found.stdout.splitlines()
    assert lines[0] == f"{TITLE}: 2 runs of 12 rounds"
    titles = ["policy", "regret", "5%", "median", "95%", "slope", "explored", "us/round"]
    assert lines[1].split() == titles
    assert {line.split("  ")[0] for line in lines[2:8]} == {"UCB", *map(visible, NAMES)}
    assert lines[-1] == "results, a table and a picture are in [b]out[/b]"
    assert (folder / "[b]out[/b]" / "results.parquet").is_file()
    for name in NAMES:  # progress, too, has names as they are
        assert visible(name)[:20] in found.stderr


def test_a_narrow_terminal_folds_tables(folder: Path) -> None:
    plain = piped(folder, "bound", "mine.toml", "--allow", "named_for_test").stdout
    wide = on_terminal(folder, 200, "bound", "mine.toml", "--allow", "named_for_test")
    assert whole(wide) == whole(plain)
    for columns in (12, 40):
        narrow = on_terminal(folder, columns, "bound", "mine.toml", "--allow", "named_for_test")
        assert max(map(len, narrow.splitlines())) <= columns
        for word in plain.split():
            assert whole(word) in whole(narrow)
    narrow = on_terminal(folder, 40, *RUN)
    for title in ("regret", "5%", "median", "95%", "slope", "explored", "us/round"):
        assert len(re.findall(rf"^  {title} +\S*", narrow, re.MULTILINE)) == 6
    assert whole(TITLE) in whole(narrow)
    assert "a\\x1b[31mb" in narrow  # what a terminal would obey is spelled out


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_utf8_whatever_the_locale(folder: Path, locale: str) -> None:
    old = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = piped(folder, *RUN, "--out", "out", **old)
    assert found.returncode == 0, found.stderr
    assert "größer ± 日本" in found.stdout
    assert " ± " in found.stdout.splitlines()[2]
    assert "größer ± 日本" in (folder / "out" / "summary.csv").read_text(encoding="utf-8")
    again = piped(folder, *RUN, "--out", "out", **old)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["run", "mine.toml", "--workers", "-3"], 2, "--workers"),
        (["reproduce", "--workers", "0"], 2, "--workers"),
        (["run", "none.toml"], 2, "there is no file 'none.toml'"),
        (["run", "some/where"], 2, "there is no file 'some/where'"),
        (["run", "."], 2, "'.' is a folder"),
        (["run", "unimodel-1"], 2, "did you mean 'unimodal-1'?"),
        (["run", "[/b]"], 2, "'[/b]'"),
        (["bound", "latin.toml"], 2, "is not a text file in UTF-8"),
        (["bound", "broken.toml"], 2, "(at line 2"),
        (["bound", "prices", "--plot", "no/folder.png"], 2, "there is no folder 'no'"),
        (["reproduce", "[/b]unimodal-1"], 2, "the panel '[/b]unimodal-1' is unknown: did you mean"),
        (["reproduce", "--out", "mine.toml"], 2, "mine.toml"),
        (["run", "mine.toml"], 2, "--allow named_for_test"),
        (["bond"], 2, "bond"),
        ([*RUN, "--out", "/proc/nothing"], 1, "'/proc/nothing': "),
    ],
)
def test_slips_get_a_sentence_and_a_code(
    folder: Path, arguments: list[str], code: int, sentence: str
) -> None:
    (folder / "latin.toml").write_bytes("title = 'größer'".encode("latin-1"))
    (folder / "broken.toml").write_text("title = 'x'\nmeans = nothing\n")
    found = piped(folder, *arguments)
    assert found.returncode == code, found.stderr
    assert sentence in found.stderr
    assert found.stdout == ""
    assert "Traceback" not in found.stderr


def test_modules_of_the_current_folder(folder: Path) -> None:
    """They are found without PYTHONPATH once allowed, and hide nothing that is installed."""
    (folder / "rich.py").write_text("raise SystemExit('a file in the current folder was run')")
    (folder / "bottleneck.py").write_text("raise SystemExit('so was an optional package')")
    assert piped(folder, *RUN).returncode == 0
    assert piped(folder, "bound", "prices", "--json").returncode == 0


def test_version_and_the_two_ways_to_start(folder: Path) -> None:
    assert piped(folder, "--version").stdout == f"armature {am.__version__}\n"
    for arguments in ([], ["--help"]):
        found = piped(folder, *arguments)
        assert (found.stdout + found.stderr).startswith("Usage: armature [OPTIONS]")


def test_help_is_complete(folder: Path) -> None:
    listed = piped(folder, "--help").stdout.partition("Commands")[2]
    commands = re.findall(r"^  (\w+)  +\S", listed, re.MULTILINE)
    assert {"bound", "run", "reproduce", "list"} <= set(commands)
    assert "study" not in commands
    assert "..." not in listed
    for command in commands:
        text = piped(folder, command, "--help").stdout
        assert "--jobs" not in text
        options = re.findall(r"^  (--[\w-]+(?: <[^>]*>)?)(.*)$", text, re.MULTILINE)
        assert options
        for option, described in options:
            assert described.strip(), f"{command} {option} is not described"


def test_a_reader_who_has_enough(folder: Path) -> None:
    process = subprocess.Popen(
        [*ARMATURE, "list", "policies"], cwd=folder, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.wait()
    process.stderr.close()
