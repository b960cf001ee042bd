"""The base of all reward families."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, overload

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families.record import FamilyRecord, Formulas, Interval, addresses
from armature.kernels.arrays import Floats
from armature.kernels.checks import MOST_COUNTED, as_array, check_kind, is_whole
from armature.kernels.kernel import Kernel
from armature.kernels.streams import Source


class Family:
    """A one-parameter exponential family of reward distributions, parametrised by the mean.

    With x, y means of the family and d(x, y) the Kullback-Leibler divergence between the
    distributions that have them, a family answers

    * `divergence(x, y)`: d(x, y), exact at the boundary of the domain (0 or inf, never nan);
    * `upper(x, level)`, `lower(x, level)`: the ends of { y in the domain : d(x, y) <= level };
    * `sample(mean, rng, size)`: rewards.

    Arguments are numbers or arrays, which broadcast; numbers in give a float out. What lies outside
    `domain` (the means) is refused with an `ArmatureError`. `support` is the set of rewards.

    A family can have a parameter for each arm: then `n_arms` says for how many, `for_arm(k)` is the
    family of one of them, and arguments and answers are arrays whose last axis is the arms.

    `convex` says whether y -> d(x, y) is convex. All families share the minimisers of problems made
    of order constraints alone, if their arms are alike; the other structures need it.

    A family of your own is a frozen dataclass in one file: `domain`, `support`, and `formulas`, the
    kernels that compiled code calls. It then works wherever the library's do. It must be a
    one-parameter exponential family: then pooling is averaging, which much else rests on.

    Paper: Assumption 3.
    """

    convex: ClassVar[bool] = True
    formulas: ClassVar[Formulas]
    # (p, n, total): the log-likelihood of n rewards of that total at their own mean, less the log
    # of their marginal likelihood under a prior fixed in advance; None: no evidence can be had
    learning_cost: ClassVar[Kernel[[float, float, float], float] | None] = None
    gaussian: ClassVar[bool] = False  # whether compiled code has the formulas in place
    arm_field: ClassVar[str | None] = None  # the parameter that can be a tuple: one for each arm

    @classmethod
    def examples(cls) -> tuple[Family, ...]:
        """Instances for the conformance suite."""
        return (cls(),)

    @property
    def domain(self) -> Interval:
        """The set of means."""
        raise ArmatureError(f"{type(self).__name__} declares no domain: the interval of its means.")

    @property
    def support(self) -> Interval:
        """The set of rewards."""
        raise ArmatureError(f"{type(self).__name__} declares no support: the set of its rewards.")

    @property
    def n_arms(self) -> int | None:
        """The number of arms with parameters of their own; None where all arms are alike."""
        return len(self._entries) or None

    @property
    def _entries(self) -> tuple[Any, ...]:
        """The parameters of the arms; none where one holds for all."""
        value = getattr(self, self.arm_field) if self.arm_field else None
        return value if isinstance(value, tuple) else ()

    def _with_entries(self, entries: Sequence[Any]) -> Self:
        """The same with other parameters of the arms, if they have any."""
        if self.arm_field is None or not self._entries:
            return self
        return type(self)(**{self.arm_field: entries})

    def for_arm(self, arm: int) -> Family:
        """The family of one arm's rewards."""
        return self._each[arm] if self._entries else self

    @functools.cached_property
    def _each(self) -> tuple[Self, ...]:
        return tuple(type(self)(**{self.arm_field or "": one}) for one in self._entries)

    def relabelled(self, order: Sequence[int]) -> Family:
        """The same family with the arms renumbered: arm i is what was arm order[i]."""
        if self.n_arms is None:
            return self
        if self._entries:
            return self._with_entries([self._entries[i] for i in order])
        raise ArmatureError(f"{type(self).__name__} does not say what it is with arms renumbered.")

    @property
    def alike(self) -> bool:
        """True if all arms have the same parameter, be it given for each of them."""
        if self.n_arms is None:
            return True
        first = self.for_arm(0)
        return all(self.for_arm(k) == first for k in range(1, self.n_arms))

    @property
    def pools_by_averaging(self) -> bool:
        """True if arms that are made equal meet at a mean, weighted, if need be, per variance."""
        return self.gaussian or self.alike

    @property
    def estimated(self) -> bool:
        """True if policies have to estimate the parameter."""
        return False

    @property
    def has_evidence(self) -> bool:
        """True if there is evidence for or against structures: all that `learning_cost` takes."""
        return self.learning_cost is not None and not self.as_told.estimated

    @property
    def as_told(self) -> Family:
        """The family that policies are told."""
        return self

    def estimate(self, variance: float) -> Family:
        """The family with an estimate of the variance in place of what policies are not told."""
        return self

    @property
    def some_mean(self) -> float:
        """A mean well inside of the domain (of every arm)."""
        low, high = max(end.low for end in self.domains), min(end.high for end in self.domains)
        if math.isfinite(low) and math.isfinite(high):
            return 0.5 * (low + high)
        return low + 1.0 if math.isfinite(low) else high - 1.0 if math.isfinite(high) else 0.0

    @property
    def parameter(self) -> float:
        """The first argument of the formulas."""
        return 1.0

    @property
    def shift(self) -> float:
        """The shift that is subtracted from means before the formulas see them."""
        return 0.0

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
        """The keywords that a new arm needs: none, where all arms are alike."""
        return (self.arm_field,) if self.arm_field and self._entries else ()

    def with_arm(self, at: int, facts: Mapping[str, Any]) -> Family:
        """The same family for one more arm, number `at`, of which `facts` says what is asked."""
        new = [facts[name] for name in self.arm_facts]
        return self._with_entries([*self._entries[:at], *new, *self._entries[at:]])

    def without_arm(self, arm: int) -> Family:
        """The same family for all arms but one."""
        return self._with_entries([*self._entries[:arm], *self._entries[arm + 1 :]])

    def check_arms(self, n_arms: int) -> None:
        """Refuse to go with a structure of another number of arms."""
        if self.n_arms is not None and self.n_arms != n_arms:
            raise ArmatureError(
                f"{self} is about {self.n_arms} arms, where there are {n_arms}: give one number "
                "for all arms, or one for each."
            )

    def check_known(self) -> None:
        """Refuse to answer what depends on something that is not known."""

    def record_for(self, n_arms: int) -> FamilyRecord:
        """This family as kernels see it, for so many arms."""
        self.check_arms(n_arms)
        return self._record

    @functools.cached_property
    def _record(self) -> FamilyRecord:
        try:
            return _record_of(self)
        except TypeError:  # a field that can't be hashed, such as a list
            return self._make_record()

    def _make_record(self) -> FamilyRecord:
        formulas = getattr(type(self), "formulas", None)
        if not isinstance(formulas, Formulas):
            raise ArmatureError(
                f"{type(self).__name__} declares no formulas: a reward family needs the class "
                "attribute `formulas = Formulas(...)`, the kernels that compiled code calls."
            )
        alike = self.alike
        own = [] if alike else [self.for_arm(k) for k in range(self.n_arms or 0)]
        rows = [(f.parameter, f.domain.low, f.domain.high, f.sub_gaussian_variance) for f in own]
        return FamilyRecord(
            self.gaussian,
            alike,
            self.estimated,
            self.parameter if alike else math.nan,
            self.domain.low,
            self.domain.high,
            self.sub_gaussian_variance,
            self.shift,
            np.array(rows, dtype=np.float64).reshape(len(rows), 4),
            *([0] * len(Formulas._fields) if self.gaussian else addresses(formulas)),
        )

    def __getstate__(self) -> dict[str, object]:
        """The state to pickle: all but the record, whose addresses are of this process."""
        return {name: value for name, value in self.__dict__.items() if name != "_record"}

    @functools.cached_property
    def domains(self) -> tuple[Interval, ...]:
        """The domain: of all arms, or one for each arm."""
        n = self.n_arms
        return (self.domain,) if n is None else tuple(self.for_arm(k).domain for k in range(n))

    @functools.cached_property
    def domain_ends(self) -> tuple[Floats, Floats]:
        """Their lower and their upper ends."""
        ends = self.domains
        return np.array([end.low for end in ends]), np.array([end.high for end in ends])

    @overload
    def divergence(self, x: float, y: float) -> float: ...
    @overload
    def divergence(self, x: npt.ArrayLike, y: npt.ArrayLike) -> float | Floats: ...
    def divergence(self, x: npt.ArrayLike, y: npt.ArrayLike) -> float | Floats:
        """The Kullback-Leibler divergence d(x, y) from the distribution of mean x to that of y."""
        return self._broadcast("divergences", self.checked(x, "x"), self.checked(y, "y"))

    @overload
    def upper(self, x: float, level: float) -> float: ...
    @overload
    def upper(self, x: npt.ArrayLike, level: npt.ArrayLike) -> float | Floats: ...
    def upper(self, x: npt.ArrayLike, level: npt.ArrayLike) -> float | Floats:
        """The largest mean y with d(x, y) <= level."""
        return self._broadcast("uppers", self.checked(x, "x"), _checked_level(level))

    @overload
    def lower(self, x: float, level: float) -> float: ...
    @overload
    def lower(self, x: npt.ArrayLike, level: npt.ArrayLike) -> float | Floats: ...
    def lower(self, x: npt.ArrayLike, level: npt.ArrayLike) -> float | Floats:
        """The smallest mean y with d(x, y) <= level."""
        return self._broadcast("lowers", self.checked(x, "x"), _checked_level(level))

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
        means = self.checked(mean, "mean")
        check_kind(rng, np.random.Generator, "rng", "np.random.default_rng(0)")
        _check_size(size, means.shape)
        if self.n_arms is None:
            rewards = np.asarray(self._draw(means, rng, size), dtype=np.float64)
        else:
            means = self._along_arms(means, "mean")
            means = np.broadcast_to(means, means.shape if size is None else size)
            rewards = np.empty(self._along_arms(means, "size").shape)
            for k in range(self.n_arms):
                rewards[..., k] = self.for_arm(k)._draw(means[..., k], rng, None)
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
            source = Source(*words.tolist())
            self.formulas.draw(self.parameter, float(one) - self.shift, flat[i : i + 1], source)
        return rewards + self.shift

    def checked(self, means: npt.ArrayLike, name: str = "means") -> Floats:
        """The means as a float array; an error that names the first one outside the domain."""
        array = as_array(means, name)
        if self.n_arms is None and array.size and self._has_all(array):
            return array
        wide = array if self.n_arms is None else self._along_arms(array, name)
        low, high = self.domain_ends
        inside = np.isfinite(wide) & (wide <= high)
        inside &= (wide >= low) if self.domain.closed else (wide > low)
        if not inside.all():
            at = np.argwhere(~inside.reshape(wide.shape))[:1].reshape(-1)
            where = name if array.ndim == 0 else f"{name}[{', '.join(map(str, at))}]"
            own = self if self.n_arms is None else self.for_arm(int(at[-1]))
            raise ArmatureError(
                f"{where} = {wide[tuple(at)]:g} is not a mean of {own}: means of this family "
                f"are finite numbers in {own.domain}."
            )
        return array

    def _has_all(self, means: Floats) -> bool:
        """True if all of some means are in the domain, from the least and the largest."""
        domain = self.domain
        least, most = np.minimum.reduce(means, axis=None), np.maximum.reduce(means, axis=None)
        return bool(
            (least >= domain.low if domain.closed else least > domain.low)
            and most <= domain.high
            and -math.inf < least
            and most < math.inf
        )

    def clipped(self, means: Floats) -> Floats:
        """Numbers, one for each arm, brought into the domains of the arms (ends included)."""
        return np.clip(means, *self.domain_ends)

    def _along_arms(self, array: Floats, name: str) -> Floats:
        """Numbers with the arms as their last axis."""
        K = self.n_arms or 1
        if array.ndim and array.shape[-1] not in (1, K):
            raise ArmatureError(
                f"{name} has {array.shape[-1]} entries, where {self} is about {K} arms: give one "
                "number for all arms, or one for each."
            )
        return np.broadcast_to(array, (*array.shape[:-1], K))

    def _broadcast(self, name: str, first: Floats, second: Floats) -> float | Floats:
        """The values of a kernel of (record, first, second, out) at each pair of numbers."""
        from armature.families import kernels  # which refers to this

        self.check_known()
        try:
            first, second = np.broadcast_arrays(first, second)
        except ValueError:
            raise ArmatureError(
                f"arrays of shapes {first.shape} and {second.shape} do not go together: "
                "give equal shapes, or a number for one of them."
            ) from None
        if self.n_arms is not None:
            first, second = (self._along_arms(one, "the array") for one in (first, second))
        out = np.empty(first.shape)
        kernel = getattr(kernels, name)
        flat_first, flat_second = (np.array(one, order="C").reshape(-1) for one in (first, second))
        kernel(self.record_for(self.n_arms or 1), flat_first, flat_second, out.reshape(-1))
        return float(out) if out.ndim == 0 else out


@functools.lru_cache(maxsize=256)
def _record_of(family: Family) -> FamilyRecord:
    """One record for all families that are equal."""
    return family._make_record()


def _check_size(size: int | tuple[int, ...] | None, shape: tuple[int, ...]) -> None:
    """Refuse a shape that rewards of means of a shape can't have."""
    if size is None:
        return
    sizes = size if isinstance(size, tuple) else (size,)
    if not all(is_whole(n) and 0 <= n <= MOST_COUNTED for n in sizes):
        raise ArmatureError(f"size must be a number of rewards, or a shape; got {size!r}.")
    sides = zip(reversed(shape), reversed(sizes), strict=False)
    if len(sizes) < len(shape) or any(own not in (1, n) for own, n in sides):
        raise ArmatureError(f"size = {size} does not go with means of the shape {shape}.")


def _checked_level(level: npt.ArrayLike) -> Floats:
    array = as_array(level, "level")
    if not (array >= 0.0).all():
        raise ArmatureError(f"level must be non-negative (inf is allowed); got {level!r}.")
    return array
