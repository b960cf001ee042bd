"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, with a line break at its end.

    >>> print(markdown_table(["arm", "pulls"], [["0", "12"]]), end="")
    | arm | pulls |
    |---|---|
    | 0 | 12 |
    """
    lines = ["| " + " | ".join(row) + " |" for row in [titles, *rows]]
    return "\n".join([lines[0], "|---" * len(titles) + "|", *lines[1:]]) + "\n"
