"""The tables of docs/status.md and docs/paper-map.md, from what the code and the tests declare.

python docs/tools/tables.py            prints them
python docs/tools/tables.py SPk        prints the tests that check SPk; any name of a table will do
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from declarations import (
    KINDS,
    Item,
    all_checks,
    classes,
    paper,
    parts,
    places,
    section,
    text_of,
    works,
)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = [list(head), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def checked_against(subject: str) -> list[str]:
    """What tests compare it with, each once."""
    return list(dict.fromkeys(check.by for check in all_checks() if subject in check.subjects))


def status_row(name: str) -> list[str]:
    """Where a thing comes from, what it is checked against, what it cannot do."""
    text = text_of(name)
    reference = "; ".join(works(text)) or "defined here"
    return [f"`{name}`", reference, "; ".join(checked_against(name)), section(text, "Limits")]


def status(kind: str) -> str:
    """The table of a kind; "parts" is everything that is no class of a kind."""
    names = parts() if kind == "parts" else [cls.__name__ for cls in classes()[kind]]
    head = (kind.replace("ies", "y").rstrip("s"), "reference", "checked against", "known limits")
    every = "" if kind == "parts" else f"Each one: {'; '.join(checked_against(kind))}.\n\n"
    return every + table(head, map(status_row, names))


def where(item: Item) -> str:
    """The code, a remark, and what tests compare it with."""
    said = [", ".join(f"`{place}`" for place in places().get(item.name, [])), item.remark]
    compared = "; ".join(checked_against(item.name))
    return "; ".join(filter(None, [*said, compared and f"checked by {compared}"]))


def paper_map() -> str:
    """A table for each section of the paper."""
    return "\n\n".join(
        f"## {title}\n\n"
        + table(
            ("item", "what it says", "where"),
            ([item.name, item.says, where(item)] for item in items),
        )
        for title, items in paper().items()
    )


def checking(subject: str) -> list[str]:
    """The tests that check it."""
    return [f"{c.test}: {c.by}" for c in all_checks() if subject in c.subjects]


def main() -> None:
    """Print all tables, or the tests of what is named."""
    if sys.argv[1:]:
        print("\n".join(line for name in sys.argv[1:] for line in checking(name)))
    else:
        print("\n\n".join([*map(status, [*KINDS, "parts"]), paper_map()]))


if __name__ == "__main__":
    main()
