"""With which probability each arm would be chosen now."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats
from armature.live.choosing import Chooser, Open, untouched
from armature.policies import History


class Probabilities(NamedTuple):
    """The probability of each arm, with standard errors.

    Attributes
    ----------
        values: of each arm, in the arms' order; they sum to 1.
        standard_errors: 0 where the probabilities are exact, because the policy leaves nothing to
            chance now. Otherwise (1 - n f) sqrt(q (1 - q) / draws), with n arms that may be chosen,
            the floor f, and q = (x + 1/2) / (draws + 1) for an arm that was drawn x times: never 0,
            for an arm that was not drawn may be likely still.
    """

    values: Floats
    standard_errors: Floats


def probabilities(chooser: Chooser, history: History, allowed: Open, draws: int) -> Probabilities:
    """What would be chosen, imagined `draws` times; the chooser stays as it is."""
    K = history.pulls.size
    open_arms = np.ones(K) if allowed is None else allowed.astype(np.float64)
    left = 1.0 - chooser.floor * open_arms.sum()
    arm, by_chance = chooser.peek(history, allowed)
    if not by_chance:
        return Probabilities(chooser.floor * open_arms + left * (np.arange(K) == arm), np.zeros(K))
    counts = np.zeros(K)
    decisions = chooser.decisions
    moment = decisions.moment()
    try:
        for number in range(draws):
            decisions.return_to(moment)
            decisions.take_chance(number)
            counts[chooser.choose(untouched(history), allowed, floor=0.0)] += 1.0
    finally:
        decisions.return_to(moment)
    q = (counts + 0.5) / (draws + 1.0)
    errors = left * np.sqrt(q * (1.0 - q) / draws) * open_arms
    return Probabilities(chooser.floor * open_arms + left * counts / draws, errors)
