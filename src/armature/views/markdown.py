"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A table, with a line break at its end; bars and line breaks in a cell stay in that cell.

    >>> print(markdown_table(["arm", "pulls"], [["0", "12"], ["a|b", "3"]]), end="")
    | arm | pulls |
    |---|---|
    | 0 | 12 |
    | a\|b | 3 |
    """
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in [titles, *rows]]
    return "\n".join([lines[0], "|---" * len(titles) + "|", *lines[1:]]) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split("\n"))
