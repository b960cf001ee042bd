"""One peak on a tree: the means fall along every path away from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from armature.errors import ArmatureError
from armature.structures.checks import checked_integer, checked_list, checked_n_arms, checked_order
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class UnimodalTree(Structure):
    """Arms are the nodes of a tree; away from the best arm, means do not rise along any path.

    On a path this is `Unimodal`. There is a piece for each place of the peak.

    Parameters
    ----------
    edges : sequence of pairs of int
        Pairs of arms: one fewer than there are arms, connecting all of them. A circle, or an arm
        that is left out, is refused.

    Guarantee
    ---------
    Each answer of the quadratic programs behind it is checked by its multipliers, to 1e-10 of its
    cost or to rounding; they are dense, one for each place of the peak, for tens of arms. Compared
    in tests with a convex solver, and with `Unimodal` on a path.

    >>> star = UnimodalTree([(0, 1), (0, 2), (0, 3)])
    >>> star.contains([0.5, 0.9, 0.2, 0.4]), star.contains([0.5, 0.9, 0.6, 0.4])
    (True, False)

    Limits
    ------
    A dense quadratic program for each place of the peak, for tens of arms.

    References
    ----------
    Combes and Proutiere (2014), "Unimodal Bandits: Regret Lower Bounds and Optimal Algorithms",
    where the arms are the nodes of a graph.
    """

    edges: tuple[tuple[int, int], ...]
    n_arms: int

    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[UnimodalTree, ...]:
        return cls([(0, 1)]), cls([(0, 1), (0, 2), (0, 3), (3, 4)])

    def __init__(self, edges: Sequence[Sequence[int]]) -> None:
        pairs = []
        for number, edge in enumerate(checked_list(edges, "edges")):
            if len(checked_list(edge, f"edges[{number}]")) != 2:
                raise ArmatureError(f"edges[{number}] = {edge!r} must be a pair of arms.")
            i, k = (checked_integer(arm, f"edges[{number}]") for arm in edge)
            pairs.append((i, k))
        object.__setattr__(self, "n_arms", checked_n_arms(len(pairs) + 1))
        object.__setattr__(self, "edges", tuple(pairs))
        if sorted(self._away_from(0)) != list(range(self.n_arms)):
            raise ArmatureError(
                f"the {len(pairs)} edges {list(pairs)} are not a tree over the arms 0 to "
                f"{self.n_arms - 1}: they must connect all of them, without a circle."
            )

    def _away_from(self, root: int) -> dict[int, int]:
        """Each arm that can be reached, with the arm before it on the way."""
        before = {root: root}
        waiting = [root]
        while waiting:
            here = waiting.pop()
            for i, k in self.edges:
                for there in ({i, k} - {here}) if here in (i, k) else ():
                    if there not in before:
                        before[there] = here
                        waiting.append(there)
        return before

    def pieces(self) -> Iterable[Piece]:
        for peak in range(self.n_arms):
            before = self._away_from(peak)
            orders = [(arm, before[arm]) for arm in sorted(before) if arm != peak]
            yield Piece.of_orders(self.n_arms, orders)

    def relabelled(self, order: Sequence[int]) -> UnimodalTree:
        place = {int(old): new for new, old in enumerate(checked_order(order, self.n_arms))}
        return UnimodalTree([(place[i], place[k]) for i, k in self.edges])
