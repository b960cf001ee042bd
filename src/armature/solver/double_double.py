"""Arithmetic with 32 digits: a number is the sum of two, of which the second is the rounding error.

The sums and products of two floating-point numbers and their exact errors (Dekker 1971, Knuth 1969)
give all the rest. A vector is two arrays, the leading parts and the trailing parts.

At the end the matrices of the dual active-set method in such numbers, made and kept up to date: as
in `quadratic`, the columns J, and the triangle R of the active constraints. The leading parts of
all numbers are those of the state; a second state over its `tail` has the trailing parts.
"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, diagonal, fill
from armature.solver.quadratic import State, reset

Pair = tuple[float, float]

SPLITTER = 134217729.0  # 2^27 + 1: cuts a number into two halves of 26 bits


@inlined
def exact_sum(a: float, b: float) -> Pair:
    """a + b and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@inlined
def exact_product(a: float, b: float) -> Pair:
    """a * b and its rounding error."""
    product = a * b
    x = SPLITTER * a
    a_high = x - (x - a)
    a_low = a - a_high
    x = SPLITTER * b
    b_high = x - (x - b)
    b_low = b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


@inlined
def add(a: float, a_tail: float, b: float, b_tail: float) -> Pair:
    """The sum of two numbers of 32 digits."""
    total, error = exact_sum(a, b)
    tail, rest = exact_sum(a_tail, b_tail)
    error += tail
    lead = total + error
    error = (error - (lead - total)) + rest
    total = lead + error
    return total, error - (total - lead)


@inlined
def multiply(a: float, a_tail: float, b: float, b_tail: float) -> Pair:
    """The product of two numbers of 32 digits."""
    product, error = exact_product(a, b)
    error += a * b_tail + a_tail * b
    lead = product + error
    return lead, error - (lead - product)


@kernel
def divide(a: float, a_tail: float, b: float, b_tail: float) -> Pair:
    """The quotient of two numbers of 32 digits: digits in three portions."""
    first = a / b
    x, x_tail = multiply(-first, 0.0, b, b_tail)
    rest, rest_tail = add(a, a_tail, x, x_tail)
    second = rest / b
    x, x_tail = multiply(-second, 0.0, b, b_tail)
    rest, rest_tail = add(rest, rest_tail, x, x_tail)
    lead, tail = exact_sum(first, second)
    return add(lead, tail, rest / b, 0.0)


@kernel
def square_root(a: float, a_tail: float) -> Pair:
    """The square root of a non-negative number of 32 digits."""
    if a <= 0.0:
        return 0.0, 0.0
    root = math.sqrt(a)
    x, x_tail = exact_product(-root, root)
    rest, _ = add(a, a_tail, x, x_tail)
    return exact_sum(root, rest / (2.0 * root))


@kernel
def dot(x: Floats, x_tail: Floats, y: Floats, y_tail: Floats, start: int, stop: int) -> Pair:
    """sum of x_i y_i over start <= i < stop."""
    total = 0.0
    tail = 0.0
    for i in range(start, stop):
        p, p_tail = multiply(x[i], x_tail[i], y[i], y_tail[i])
        total, tail = add(total, tail, p, p_tail)
    return total, tail


@kernel
def add_multiple(
    factor: float, factor_tail: float, x: Floats, x_tail: Floats, y: Floats, y_tail: Floats, n: int
) -> None:
    """y += factor * x, for the first n entries."""
    for i in range(n):
        p, p_tail = multiply(factor, factor_tail, x[i], x_tail[i])
        y[i], y_tail[i] = add(y[i], y_tail[i], p, p_tail)


@kernel
def rotate(
    cosine: Pair,
    sine: Pair,
    x: Floats,
    x_tail: Floats,
    y: Floats,
    y_tail: Floats,
    i: int,
    k: int,
) -> None:
    """(x_i, y_k) = (cosine x_i + sine y_k, cosine y_k - sine x_i)."""
    a, a_tail = multiply(cosine[0], cosine[1], x[i], x_tail[i])
    b, b_tail = multiply(sine[0], sine[1], y[k], y_tail[k])
    c, c_tail = multiply(cosine[0], cosine[1], y[k], y_tail[k])
    d, d_tail = multiply(-sine[0], -sine[1], x[i], x_tail[i])
    x[i], x_tail[i] = add(a, a_tail, b, b_tail)
    y[k], y_tail[k] = add(c, c_tail, d, d_tail)


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
    for a in range(basis.shape[1]):  # the rows of L before a are done
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
        for c in range(q, n):  # direction: over the columns before c
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
    for r in range(position, q - 1):  # columns of R before r are triangular
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
    """The fall of active multipliers as the new one grows: R change = image, into `vectors[3]`."""
    change = state.vectors[3]
    change_tail = tail.vectors[3]
    copy(state.vectors[1], change)
    copy(tail.vectors[1], change_tail)
    for c in range(state.length[0] - 1, -1, -1):  # the changes after c are solved for
        x = state.triangle[c]
        x_tail = tail.triangle[c]
        change[c], change_tail[c] = divide(change[c], change_tail[c], x[c], x_tail[c])
        add_multiple(-change[c], -change_tail[c], x, x_tail, change, change_tail, c)
