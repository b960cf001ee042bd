"""A policy's state and model as plain words, so that what carries them need not know their types.

The loop that plays a policy would have to be compiled for every policy, as each has a state record
of its own; and records are passed field by field, of which a model has many. So both are carried as
an array of 64-bit words (where arrays are, and numbers), and the policy's kernels are wrapped: they
first make the records again from the words, or what they need of them.

Without compilation the "words" are the records themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from armature.kernels.addresses import is_compiling
from armature.kernels.arrays import Ints
from armature.kernels.kernel import Kernel, kernel

R = TypeVar("R")


def pack(model: Any, state: Any) -> Any:
    """The words of both, which must outlive them."""
    if not is_compiling():
        return [model, state]
    words: list[int] = []
    _append((model, state), words)
    return np.array(words, dtype=np.int64)


def _append(value: Any, words: list[int]) -> None:
    """An array: its place, shape and strides. A record: its fields. A number: its bits."""
    if isinstance(value, np.ndarray):
        words += (value.ctypes.data, *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for part in value:
            _append(part, words)
    elif isinstance(value, (bool, int, np.bool_, np.integer)):
        words.append(int(value))
    else:
        words.append(int(np.float64(value).view(np.int64)))


@functools.cache
def packed_choose(choose: Kernel[..., int], both: Any) -> Kernel[..., int]:
    """(words, history, stream) -> arm, for a `choose` with models and states of two types."""
    unpack = make_unpacker(both)

    def packed(words: Ints, history: Any, stream: Any) -> int:
        model, state = unpack(words)
        return choose(state, model, history, stream)

    return _standing_for(choose, packed)


@functools.cache
def packed_update(update: Kernel[..., None], both: Any) -> Kernel[..., None]:
    """(words, history, arm, reward), for an `update` with models and states of two types."""
    unpack = make_unpacker(both)

    def packed(words: Ints, history: Any, arm: int, reward: float) -> None:
        model, state = unpack(words)
        update(state, model, history, arm, reward)

    return _standing_for(update, packed)


def _standing_for(original: Kernel[..., R], packed: Callable[..., R]) -> Kernel[..., R]:
    made = kernel(packed)
    made.stands_for = original
    return made


@functools.cache
def make_unpacker(both: Any) -> Any:
    """A Numba intrinsic that makes a model and a state from words."""
    if not is_compiling():
        return tuple
    from numba.extending import intrinsic

    def unpack(typing_context: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            next_word = _reader(context, builder, words, arguments[0])
            return _build(context, builder, both, next_word)

        return both(words), generate

    return intrinsic(unpack)


def _reader(context: Any, builder: Any, words_type: Any, words: Any) -> Callable[[], Any]:
    """What loads one word after the other."""
    from numba.core import cgutils as _cgutils
    from numba.np import arrayobj as _arrayobj

    cgutils: Any = _cgutils
    arrayobj: Any = _arrayobj
    data = arrayobj.make_array(words_type)(context, builder, words).data
    count = iter(range(1 << 30))

    def next_word() -> Any:
        return builder.load(cgutils.gep(builder, data, next(count)))

    return next_word


def _build(context: Any, builder: Any, kind: Any, next_word: Callable[[], Any]) -> Any:
    """The value of a type, from the words that come next."""
    from numba.core import types as _types

    types: Any = _types
    if isinstance(kind, types.BaseTuple):
        parts = [_build(context, builder, part, next_word) for part in kind.types]
        return context.make_tuple(builder, kind, parts)
    if isinstance(kind, types.Array):
        return _build_array(context, builder, kind, next_word)
    word = next_word()
    value_type = context.get_value_type(kind)
    if isinstance(kind, types.Float):
        number = builder.bitcast(word, context.get_value_type(types.float64))
        return number if kind == types.float64 else builder.fptrunc(number, value_type)
    if isinstance(kind, (types.Boolean, types.Integer)):
        return builder.trunc(word, value_type) if value_type.width < 64 else word
    raise NotImplementedError(f"a policy's state holds arrays and numbers, not {kind}.")


def _build_array(context: Any, builder: Any, kind: Any, next_word: Callable[[], Any]) -> Any:
    from numba.core import types
    from numba.np import arrayobj as _arrayobj

    arrayobj: Any = _arrayobj
    array = arrayobj.make_array(kind)(context, builder)
    element = context.get_data_type(kind.dtype)
    place = builder.inttoptr(next_word(), element.as_pointer())
    shape = [next_word() for _ in range(kind.ndim)]
    strides = [next_word() for _ in range(kind.ndim)]
    size = context.get_constant(types.intp, context.get_abi_sizeof(element))
    arrayobj.populate_array(
        array, data=place, shape=shape, strides=strides, itemsize=size, meminfo=None
    )
    return array._getvalue()
