"""Evidence against a structure, valid at any time and under any way of choosing arms.

Let `misfit` be the least sum_k N_k d(mean_k, lam_k) over lam in M, and let every arm have a prior
for its mean, fixed in advance. The *learning cost* of an arm is the log-likelihood of its rewards
at their own mean, less the log of their marginal likelihood under its prior. Then

    log E = misfit - sum_k (learning cost of arm k).

**P(E ever reaches 1 / delta) <= delta**, whatever the means in M, whoever chooses the arms, in
whatever way, and whenever one looks:

1. The own means' log-likelihood is misfit + max over M of the log-likelihood. So E is the marginal
   likelihood of all rewards over the largest likelihood in M, which is at most their marginal
   likelihood over their likelihood at the true means.
2. The latter ratio is a martingale that starts at 1: given the past, the next arm is fixed and its
   reward has the true density, so that the ratio's expected growth is the integral of the
   predictive density, which is 1. A non-negative martingale that starts at 1 ever reaches
   1 / delta with probability at most delta (Ville, 1939).

A marginal likelihood that is too small (weights of a mixture of priors that add up to less than 1)
makes it a supermartingale, and the same holds. So it does for rewards whose exponential moments
are at most the family's (anything in [0, 1] for Bernoulli, sub-Gaussian rewards for Gaussian): a
ratio of densities is exp(a reward - b), with an expectation that is then at most 1.

References: Ville (1939), "Étude critique de la notion de collectif".

Limits: weak where there are many arms; not valid where sigma is estimated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import learning_address, total_learning_cost
from armature.kernels.arrays import Floats
from armature.kernels.checks import SMALLEST, as_real
from armature.kernels.kernel import inlined
from armature.storage.tagged_json import encoded
from armature.structures import Fit, Structure
from armature.words import Arm, Card, Sentence, Shown

DELTA = 0.01
MOST = 0.8  # the share of the misfit that the arms named account for


@inlined
def doubt_of(misfit: float, K: int) -> float:
    """-ln of a bound on P(the misfit is as large) at one fixed time, if the structure is true.

    Chernoff's bound for half a chi-squared variable of K degrees of freedom, which the misfit at
    the true means is for Gaussian rewards; the misfit to M is at most that.
    """
    half = 0.5 * K
    if not misfit > half:
        return 0.0
    if misfit == math.inf:
        return math.inf
    return misfit - half - half * math.log(misfit / half)


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Shown):
    """The fit of a structure to the data; `str` gives it in words, `to_json` as JSON.

    Attributes
    ----------
        log_e: the logarithm of the evidence against the structure: if the structure is true, it
            ever reaches ln(1 / delta) with probability at most delta.
        threshold: ln(1 / delta), at which the structure counts as refuted.
        misfit: how far the data are from the structure, as a log-likelihood ratio.
        learning: what the misfit has to exceed, as the arms' means are not known in advance.
        doubt: -ln of a bound on the probability of such a misfit at a time fixed in advance.
        shares: each arm's part of the misfit, N_k d(mean_k, fitted_k); 0 where the misfit is
            infinite, as there is no fit then.
        arms: what the arms are called.
        dropped: the round in which a `Guarded` policy has dropped the structure; None: it has not.
            The other numbers are then those of that round.
        part: where the rewards changed, which of them this is about: those "before" the change or
            those "since", whichever fit worse; None: it is about all.
    """

    log_e: float
    threshold: float
    misfit: float
    learning: float
    doubt: float
    shares: Floats
    arms: tuple[Hashable, ...]
    dropped: int | None = None
    part: str | None = None

    @property
    def refuted(self) -> bool:
        """True if the evidence has reached its threshold."""
        return self.log_e >= self.threshold

    @property
    def carriers(self) -> tuple[Hashable, ...]:
        """The fewest arms that carry four fifths of the misfit, the heaviest first."""
        return tuple(self.arms[k] for k in self._carriers())

    def _carriers(self) -> list[int]:
        order = np.argsort(-self.shares, kind="stable")
        before = np.cumsum(self.shares[order]) - self.shares[order]
        heavy = (before < MOST * self.shares.sum()) & (self.shares[order] > 1e-12)
        found: list[int] = order[heavy].tolist()
        return found

    def card(self) -> Card:
        return Card(str(self))

    def sentence(self, name: str | None = None) -> Sentence:
        """The same in words, about "the structure" or one that has a name."""
        if self.part is None:
            return self._sentence(name)
        text = "The rewards changed; those before and since do not refute the structure."
        if self.refuted:
            text = "The rewards changed, but those {part} the change refute the structure as well."
        return Sentence(text, part=self.part) + self._sentence(name)

    def _sentence(self, name: str | None) -> Sentence:
        said = {
            "Structure": name or "The structure",
            "structure": name or "the structure",
            "carriers": [Arm(k) for k in self._carriers()],
            "log_e": self.log_e,
            "threshold": self.threshold,
            "dropped": self.dropped,
            "chance": math.exp(-max(self.log_e, 0.0)),
        }
        numbers = "(log-evidence {log_e:.3g}, refuted at {threshold:.3g})"
        mostly = "mostly because of {carriers}"
        if self.misfit == math.inf:
            mostly = "because no means in it could have given these rewards"
        if self.dropped is not None:
            return Sentence(
                f"{{Structure}} was dropped after round {{dropped}}, {mostly}: the log-evidence "
                "against it was {log_e:.3g}, the threshold {threshold:.3g}.",
                **said,
            )
        if self.refuted:
            return Sentence(
                f"{{Structure}} is refuted, {mostly} {numbers}: if it were true, evidence as high "
                "as this would appear with probability {chance:.1g} at most.",
                **said,
            )
        if self.doubt > self.threshold / 2.0:
            return Sentence(
                "The data fit {structure} badly, mostly at {carriers}, but do not refute it "
                f"{numbers}.",
                **said,
            )
        return Sentence(f"The data fit {{structure}} {numbers}.", **said)

    def __str__(self) -> str:
        return self.sentence().shown(self.arms)

    def to_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "log_e": self.log_e,
            "threshold": self.threshold,
            "refuted": self.refuted,
            "misfit": self.misfit,
            "learning": self.learning,
            "doubt": self.doubt,
            "shares": self.shares.tolist(),
            "arms": list(self.arms),
            "carriers": list(self.carriers),
            "dropped": self.dropped,
            "part": self.part,
            "words": str(self),
        }

    def to_json(self) -> str:
        """The same as JSON; what JSON does not have is written as in all files of the library."""
        return json.dumps(encoded(self.to_data()), allow_nan=False)


def threshold_at(delta: float) -> float:
    """ln(1 / delta), which the evidence against a true structure reaches with this probability."""
    if not 0.0 < as_real(delta) < 1.0:
        raise ArmatureError(f"delta must be a probability, between 0 and 1; got {delta!r}.")
    return math.log(1.0 / delta)


def evidence(
    structure: Structure,
    family: Family,
    pulls: Floats,
    sums: Floats,
    delta: float = DELTA,
    arms: Sequence[Hashable] | None = None,
    fit: Fit | None = None,
) -> Evidence:
    """The evidence against a structure in rewards of which only their number and sum are known.

    Arms without rewards are welcome. The order of rewards, and why an arm was pulled, play no part.
    `fit` is the projection of the means, where it is there already.

    >>> from armature.families import Gaussian
    >>> from armature.structures import Unimodal
    >>> pulls = np.array([100.0, 100.0, 100.0])
    >>> found = evidence(Unimodal(3), Gaussian(), pulls, pulls * [0.9, 0.1, 0.9])
    >>> found.refuted, round(found.misfit, 2)
    (True, 16.0)
    """
    threshold, address = threshold_at(delta), learning_address(family)
    seen, K = pulls > 0.0, structure.n_arms
    means = np.where(seen, sums / np.where(seen, pulls, 1.0), family.some_mean)
    means = family.clipped(means)  # rounding
    if not family.domain.closed:  # sums that are differences can be rounded down to the end
        means = np.maximum(means, family.domain_ends[0] + SMALLEST)
    fit = structure.project(means, pulls, family) if fit is None else fit
    shares = np.zeros_like(pulls)
    if fit.cost < math.inf:
        parts = np.asarray(family.divergence(means, np.asarray(fit.means)))
        shares[seen] = pulls[seen] * parts[seen]
    judged = structure.judged(family, pulls, sums)
    learning = total_learning_cost(address, *judged)
    return Evidence(
        log_e=float(fit.cost - learning) if learning < math.inf else -math.inf,
        threshold=threshold,
        misfit=float(fit.cost),
        learning=float(learning),
        doubt=float(doubt_of(fit.cost, judged[1].size)),
        shares=shares,
        arms=tuple(range(K)) if arms is None else tuple(arms),
    )
