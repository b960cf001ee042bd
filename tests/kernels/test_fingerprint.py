"""A kernel's fingerprint follows everything that its machine code depends on, and nothing else."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

import numba
import pytest

from armature.kernels.compiling.fingerprint import Fingerprint, Indescribable

OTHER = """
from typing import NamedTuple
import armature as am

LIMIT = 3.0
UNRELATED = 1

class State(NamedTuple):
    level: float
    step: int = 1

@am.kernel
def twice(x):
    return 2.0 * x

def pick(x):
    return x

def helper(x):
    return x
"""

MAIN = """
import math
import numpy as np
import numba.extending
import other
import armature as am
from armature.kernels.kernel import inlined

TABLE = np.array([1.0, 2.0])
NUMBERS = (1, 2.5, "x")
DEFAULT = 1.0

@numba.extending.overload(other.pick)
def _pick(x):
    factor = other.helper(2.0)
    return lambda x: x * 2.0

@numba.extending.intrinsic
def tagged(context, x):
    def generate(context, builder, signature, arguments):
        return arguments[0]
    return x(x), generate

def make(c):
    @inlined
    def scale(x):
        return c * x
    return scale

scale = make(2.0)

@am.kernel
def bystander(x):
    return x - 1.0

@am.kernel
def even(n):
    return True if n == 0 else odd(n - 1)

@am.kernel
def odd(n):
    return False if n == 0 else even(n - 1)

@am.kernel
def main(x, y=DEFAULT):
    def inner(z):
        return z + 0.5
    state = other.State(x, NUMBERS[0])
    if other.LIMIT < math.log(x):
        return other.twice(inner(x)) + TABLE[0] + state.level
    return scale(tagged(other.pick(x)))
"""


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The digest of a kernel, with an edit (old, new) in either file."""

    def compute(edit: tuple[str, str] = ("", ""), kernel: str = "main") -> str:
        modules = {}
        for name, source in (("other", OTHER), ("mine", MAIN)):
            assert edit[0] in MAIN + OTHER
            modules[name] = types.ModuleType(name)
            monkeypatch.setitem(sys.modules, name, modules[name])
            exec(compile(source.replace(*edit), name, "exec"), vars(modules[name]))
        return Fingerprint(getattr(modules["mine"], kernel)).digest

    return compute


@pytest.mark.parametrize(
    "edit",
    [
        ("LIMIT = 3.0", "LIMIT = 3"),
        ("return 2.0 * x", "return 2.1 * x"),  # a kernel in another file
        ("step: int", "pace: int"),  # a record's fields
        ("step: int = 1", "step: int = 2"),
        ("[1.0, 2.0]", "[1.0, 2.5]"),  # arrays are compiled in
        ('"x")', '"y")'),
        ("lambda x: x * 2.0", "lambda x: x * 3.0"),  # what Numba was taught
        ("def helper(x):\n    return x", "def helper(x):\n    return x + 1"),  # ... and by whom
        ("return arguments[0]", "return arguments[-1]"),
        ("make(2.0)", "make(2.5)"),  # a closure
        ("return c * x", "return x * c"),
        ("@inlined", "@am.kernel"),  # options
        ("z + 0.5", "z + 0.25"),  # a function inside
        ("DEFAULT = 1.0", "DEFAULT = 2.0"),
        ("math.log", "math.exp"),
    ],
)
def test_what_matters(digest: Callable[..., str], edit: tuple[str, str]) -> None:
    assert digest(edit) != digest()


@pytest.mark.parametrize(
    "edit",
    [
        ("", ""),
        ("x - 1.0", "x - 2.0"),  # another kernel of the same file
        ("UNRELATED = 1", "UNRELATED = 2"),
        ("level: float", "level: 'number'"),  # annotations are not compiled
        ("LIMIT = 3.0", "\n\n# a comment\nLIMIT = 3.0"),
        ("def pick(x):\n    return x", "def pick(x):\n    return 7"),  # Numba never looks at it
    ],
)
def test_what_does_not(digest: Callable[..., str], edit: tuple[str, str]) -> None:
    assert digest(edit) == digest()


def test_kernels_that_call_each_other(digest: Callable[..., str]) -> None:
    edit = ("return False if n == 0", "return True if n == 0")
    for kernel in ("even", "odd"):
        assert digest(edit, kernel) != digest(kernel=kernel)
    assert digest(kernel="even") != digest(kernel="odd")


def test_what_cannot_be_described(digest: Callable[..., str]) -> None:
    with pytest.raises(Indescribable):
        digest(('NUMBERS = (1, 2.5, "x")', "NUMBERS = (object(), 2)"))
    text = Fingerprint(numba.njit(lambda x: x)).type_text
    with pytest.raises(Indescribable):
        text(numba.typeof(numba.njit(lambda x: x)))  # a function as an argument


def test_types_that_differ_are_told_apart() -> None:
    text = Fingerprint(numba.njit(lambda x: x)).type_text
    nb = numba.types
    one, other = (types.new_class("Pair", (tuple,)) for _ in range(2))
    one._fields, other._fields = ("a", "b"), ("a", "c")  # type: ignore[attr-defined]
    kinds = [
        nb.int64, nb.float64, nb.boolean, nb.none,
        nb.float64[:], nb.float64[::1], nb.float64[:, ::1],
        nb.Array(nb.float64, 1, "C", readonly=True), nb.Array(nb.float64, 1, "C", aligned=False),
        nb.UniTuple(nb.int64, 2), nb.UniTuple(nb.int64, 3), nb.Tuple([nb.int64, nb.float64]),
        nb.NamedTuple([nb.int64, nb.int64], one), nb.NamedTuple([nb.int64, nb.int64], other),
        nb.NamedTuple([nb.int64, nb.float64], one),
        nb.Optional(nb.int64), nb.Omitted(1), nb.Omitted(2), nb.literal(1), nb.literal(2),
        nb.ExternalFunction("f", nb.int64(nb.int64)), nb.ExternalFunction("g", nb.int64(nb.int64)),
        nb.FunctionType(nb.int64(nb.int64)), nb.FunctionType(nb.int64(nb.float64)),
    ]  # fmt: skip
    assert len({text(kind) for kind in kinds}) == len(kinds)
