"""Records as plain words, so that what carries them need not know their types.

The loop that plays a policy would have to be compiled for every policy, as each has a state record
of its own; and records are passed field by field, of which a model has many. So the model, the
state, the history and the random numbers are carried as one array of 64-bit words (where arrays
are, and numbers), and the policy's kernels are wrapped: they first make the records again from the
words, or what they need of them.

Without compilation the "words" are the records themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from armature.kernels.arrays import Ints
from armature.kernels.gears import may_compile
from armature.kernels.kernel import Kernel, kernel

R = TypeVar("R")


def pack(*records: Any) -> Any:
    """The words of some records, which must outlive them."""
    if not may_compile():
        return list(records)
    words: list[int] = []
    _append(records, words)
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
def packed_choose(choose: Kernel[..., int], kinds: Any) -> Kernel[..., int]:
    """words -> arm, for a `choose` with records of these types: model, state, history, stream."""
    unpack = make_unpacker(kinds)

    def packed(words: Ints) -> int:
        model, state, history, stream = unpack(words)
        return choose(state, model, history, stream)

    return _standing_for(choose, packed)


@functools.cache
def packed_update(update: Kernel[..., None], kinds: Any) -> Kernel[..., None]:
    """(words, arm, reward), for an `update` with records of the same types."""
    unpack = make_unpacker(kinds)

    def packed(words: Ints, arm: int, reward: float) -> None:
        model, state, history, _ = unpack(words)
        update(state, model, history, arm, reward)

    return _standing_for(update, packed)


@functools.cache
def packed_stop(is_enough: Kernel[..., bool], kinds: Any) -> Kernel[..., bool]:
    """words -> bool, for a stopping rule with records of these types: model, rule, history."""
    unpack = make_unpacker(kinds)

    def packed(words: Ints) -> bool:
        model, rule, history = unpack(words)
        return is_enough(rule, model, history)

    return _standing_for(is_enough, packed)


def _standing_for(original: Kernel[..., R], packed: Callable[..., R]) -> Kernel[..., R]:
    made = kernel(packed)
    made.stands_for = original
    return made


@functools.cache
def make_unpacker(kinds: Any) -> Any:
    """A Numba intrinsic that makes records of these types, a tuple, from words."""
    if kinds is None:  # in plain Python
        return tuple
    from numba.extending import intrinsic

    def unpack(typing_context: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            next_word = _reader(context, builder, words, arguments[0])
            return _build(context, builder, kinds, next_word)

        return kinds(words), generate

    return intrinsic(unpack)


def _reader(context: Any, builder: Any, words_type: Any, words: Any) -> Callable[[], Any]:
    """A kernel that loads one word after the other."""
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
