"""What every reward family has in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from armature.arrays import Floats
from armature.errors import ArmatureError
from armature.families._formulas import Formulas, addresses
from armature.streams import Source


class FamilyRecord(NamedTuple):
    """A reward family as kernels see it: a few numbers, and where its formulas are."""

    gaussian: bool  # whose formulas are written out where they are used
    parameter: float  # the variance of Gaussian rewards; whatever a family's formulas take
    low: float  # the ends of the domain
    high: float
    proxy: float  # a variance for which rewards are sub-Gaussian; infinite where there is none
    divergence: int
    upper: int
    lower: int
    slope: int
    curvature: int
    variance: int
    draw: int
    posterior: int


class Interval(NamedTuple):
    """A set of numbers: an interval with or without its lower end, or the integers in it.

    >>> 0.0 in Interval(0.0, math.inf), 0.0 in Interval(0.0, math.inf, closed=False)
    (True, False)
    """

    low: float
    high: float
    closed: bool = True
    integer: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, (int, float, np.integer, np.floating)):
            return False
        x = float(value)
        above = x >= self.low if self.closed else x > self.low
        return above and x <= self.high and math.isfinite(x) and not (self.integer and x % 1.0)

    def __str__(self) -> str:
        if self.integer:
            return "{0, 1}" if self.high == 1.0 else "{0, 1, 2, ...}"
        left = "[" if self.closed and math.isfinite(self.low) else "("
        right = "]" if math.isfinite(self.high) else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"


class Family:
    """A one-parameter exponential family of reward distributions, parametrised by the mean.

    With x, y means of the family and d(x, y) the Kullback-Leibler divergence between the
    distributions that have them, a family answers

    * `divergence(x, y)`: d(x, y), exact at the boundary of the domain (0 or inf, never nan);
    * `upper(x, level)`, `lower(x, level)`: the ends of { y in the domain : d(x, y) <= level };
    * `sample(mean, rng, size)`: rewards.

    Arguments are numbers or arrays, which broadcast; numbers in give a float out. What lies outside
    `domain` (the means) is refused with an `ArmatureError`. `support` is the set of rewards.

    `convex` says whether y -> d(x, y) is convex. All families share the minimisers of problems made
    of order constraints alone; the other structures need it.

    A family of your own is a frozen dataclass in one file: `domain`, `support`, and `formulas`, the
    kernels that compiled code calls. It then works wherever the library's do. It must be a
    one-parameter exponential family: then pooling is averaging, which much else rests on.
    """

    domain: ClassVar[Interval]
    support: ClassVar[Interval]
    convex: ClassVar[bool] = True
    formulas: ClassVar[Formulas]

    @classmethod
    def examples(cls) -> tuple[Family, ...]:
        """Instances for the conformance suite."""
        return (cls(),)

    @property
    def some_mean(self) -> float:
        """A mean well inside of the domain."""
        low, high = self.domain.low, self.domain.high
        if math.isfinite(low) and math.isfinite(high):
            return 0.5 * (low + high)
        return low + 1.0 if math.isfinite(low) else high - 1.0 if math.isfinite(high) else 0.0

    @property
    def parameter(self) -> float:
        """What the formulas get as their first argument."""
        return 1.0

    @property
    def sub_gaussian_variance(self) -> float:
        """A variance v such that E exp(s (reward - mean)) <= exp(v s^2 / 2); inf if there is none.

        By Hoeffding's lemma, a quarter of the squared length of a bounded support will do.
        """
        return (self.support.high - self.support.low) ** 2 / 4.0

    @property
    def mirror(self) -> float | None:
        """The number a for which a - reward, of any arm, has a distribution of this family, too.

        None where there is none: then costs can't be minimised as such rewards.
        """
        return None

    @property
    def arm_facts(self) -> tuple[str, ...]:
        """What must be said of a new arm, by keyword: nothing, where all arms are alike."""
        return ()

    def with_arm(self, at: int, facts: Mapping[str, Any]) -> Family:
        """The same family for one more arm, number `at`, of which `facts` says what is asked."""
        return self

    def without_arm(self, arm: int) -> Family:
        """The same family for all arms but one."""
        return self

    @property
    def record(self) -> FamilyRecord:
        """This family as kernels see it."""
        formulas = getattr(type(self), "formulas", None)
        if not isinstance(formulas, Formulas):
            raise ArmatureError(
                f"{type(self).__name__} declares no formulas: a reward family needs the class "
                "attribute `formulas = Formulas(...)`, the kernels that compiled code calls."
            )
        return FamilyRecord(
            False,
            self.parameter,
            self.domain.low,
            self.domain.high,
            self.sub_gaussian_variance,
            *addresses(formulas),
        )

    @overload
    def divergence(self, x: float, y: float) -> float: ...
    @overload
    def divergence(self, x: npt.ArrayLike, y: npt.ArrayLike) -> float | Floats: ...
    def divergence(self, x: npt.ArrayLike, y: npt.ArrayLike) -> float | Floats:
        """The Kullback-Leibler divergence d(x, y) from the distribution of mean x to that of y."""
        from armature.families import kernels

        return self._broadcast(kernels.divergences, self.checked(x, "x"), self.checked(y, "y"))

    @overload
    def upper(self, x: float, level: float) -> float: ...
    @overload
    def upper(self, x: npt.ArrayLike, level: npt.ArrayLike) -> float | Floats: ...
    def upper(self, x: npt.ArrayLike, level: npt.ArrayLike) -> float | Floats:
        """The largest mean y with d(x, y) <= level."""
        from armature.families import kernels

        return self._broadcast(kernels.uppers, self.checked(x, "x"), _checked_level(level))

    @overload
    def lower(self, x: float, level: float) -> float: ...
    @overload
    def lower(self, x: npt.ArrayLike, level: npt.ArrayLike) -> float | Floats: ...
    def lower(self, x: npt.ArrayLike, level: npt.ArrayLike) -> float | Floats:
        """The smallest mean y with d(x, y) <= level."""
        from armature.families import kernels

        return self._broadcast(kernels.lowers, self.checked(x, "x"), _checked_level(level))

    @overload
    def sample(self, mean: float, rng: np.random.Generator, size: None = None) -> float: ...
    @overload
    def sample(
        self,
        mean: npt.ArrayLike,
        rng: np.random.Generator,
        size: int | tuple[int, ...] | None = None,
    ) -> float | Floats: ...
    def sample(
        self,
        mean: npt.ArrayLike,
        rng: np.random.Generator,
        size: int | tuple[int, ...] | None = None,
    ) -> float | Floats:
        """Rewards of the given mean (one number for a number and no size)."""
        rewards = np.asarray(self._draw(self.checked(mean, "mean"), rng, size), dtype=np.float64)
        return float(rewards) if rewards.ndim == 0 else rewards

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        """Rewards of checked means: by default with the formula `draw`."""
        means = np.broadcast_to(mean, mean.shape if size is None else size)
        rewards = rng.random(means.shape)
        flat = rewards.reshape(-1)
        for i, one in enumerate(means.reshape(-1)):
            words = rng.integers(0, 2**32, len(Source._fields))
            self.formulas.draw(self.parameter, float(one), flat[i : i + 1], Source(*words.tolist()))
        return rewards

    def checked(self, means: npt.ArrayLike, name: str = "means") -> Floats:
        """The means as a float array; an error that names the first one outside the domain."""
        try:
            array = np.asarray(means, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ArmatureError(f"{name} must be numbers; got {means!r}.") from None
        low, high, closed, _ = self.domain
        inside = np.isfinite(array) & (array <= high)
        inside &= (array >= low) if closed else (array > low)
        if not inside.all():
            at = np.argwhere(~inside)[0]
            where = name if array.ndim == 0 else f"{name}[{', '.join(map(str, at))}]"
            raise ArmatureError(
                f"{where} = {array[tuple(at)]:g} is not a mean of {self}: means of this family "
                f"are finite numbers in {self.domain}."
            )
        return array

    def _broadcast(
        self,
        kernel: Callable[[FamilyRecord, Floats, Floats, Floats], None],
        first: Floats,
        second: Floats,
    ) -> float | Floats:
        try:
            first, second = np.broadcast_arrays(first, second)
        except ValueError:
            raise ArmatureError(
                f"arrays of shapes {first.shape} and {second.shape} do not go together: "
                "give equal shapes, or a number for one of them."
            ) from None
        out = np.empty(first.shape)
        flat_first, flat_second = np.ascontiguousarray(first), np.ascontiguousarray(second)
        kernel(self.record, flat_first.ravel(), flat_second.ravel(), out.reshape(-1))
        return float(out) if out.ndim == 0 else out


def _checked_level(level: npt.ArrayLike) -> Floats:
    array = np.asarray(level, dtype=np.float64)
    if not (array >= 0.0).all():
        raise ArmatureError(f"level must be non-negative (inf is allowed); got {level!r}.")
    return array
