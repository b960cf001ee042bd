"""The one exception that Armature raises for bad input, and what it says of unknown words."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST_PART = 4  # letters of a word that is taken for part of a longer one


class ArmatureError(ValueError):
    """Something given to Armature is wrong; the message says what, and what would be right."""


def check_text(value: object, name: str) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        raise ArmatureError(f"{name} must be a text; got {short(value)}.")


def short(value: object, most: int = 200) -> str:
    """A value as it is shown in a sentence."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


class BlocksFailedError(RuntimeError):
    """Some blocks of an experiment failed: the others are finished and kept."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that differs by a slip of the keyboard, or that was cut short; None if none.

    One slip is a letter too many, too few, wrong, or changed round with the next; a word may have
    one for each three of its letters.

    >>> nearest("unimodel", ["linear", "unimodal"]), nearest("ubc", ["ucb", "spk"])
    ('unimodal', 'ucb')
    >>> nearest("thompson", ["ucb", "thompsonsampling"])
    'thompsonsampling'
    >>> nearest("nonsense", ["unconstrained", "unimodal"]) is None
    True
    """
    bare = _bare(word)
    most = max(1, len(bare) // 3)
    found = [(slips(bare, _bare(name)), name) for name in known]
    near = [(count, name) for count, name in found if count <= min(most, len(_bare(name)) - 1)]
    if near:
        return min(near)[1]
    longer = sorted((name for _, name in found if bare in _bare(name)), key=len)
    return longer[0] if longer and len(bare) >= SHORTEST_PART else None


def unknown(what: str, name: object, known: Iterable[str]) -> ArmatureError:
    """An error for a word that is not known, with the nearest one that is, or with all of them."""
    names = sorted(known)
    close = nearest(str(name), names)
    hint = f"did you mean {close!r}?" if close else f"there are {', '.join(names)}."
    return ArmatureError(f"{what} {name!r} is unknown: {hint}")


def slips(one: str, other: str) -> int:
    """The number of slips that make one word of the other (optimal string alignment distance).

    >>> slips("ubc", "ucb"), slips("famly", "family"), slips("", "abc")
    (1, 1, 3)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one):
        older, before, row = before, row, [i + 1]
        for j, b in enumerate(other):
            least = min(before[j] + (a != b), before[j + 1] + 1, row[j] + 1)
            if i and j and a == other[j - 1] and b == one[i - 1]:
                least = min(least, older[j - 1] + 1)
            row.append(least)
    return row[-1]


def _bare(word: str) -> str:
    """Without capitals, and without what stands between the words of a name."""
    return "".join(letter for letter in word.lower() if letter not in " -_")
