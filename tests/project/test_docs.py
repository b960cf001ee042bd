"""The documentation: the site builds without a warning, and what is shown to be typed works."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from hooks import on_page_markdown

import armature as am
from armature.assess.from_spec import KEYS as KEYS_OF_ASSESS
from armature.cli.program import app
from armature.experiments.spec import EXPERIMENT_KEYS, KEYS
from armature.testing import discover

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SCRIPT = re.compile(
    r"^```python\n((?:(?!>>> ).)*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(document: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in FENCE.finditer(document.read_text())]


def check_command(line: str) -> None:
    """A line of a console block is a command that exists, with options that exist."""
    words = shlex.split(line, comments=True)
    if not words or words[0] in ("pip", "cd", "git", "aws", "curl"):  # curl: test_service_docs.py
        return
    if words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(words[1:]) <= set(targets), line
    elif words[:2] == ["python", "-m"]:
        assert (ROOT / words[2].replace(".", "/") / "__main__.py").is_file(), line
    elif words[0] == "python":
        assert (ROOT / words[1]).is_file(), line
    elif words[0] == "python3":
        assert words[1:3] == ["-m", "venv"], line
    else:
        assert words[0] == "armature", line
        group: Any = typer.main.get_command(app)
        group.commands[words[1]].make_context(words[1], words[2:])  # refuses what is unknown


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_is_checked(document: Path) -> None:
    scripts = dict(SCRIPT.findall(document.read_text()))
    for language, text in blocks(document):
        if language == "python":
            assert ">>> " in text or text in scripts, f"{document.name}: not a doctest:\n{text}"
        elif language == "toml":
            assert set(tomllib.loads(text)) <= {
                *KEYS,
                *EXPERIMENT_KEYS,
                "experiment",
                *KEYS_OF_ASSESS,
            }
        elif language == "console":
            for line in text.splitlines():
                check_command(line)
        else:
            assert language in ("bibtex", "text"), f"{document.name}: {language!r} is not checked"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_script_prints_what_is_shown_below_it(document: Path) -> None:
    for script, shown in SCRIPT.findall(document.read_text()):
        environment = {**os.environ, "ARMATURE_GEAR": "python"}
        command = [sys.executable, "-c", script]
        assert subprocess.check_output(command, env=environment, text=True) == shown
        assert len(shown.splitlines()) > 5


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("armature bond x", "bond"),
        ("armature run x --jots 2", "--jots"),
        ("make tea", "tea"),
        ("python benchmarks/speed.py", "speed"),
        ("python -m studies.chancellor", "chancellor"),
        ("armadillo", "armadillo"),
    ],
)
def test_a_wrong_command_is_noticed(line: str, what: str) -> None:
    with pytest.raises(Exception, match=what):
        check_command(line)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_linked_is_there(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", document.read_text()):
        assert (document.parent / target).exists(), target


KINDS = (am.Structure, am.Policy, am.Family)
CLASSES = [am.Piece, *(cls for kind in KINDS for cls in discover(kind, am))]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_docstrings_say_what_is_given_and_what_is_promised(cls: type) -> None:
    text = inspect.getdoc(cls) or ""
    summary, *sections = re.split(r"^(\w+)\n-+\n", text, flags=re.MULTILINE)
    titles, contents = sections[::2], sections[1::2]
    given = list(inspect.signature(cls).parameters)
    assert [title for title in titles if title != "Limits"] == [
        *(["Parameters"] if given else []), "Guarantee", "References",
    ]  # fmt: skip
    if given:
        assert re.findall(r"^(\w+)(?: : .+)?$", contents[0], re.MULTILINE) == given
    assert ">>> " in text
    assert summary.strip()


def test_every_public_name_is_in_the_reference() -> None:
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    filled = "\n".join(on_page_markdown(page.read_text()) for page in pages)
    shown = re.findall(r"^::: armature\.(\w+)$", filled, re.MULTILINE)
    assert sorted(shown) == sorted(set(am.__all__) - {"__version__"})


def takes(structure: am.Structure, family: am.Family) -> bool:
    try:
        structure.checked_family(family)
    except am.ArmatureError:
        return False
    return True


def test_the_page_names_the_structures_that_refuse_exponential_rewards() -> None:
    page = (ROOT / "docs" / "structures.md").read_text(encoding="utf-8")
    sentence = re.search(r"not convex: (.*?) refuse them", page, re.DOTALL)
    assert sentence is not None
    refusing = set()
    for kind in discover(am.Structure, am):
        larger = [structure for structure in kind.examples() if structure.n_arms > 2]
        if larger and not any(takes(structure, am.Exponential()) for structure in larger):
            refusing.add(kind.__name__)
    assert set(re.findall(r"`(\w+)`", sentence[1])) == refusing


def test_the_citation_is_of_this_version() -> None:
    cited = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert cited["version"] == am.__version__
    newest = re.search(r"^## (\S+) \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == am.__version__
    assert cited.get("date-released", "unreleased") == newest[2]


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # an announcement of the theme's
    build = subprocess.run(
        arguments, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False
    )
    assert build.returncode == 0, build.stderr
    assert "WARNING" not in build.stderr
    pages = {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("index.html")}
    assert {".", "quickstart", "choosing", "paper-map", "status", "studies/reproduction"} <= pages
    status = (tmp_path / "status" / "index.html").read_text()
    assert all(f"<code>{cls.__name__}</code>" in status for cls in CLASSES[1:])
    bounds = (tmp_path / "bounds" / "index.html").read_text()
    assert "<munder>" in bounds  # a formula is drawn
    assert "\\sum" not in bounds
    found = json.loads((tmp_path / "search" / "search_index.json").read_text())["docs"]
    said = [f"{page['title']} {page['text']}".lower() for page in found]
    for words in ("pricing", "segment", "quick start"):
        assert any(words in text for text in said), words
    titles = [page["title"].lower() for page in found]
    assert any(title.startswith("pricing") for title in titles)  # the guide comes first
    structures = (tmp_path / "reference" / "structures" / "index.html").read_text()
    assert "At most <code>support</code> arms lie above" in structures  # of a docstring
    for page in tmp_path.rglob("index.html"):  # a page asks no other host for anything
        text = page.read_text()
        assert not re.findall(r'<(?:script|link rel="stylesheet|img)[^>]*(?:src|href)="http', text)
