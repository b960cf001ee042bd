"""The matrices of the dual active-set method with numbers of 32 digits: made, and kept up to date.

As in `quadratic`: the columns J, and the triangle R of the active constraints. The leading parts
of all numbers are those of the state; a second state over its `tail` has the trailing parts.
"""

from __future__ import annotations

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, diagonal, fill
from armature.solver.double_double import (
    add,
    add_multiple,
    divide,
    dot,
    exact_product,
    multiply,
    rotate,
    square_root,
)
from armature.solver.quadratic import State, reset


@kernel
def tail_of(state: State) -> State:
    """The trailing parts of a state's numbers."""
    n = state.y.size
    K = state.lam.size
    real = state.tail
    a = 2 * n * n
    b = a + n
    c = b + K
    d = c + n + 1
    return State(
        real[: n * n].reshape(n, n),
        real[n * n : a].reshape(n, n),
        real[a:b],
        real[b:c],
        real[c:d],
        state.active,
        state.status,
        state.length,
        real[d : d + 4 * n].reshape(4, n),
        real[:0],
    )


@kernel
def precise_model(
    basis: Floats, y: Floats, lam: Floats, g: Floats, h: Floats, state: State, tail: State
) -> None:
    """The program of sum_i g_i p_i + h_i p_i^2 / 2 with p = B (its y) - lam and lam = B y."""
    n = y.size
    reset(state)
    diagonal(state.columns, 0.0)
    diagonal(tail.columns, 0.0)
    if basis.shape[0] == 0:
        for i in range(n):
            q, q_tail = divide(-g[i], 0.0, h[i], 0.0)
            state.y[i], tail.y[i] = add(lam[i], 0.0, q, q_tail)
            q, q_tail = divide(1.0, 0.0, h[i], 0.0)
            state.columns[i, i], tail.columns[i, i] = square_root(q, q_tail)
        return
    precise_cholesky(basis, h, state, tail)
    low = state.triangle
    low_tail = tail.triangle
    # Column c of J = inverse of L' solves L' x = unit vector c.
    for c in range(n):
        x = state.columns[c]
        x_tail = tail.columns[c]
        x[c] = 1.0
        for a in range(c, -1, -1):
            x[a], x_tail[a] = divide(x[a], x_tail[a], low[a, a], low_tail[a, a])
            add_multiple(-x[a], -x_tail[a], low[a], low_tail[a], x, x_tail, a)
    # The model's minimum is y - J J' B' g.
    gradient = state.vectors[0]
    gradient_tail = tail.vectors[0]
    fill(gradient, 0.0)
    fill(gradient_tail, 0.0)
    for i in range(g.size):
        for a in range(n):
            p, p_tail = exact_product(g[i], basis[i, a])
            gradient[a], gradient_tail[a] = add(gradient[a], gradient_tail[a], p, p_tail)
    copy(y, state.y)
    fill(tail.y, 0.0)
    for c in range(n):
        x = state.columns[c]
        x_tail = tail.columns[c]
        p, p_tail = dot(x, x_tail, gradient, gradient_tail, 0, n)
        add_multiple(-p, -p_tail, x, x_tail, state.y, tail.y, n)


@kernel
def precise_cholesky(basis: Floats, h: Floats, state: State, tail: State) -> None:
    """B' diag(h) B = L L'; L goes where the triangle will be."""
    low = state.triangle
    low_tail = tail.triangle
    for a in range(basis.shape[1]):
        for b in range(a + 1):
            total, total_tail = dot(low[a], low_tail[a], low[b], low_tail[b], 0, b)
            total = -total
            total_tail = -total_tail
            for i in range(h.size):
                p, p_tail = exact_product(h[i], basis[i, a])
                p, p_tail = multiply(p, p_tail, basis[i, b], 0.0)
                total, total_tail = add(total, total_tail, p, p_tail)
            if a == b:
                low[a, a], low_tail[a, a] = square_root(total, total_tail)
            else:
                low[a, b], low_tail[a, b] = divide(total, total_tail, low[b, b], low_tail[b, b])


@kernel
def precise_add(
    state: State, tail: State, constraint: int, sign: int, multiplier: float, rest: float
) -> None:
    """Activate the constraint whose image J' normal is in `vectors[1]`, as `add_constraint`."""
    n = state.y.size
    q = state.length[0]
    image = state.vectors[1]
    image_tail = tail.vectors[1]
    direction = state.vectors[2]
    direction_tail = tail.vectors[2]
    length, length_tail = dot(image, image_tail, image, image_tail, q, n)
    length, length_tail = square_root(length, length_tail)
    if image[q] > 0.0:
        length = -length
        length_tail = -length_tail
    image[q], image_tail[q] = add(image[q], image_tail[q], -length, -length_tail)
    norm, norm_tail = multiply(-length, -length_tail, image[q], image_tail[q])
    if norm > 0.0:
        fill(direction, 0.0)
        fill(direction_tail, 0.0)
        for c in range(q, n):
            x = state.columns[c]
            x_tail = tail.columns[c]
            add_multiple(image[c], image_tail[c], x, x_tail, direction, direction_tail, n)
        for c in range(q, n):
            x = state.columns[c]
            x_tail = tail.columns[c]
            f, f_tail = divide(-image[c], -image_tail[c], norm, norm_tail)
            add_multiple(f, f_tail, direction, direction_tail, x, x_tail, n)
    for c in range(q):
        state.triangle[q, c] = image[c]
        tail.triangle[q, c] = image_tail[c]
    state.triangle[q, q] = length
    tail.triangle[q, q] = length_tail
    state.active[q] = constraint
    state.status[constraint] = sign
    state.multipliers[q] = multiplier
    tail.multipliers[q] = rest
    state.length[0] = q + 1


@kernel
def precise_drop(state: State, tail: State, position: int) -> None:
    """Deactivate the constraint at a position of the active set, as `drop_constraint`."""
    n = state.y.size
    q = state.length[0]
    state.status[state.active[position]] = 0
    for c in range(position, q - 1):
        state.active[c] = state.active[c + 1]
        state.multipliers[c] = state.multipliers[c + 1]
        tail.multipliers[c] = tail.multipliers[c + 1]
        for r in range(c + 2):
            state.triangle[c, r] = state.triangle[c + 1, r]
            tail.triangle[c, r] = tail.triangle[c + 1, r]
    state.length[0] = q - 1
    for r in range(position, q - 1):
        length, length_tail = dot(
            state.triangle[r], tail.triangle[r], state.triangle[r], tail.triangle[r], r, r + 2
        )
        length, length_tail = square_root(length, length_tail)
        if length == 0.0:
            continue
        cosine = divide(state.triangle[r, r], tail.triangle[r, r], length, length_tail)
        sine = divide(state.triangle[r, r + 1], tail.triangle[r, r + 1], length, length_tail)
        for c in range(r, q - 1):
            x = state.triangle[c]
            x_tail = tail.triangle[c]
            rotate(cosine, sine, x, x_tail, x, x_tail, r, r + 1)
        x = state.columns[r]
        x_tail = tail.columns[r]
        y = state.columns[r + 1]
        y_tail = tail.columns[r + 1]
        for a in range(n):
            rotate(cosine, sine, x, x_tail, y, y_tail, a, a)


@kernel
def write_changes(state: State, tail: State) -> None:
    """How the active multipliers fall as the new one grows: R change = image, into `vectors[3]`."""
    change = state.vectors[3]
    change_tail = tail.vectors[3]
    copy(state.vectors[1], change)
    copy(tail.vectors[1], change_tail)
    for c in range(state.length[0] - 1, -1, -1):
        x = state.triangle[c]
        x_tail = tail.triangle[c]
        change[c], change_tail[c] = divide(change[c], change_tail[c], x[c], x_tail[c])
        add_multiple(-change[c], -change_tail[c], x, x_tail, change, change_tail, c)
