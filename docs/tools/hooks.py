"""What the site's builder does with a page: tables from the code, formulas as MathML."""

from __future__ import annotations

import html
import re
from typing import Any

import latex2mathml.converter
from declarations import classes
from tables import paper_map, status

TABLE = re.compile(r"^<!-- table: ([\w-]+) -->$", re.MULTILINE)
EVERY = re.compile(r"^<!-- every: (\w+)(?: in ([\w.]+))? -->$", re.MULTILINE)
FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def table_for(name: str) -> str:
    """The table that a page asks for: of a kind, of the other parts, or of the paper."""
    return paper_map() if name == "paper" else status(name)


def entries(kind: str, module: str | None) -> str:
    """An entry of the reference for each class of a kind; of those in a module, if one is given.

    >>> entries("families", None).split()[:4]
    [':::', 'armature.Bernoulli', ':::', 'armature.Bounded']
    """
    found = [cls for cls in classes()[kind] if in_room(cls, module)]
    return "\n\n".join(f"::: armature.{cls.__name__}" for cls in found)


def in_room(cls: type, module: str | None) -> bool:
    """Whether a class is defined in a module or right below it."""
    return module is None or cls.__module__.rpartition(".")[0] == module


def formula(latex: str, *, block: bool) -> str:
    r"""A formula as MathML, which browsers draw without any script or font of another host.

    >>> "<mi>ln</mi><mspace" in formula(r"\ln T", block=False)
    True
    """
    drawn = latex2mathml.converter.convert(latex, display="block" if block else "inline")
    return drawn.replace("<mi>ln</mi>", '<mi>ln</mi><mspace width="0.17em"></mspace>')


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in what is written from the code."""
    markdown = TABLE.sub(lambda match: table_for(match[1]), markdown)
    return EVERY.sub(lambda match: entries(match[1], match[2]), markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Draw the formulas that Markdown left as TeX, in its round or square brackets."""

    def drawn(match: re.Match[str]) -> str:
        text = html.unescape(match[2]).strip()
        return formula(text[2:-2], block=text.startswith(r"\["))

    return FORMULA.sub(drawn, content)
