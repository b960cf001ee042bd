"""How docstrings become pages: what reads well as it is needs a little more for Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
NEXT_WORK = re.compile(r'(?<="\.)\n(?=\S)')


def as_markdown(docstring: str) -> str:
    r"""Examples are code; after a guarantee they are a section; each work cited is a paragraph.

    >>> as_markdown(">>> 1 + 1\n2")
    '```pycon\n>>> 1 + 1\n2\n```'
    """
    text = EXAMPLE.sub(r"```pycon\n\g<0>\n```", docstring)
    before, guarantee, after = text.partition("\nGuarantee\n")
    text = before + guarantee + after.replace("```pycon", "Examples\n--------\n```pycon", 1)
    before, references, works = text.partition("\nReferences\n")
    return before + references + NEXT_WORK.sub("\n\n", works)


class Rendering(griffe.Extension):
    """Marks up every docstring that is read; takes a class's own constants for no parameters."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
        if isinstance(obj, griffe.Attribute) and str(obj.annotation) == "ClassVar":
            obj.annotation = None  # of a dataclass, it would be taken for a field
