"""The same knowledge about other arms: with one more, one fewer, other numbers; and about costs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from armature.errors import ArmatureError
from armature.kernels.checks import checked_number, checked_order

if TYPE_CHECKING:
    from armature.structures.structure import Structure


class Changeable:
    """A structure whose arms may come, go or be renumbered, and whose values may be costs.

    What it does not declare is refused.
    """

    n_arms: int

    exchangeable: bool = False  # M stays the same however the arms are numbered
    same_for_costs: bool = False  # `about` minus the values say the same, with good and bad swapped

    # What must be said of a new arm, by keyword; None where the structure does not say what a new
    # arm would mean. And the parameters in which these facts stand, an entry for each arm: from
    # them follows what is left without an arm, and with the arms renumbered.
    arm_facts: tuple[str, ...] | None = None
    arm_fields: ClassVar[tuple[str, ...] | None] = None

    @property
    def _itself(self) -> Structure:
        return cast("Structure", self)

    def relabelled(self, order: Sequence[int]) -> Structure:
        """The same knowledge with the arms renumbered: arm i is what was arm order[i]."""
        if self.exchangeable:
            checked_order(order, self.n_arms)
            return self._itself
        if self.arm_fields:
            permutation = checked_order(order, self.n_arms)
            return self._rebuilt(lambda values, _: [values[i] for i in permutation])._itself
        from armature.structures.composition import Relabelled

        return Relabelled(self._itself, order)

    def with_arm(self, at: int, facts: Mapping[str, Any]) -> Self:
        """The same knowledge with one more arm, number `at`; the others keep their order.

        `facts` says of it what `arm_facts` asks for.
        """
        if self.arm_fields is not None:
            new = {name: self._checked_fact(name, facts[name]) for name in self.arm_facts or ()}
            return self._rebuilt(lambda old, name: [*old[:at], new[name], *old[at:]], 1)
        raise ArmatureError(
            f"{type(self).__name__} does not say what a new arm would mean: make a new bandit with "
            "a structure for all arms, and give it what was learned as its history."
        )

    def without_arm(self, arm: int) -> Self:
        """The facts about the other arms if nothing is said about this one."""
        if self.arm_fields is not None:
            return self._rebuilt(lambda old, _: [*old[:arm], *old[arm + 1 :]], -1)
        raise ArmatureError(
            f"{type(self).__name__} does not say what is left without an arm: exclude it whenever "
            "you ask, or make a new bandit with a structure for the others."
        )

    def forgotten(self) -> Structure:
        """As many arms, of which nothing is known: what is left if the structure is dropped."""
        from armature.structures.unconstrained import Unconstrained

        return Unconstrained(self.n_arms)

    def mirrored(self, about: float) -> Structure:
        """The set of values `about - cost`, where the structure is what is known about costs.

        What a structure says of good and bad stays as it is: one peak of the values is one valley
        of the costs. Numbers, such as bounds and levels, are those of the costs.
        """
        if self.same_for_costs:
            return self._itself
        raise ArmatureError(
            f'{type(self).__name__} can\'t be read as knowledge about costs: leave goal="max", '
            "tell minus the costs, and say what is known about these."
        )

    def _checked_fact(self, name: str, value: Any) -> Any:
        """The checked fact about a new arm, or an error; by default any number."""
        return checked_number(value, name)

    def _rebuilt(self, change: Callable[[Sequence[Any], str], list[Any]], more: int = 0) -> Self:
        """The same kind of structure, with other entries for the arms, and so many more arms.

        `change` is given the entries of a parameter, and what one of them is called.
        """
        given = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        if "n_arms" in given:
            given["n_arms"] += more
        for fact, field in zip(self.arm_facts or (), self.arm_fields or (), strict=False):
            given[field] = change(given[field], fact)
        return type(self)(**given)
