"""The options that the two saddle-point policies share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from armature.policies.belief import Belief
from armature.policies.game import GameOptions
from armature.policies.options import check_choice, check_number
from armature.policies.policy import CompiledPolicy, Policy
from armature.policies.thresholds import exploration_threshold, exploration_threshold_theory
from armature.words import Arm, Sentence


@dataclass(frozen=True)
class SaddlePointPolicy(CompiledPolicy):
    """What SPk and SPLambda have in common.

    Paper: Section 3, ε and intervals.
    """

    test: Literal["glr", "raw"] = "glr"
    threshold: Literal["practical", "theory"] = "practical"
    confidence: Literal["practical", "theory"] = "practical"
    epsilon: float = 1.0
    decay: float = 1.0

    tells_exploration_apart: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice(self, "test", ("glr", "raw"))
        check_choice(self, "threshold", ("practical", "theory"))
        check_choice(self, "confidence", ("practical", "theory"))
        check_number(self, "epsilon", 1e-12, what="a positive number")
        check_number(self, "decay", 1e-12, 10.0, "a positive number")

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(test="raw"), cls(threshold="theory", confidence="theory")

    @property
    def game_options(self) -> GameOptions:
        """The options as kernels see them."""
        return GameOptions(
            self.test == "glr",
            self.threshold == "theory",
            self.confidence == "theory",
            float(self.epsilon),
            float(self.decay),
        )

    def explain(self, belief: Belief) -> Sentence:
        statistic = belief.evidence + (belief.misfit if self.test == "raw" else 0.0)
        rounds, K = float(belief.rounds), len(belief.means)
        bar = (
            exploration_threshold_theory(max(rounds, 2.0), K)
            if self.threshold == "theory"
            else exploration_threshold(rounds)
        )
        leader = Arm(belief.leader)
        said = {"policy": self.name, "leader": leader, "evidence": statistic, "bar": bar}
        if statistic > bar:
            return Sentence(
                "{policy} exploits {leader}: the evidence for it, {evidence:.2f}, exceeds the "
                "threshold {bar:.2f}.",
                **said,
            )
        return Sentence(
            "{policy} explores: the evidence that {leader} is best, {evidence:.2f}, does not "
            "exceed the threshold {bar:.2f} yet.",
            **said,
        )
