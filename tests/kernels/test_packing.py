"""A state that is packed into words is the same state again, whatever it holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from armature.kernels.gears import may_compile
from armature.kernels.kernel import kernel
from armature.kernels.packing import pack, packed_choose, packed_update


class Inner(NamedTuple):
    flag: bool
    table: Any
    small: Any


class State(NamedTuple):
    level: float
    count: int
    inner: Inner
    integers: Any
    column: Any
    off: bool


class Model(NamedTuple):
    factor: float
    flat: Any


@kernel
def weigh(state: State, model: Model, history: float, stream: float) -> float:
    """Something that every field changes."""
    total = state.level + 10.0 * state.count + 100.0 * state.inner.small
    if state.inner.flag and not state.off:
        total += 0.5
    for i in range(state.inner.table.shape[0]):
        for j in range(state.inner.table.shape[1]):
            total += (i + 2.0 * j) * state.inner.table[i, j]
    for i in range(state.column.size):
        total += state.column[i] * state.integers[i]
    return model.factor * total + model.flat[0] + history - stream


@kernel
def add(state: State, model: Model, history: float, arm: int, reward: float) -> None:
    """Arrays of the state change in place."""
    state.column[arm] += model.factor * reward + history


def make_state() -> State:
    table = np.arange(6.0).reshape(2, 3)
    column = np.arange(12.0).reshape(3, 4)[:, 1]  # not contiguous
    inner = Inner(True, table, np.int32(-3))
    return State(-1.25, -7, inner, np.array([3, 1, 2]), column, False)


def test_what_is_packed_is_the_same() -> None:
    state, model = make_state(), Model(2.0, np.array([0.25]))
    kinds = numba.typeof((model, state, 3.0, 4.0)) if may_compile() else None
    packed = packed_choose(weigh, kinds)
    for other in (state, state._replace(off=True), state._replace(level=-0.0, count=1 << 40)):
        expected = weigh.py_func(other, model, 3.0, 4.0)
        assert packed(pack(model, other, 3.0, 4.0)) == expected
        assert weigh(other, model, 3.0, 4.0) == expected
    here = packed(pack(model, state, 3.0, 4.0))
    assert packed(pack(model, state._replace(count=8), 3.0, 4.0)) != here
    assert packed(pack(model._replace(factor=3.0), state, 3.0, 4.0)) != here
    assert packed(pack(model, state, 2.0, 4.0)) == here - 1.0
    packed_update(add, kinds)(pack(model, state, 1.0, 4.0), 2, 0.5)
    assert state.column.tolist() == [1.0, 5.0, 11.0]
