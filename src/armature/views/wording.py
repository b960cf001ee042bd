"""What a page says in words: numbers that people read, and a verdict."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from armature.views.svg import MINUS, number

if TYPE_CHECKING:
    from armature.live.verdict import Verdict

# What is between quotes is a label, and a number after "arm" is one too: they stay as they are.
_LABEL_OR_NUMBER = re.compile(
    r"""'[^']*'|"[^"]*"|\barm -?\d+|(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])"""
)


def readable(sentence: str) -> str:
    """A sentence of the library with its large numbers in groups, and a minus that is one.

    >>> readable("arm '12345' has 10362 pulls, more than 9.84e+08; log-evidence -18.3, arm 70000")
    "arm '12345' has 10,362 pulls, more than 984,000,000; log-evidence −18.3, arm 70000"
    """

    def shown(found: re.Match[str]) -> str:
        text = found[0]
        if not text[-1].isdigit() or text.startswith("arm"):
            return text
        value = float(text)
        if abs(value) >= 1000.0 and value % 1.0 == 0.0 and abs(value) < 1e15:
            text = f"{value:,.0f}"
        return text.replace("-", MINUS)

    return _LABEL_OR_NUMBER.sub(shown, sentence)


def share(value: float) -> str:
    """A share in percent; little is not nothing.

    >>> share(0.0), share(0.004), share(0.4321), share(0.9999), share(1.0)
    ('0 %', '<1 %', '43 %', '>99 %', '100 %')
    """
    if 0.0 < value < 0.005:
        return "<1 %"
    if 0.995 < value < 1.0:
        return ">99 %"
    return f"{100.0 * value:.0f} %"


def verdict_words(verdict: Verdict, goal: str) -> tuple[str, str]:
    """The same in words: what matters, and the rest of the sentence."""
    best = "best" if goal == "max" else "cheapest"
    if verdict.sure:
        error = f"{100.0 * verdict.delta:.2g} %"
        return f"{verdict.arm} is the {best}", f", up to an error of {error}."
    rest = f" that {verdict.arm} is the {best}"
    needed, at_best = verdict.needed, verdict.needed_at_best
    if needed < math.inf:
        rest += f": about {number(needed, 3)} more rewards as they come now"
    elif at_best < math.inf:
        rest += ": rewards as they come now would never tell"
    if at_best < math.inf:
        rest += f", {number(at_best, 3)} at the best shares of arms"
    return "Not sure yet", f"{rest}."
