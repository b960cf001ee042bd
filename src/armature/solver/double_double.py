"""Arithmetic with 32 digits: a number is the sum of two, of which the second is the rounding error.

The sums and products of two floating-point numbers and their exact errors (Dekker 1971, Knuth 1969)
give all the rest. A vector is two arrays, the leading parts and the trailing parts.
"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel

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
