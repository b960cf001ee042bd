"""Two questions that Numba's type inference answers anew each time, thousands of times a kernel.

Which options are in force (a dictionary is made of them for each comparison), and what the type of
`x * y` is (all the things that `*` may mean are tried in turn, arrays and strings included). Here
the answers are kept, for as long as a kernel is compiled: nothing changes for what else Numba does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from numba.core import compiler, types
from numba.core.targetconfig import ConfigStack


class KernelFlags(compiler.Flags):
    """Compiler options that are compared quickly."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self.__dict__.pop("_all", None)

    def discard(self, name: str) -> None:
        """Back to the default."""
        super().discard(name)
        self.__dict__.pop("_all", None)

    def values(self) -> dict[str, Any]:
        """All options, by name."""
        if "_all" not in self.__dict__:
            self.__dict__["_all"] = super().values()
        known: dict[str, Any] = self.__dict__["_all"]
        return known

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        return self is other or bool(super().__eq__(other))


_HASH = hash(compiler.Flags())  # of the names of the options: the same for all
_PLAIN = (
    types.Number,
    types.Boolean,
    types.NoneType,
    types.Array,
    types.BaseTuple,
    types.SliceType,
)
_answers: dict[tuple[Any, ...], tuple[Any, Any]] = {}


@contextlib.contextmanager
def quick_typing(context: Any) -> Iterator[None]:
    """Remember what functions of plain numbers and arrays return.

    To be entered under the compiler's lock.
    """
    if "resolve_function_type" in vars(context):
        yield
        return
    original = context.resolve_function_type

    def resolve(function: Any, arguments: Any, keywords: Any) -> Any:
        known = function
        if not isinstance(function, types.Function):
            known = context._lookup_global(function)
        if (
            keywords
            or not isinstance(known, types.Function)
            or not all(isinstance(argument, _PLAIN) for argument in arguments)
        ):
            return original(function, arguments, keywords)
        key = (id(known), tuple(arguments), ConfigStack.top_or_none())
        if key not in _answers:
            signature = original(function, arguments, keywords)
            if signature is None:
                return None
            _answers[key] = known, signature  # `known` is kept, so that its id stays its own
        return _answers[key][1]

    context.resolve_function_type = resolve
    try:
        yield
    finally:
        del context.resolve_function_type
