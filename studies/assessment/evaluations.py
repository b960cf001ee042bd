"""Whether evaluations are unbiased, and how often their intervals hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import armature as am
from armature.kernels.arrays import Floats
from studies.assessment.replays import MEANS, Bias, draw_log

VALUED: dict[str, Any] = {
    "always arm 1": 1,
    "always arm 3": 3,
    "all arms alike": dict.fromkeys(range(MEANS.size), 1.0 / MEANS.size),
    "UCB": am.UCB(),
    "Challenger(randomised=True)": am.Challenger(randomised=True),
}
LOGS = ("fixed", "bandit")
FLOOR = 0.05  # of the bandit that makes logs


def evaluated(
    valued: str, made_by: str, rows: int, logs: int, seed: int = 0, delta: float = 0.05
) -> list[Bias]:
    """Each estimate, against the mean reward of the choices that it values.

    Logs are drawn with fixed probabilities, or made by `Challenger(randomised=True)` with a floor.
    """
    rng = np.random.default_rng(seed)
    errors: dict[str, list[float]] = {"doubly robust": [], "snips": [], "ips": [], "gain": []}
    covered = dict.fromkeys(errors, 0)
    truths = []
    structure, family = am.Unimodal(MEANS.size), am.Bernoulli()
    for i in range(logs):
        frame = fixed_log(rows, rng) if made_by == "fixed" else bandit_log(rows, rng, i)
        found = am.evaluate(frame, VALUED[valued], structure, family, delta=delta, seed=i)
        truth = float(found.shares @ MEANS)
        truths.append(truth)
        logged = float(MEANS @ shown_shares(frame))
        for name, kept in errors.items():
            aim = truth - logged if name == "gain" else truth
            one = found.gain if name == "gain" else found[name]
            kept.append(one.value - aim)
            covered[name] += int(one.low <= aim <= one.high)
    return [
        Bias(f"{name}, {made_by}", valued, logs, float(np.mean(truths)), float(np.mean(kept)),
             float(np.std(kept, ddof=1) / np.sqrt(logs)), covered[name] / logs)
        for name, kept in errors.items()
    ]  # fmt: skip


def fixed_log(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """A log of arms that are drawn with the same probabilities in every row."""
    arms, shown, rewards = draw_log(rows, rng)
    return pd.DataFrame({"arm": arms, "reward": rewards, "probability": shown})


def bandit_log(rows: int, rng: np.random.Generator, seed: int) -> pd.DataFrame:
    """The log of a bandit that draws; each decision has its exact probability."""
    structure, family = am.Unimodal(MEANS.size), am.Bernoulli()
    bandit = am.Bandit(am.Challenger(randomised=True), structure, family, floor=FLOOR, seed=seed)
    kept = []
    for _ in range(rows):
        decision = bandit.ask(ids=True)
        reward = float(rng.random() < MEANS[decision.arm])
        bandit.tell_by_id(decision.id, reward)
        kept.append((decision.arm, reward, decision.probability))
    return pd.DataFrame(kept, columns=["arm", "reward", "probability"])


def shown_shares(frame: pd.DataFrame) -> Floats:
    """How often each arm was shown."""
    counts = np.bincount(frame.arm.to_numpy(), minlength=MEANS.size)
    return np.asarray(counts / len(frame))
