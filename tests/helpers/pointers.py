"""Documents that point into the repository: their tables, and whether what they name exists."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def rows(document: str) -> list[list[str]]:
    """The cells of all table rows, without the tables' headings."""
    lines = [line.strip() for line in document.splitlines()]
    tables = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line[:1] == "|"
    ]
    rules = {n for n, cells in enumerate(tables) if set("".join(cells)) <= {"-"}}
    return [cells for n, cells in enumerate(tables) if not {n, n + 1} & rules]


def pointers(text: str) -> list[str]:
    """Everything in backquotes that is a path, with or without ::name."""
    return [quoted for quoted in re.findall(r"`([^`]+)`", text) if "/" in quoted]


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    """What a file defines: functions, classes, constants, and methods as Class.method."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [item.name for item in node.body if isinstance(item, ast.FunctionDef)]
            found |= {f"{node.name}.{method}" for method in methods}
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return frozenset(found)


def broken(pointer: str) -> str | None:
    """What is wrong with a pointer."""
    path, _, name = pointer.partition("::")
    if not (ROOT / path).is_file():
        return f"there is no file {path}"
    if name and name not in names_in(ROOT / path):
        return f"{path} does not define {name}"
    return None
