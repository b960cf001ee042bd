"""Names of compiled functions that mean the same in every process.

Numba tells apart the functions that one definition makes, such as the `f` of
`def make(c): def f(x): return x * c`, by numbers, in the order in which they are compiled. Two
processes give the same number to different functions; and where a third loads what both have kept,
the linker takes one for the other.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from typing import Any

from numba.core.bytecode import FunctionIdentity

from armature.kernels.compiling.fingerprint import Fingerprint, Indescribable


@contextlib.contextmanager
def lasting_names() -> Iterator[None]:
    """Number functions by what they do, or else at random, instead of in turn.

    To be entered under the compiler's lock.
    """
    original = vars(FunctionIdentity)["from_function"]

    def from_function(cls: Any, function: Any) -> Any:
        identity = original.__func__(cls, function)
        identity.unique_id = _number_of(identity.func)
        identity.unique_name = f"{identity.func_qualname}${identity.unique_id}"
        return identity

    identities: Any = FunctionIdentity
    identities.from_function = classmethod(from_function)
    try:
        yield
    finally:
        identities.from_function = original


def _number_of(function: Any) -> int:
    try:
        return int(Fingerprint(function).digest[:16], 16)
    except Indescribable:
        return secrets.randbits(64)
