"""Names for the command line: the one place where a word in a file becomes a class."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from armature.errors import ArmatureError
from armature.families import Bernoulli, Exponential, Family, Gaussian, Poisson
from armature.structures import (
    Categorised,
    Concave,
    Linear,
    Lipschitz,
    Polyhedral,
    Simplex,
    Sparse,
    Structure,
    Unconstrained,
    Unimodal,
)

FAMILIES: dict[str, type[Family]] = {
    cls.__name__.lower(): cls for cls in (Gaussian, Bernoulli, Poisson, Exponential)
}
STRUCTURES: dict[str, type[Structure]] = {
    cls.__name__.lower(): cls
    for cls in (
        Unconstrained,
        Unimodal,
        Categorised,
        Sparse,
        Linear,
        Lipschitz,
        Concave,
        Simplex,
        Polyhedral,
    )
}


def unknown(what: str, name: str, known: Iterable[str]) -> ArmatureError:
    """An error for a word that is not known, with the nearest one that is."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}."
    return ArmatureError(f"{what} {name!r} is unknown: {hint}")
