"""A state that is packed into words is the same state again, whatever it holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from armature._compile import kernel
from armature._pointers import is_compiling
from armature.simulation.packing import pack, packed_choose, packed_update


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


@kernel
def weigh(state: State, factor: float, history: float, stream: float) -> float:
    """Something that every field changes."""
    total = state.level + 10.0 * state.count + 100.0 * state.inner.small
    if state.inner.flag and not state.off:
        total += 0.5
    for i in range(state.inner.table.shape[0]):
        for j in range(state.inner.table.shape[1]):
            total += (i + 2.0 * j) * state.inner.table[i, j]
    for i in range(state.column.size):
        total += state.column[i] * state.integers[i]
    return factor * total


@kernel
def add(state: State, factor: float, history: float, arm: int, reward: float) -> None:
    """Arrays of the state change in place."""
    state.column[arm] += reward


def make_state() -> State:
    table = np.arange(6.0).reshape(2, 3)
    column = np.arange(12.0).reshape(3, 4)[:, 1]  # not contiguous
    inner = Inner(True, table, np.int32(-3))
    return State(-1.25, -7, inner, np.array([3, 1, 2]), column, False)


def test_a_packed_state_is_the_same() -> None:
    if not is_compiling():
        return
    state = make_state()
    kind = numba.typeof(state)
    packed = packed_choose(weigh, kind)
    for other in (state, state._replace(off=True), state._replace(level=-0.0, count=1 << 40)):
        assert packed(pack(other), 2.0, 0.0, 0.0) == weigh(other, 2.0, 0.0, 0.0)
        assert packed(pack(other), 2.0, 0.0, 0.0) == weigh.py_func(other, 2.0, 0.0, 0.0)
    assert packed(pack(state._replace(count=8)), 2.0, 0.0, 0.0) != weigh(state, 2.0, 0.0, 0.0)
    packed_update(add, kind)(pack(state), 1.0, 0.0, 2, 0.5)
    assert state.column.tolist() == [1.0, 5.0, 9.5]
