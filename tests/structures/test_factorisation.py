"""Linear means: a decision factorises the matrix of the weights at most once, and rightly so."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import armature as am
from armature.kernels.arrays import Floats
from armature.structures.oracles.model import (
    Model,
    challenger_costs,
    make_model,
    nearest_alternative,
    optimistic_means,
    projection,
)

COUNT = """
import numpy as np
import armature as am
from armature.authoring import kernel
from armature.structures.oracles import linear

calls, most, factorise = [], [0], linear.factorise
linear.factorise = lambda *given: calls.append(1) or factorise(*given)
angles = np.linspace(0.0, 5.0, 6)
features = np.column_stack([np.cos(angles), np.sin(angles)])
instance = am.Instance(am.Linear(features), features @ [0.3, 1.0])


def counted(policy):
    def choose(state, model, history, stream):
        calls.clear()
        arm = policy.choose(state, model, history, stream)
        most[0] = max(most[0], len(calls))
        return arm

    counting = type("Counted", (type(policy),), {"choose": kernel(choose)})
    return counting(policy.policy) if isinstance(policy, am.Guarded) else counting()


for policy in (am.Challenger(), am.Guarded(am.Challenger()), am.TopTwo()):
    bandit, rng, live = am.Bandit(policy, instance.structure, seed=1), np.random.default_rng(0), 0
    bandit.set_floor(0.05)
    for t in range(40):
        calls.clear()
        asked = bandit.ask(ids=True) if t % 3 else bandit.ask(exclude=[5], ids=True)
        live = max(live, len(calls))
        if t % 2:
            reward = instance.means[asked.arm] + rng.normal()
            bandit.tell_by_id(asked.id, float(reward))
    most[0] = 0
    am.simulate(instance, [counted(policy)], 100, repetitions=1, workers=1)
    print(live, most[0])
"""


def test_a_decision_factorises_once() -> None:
    """Live, with all that belongs to `ask`, and in a simulation.

    Kernels are interpreted, so that calls can be counted.
    """
    done = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:3] == ["1 1"] * 3


@pytest.mark.parametrize("seed", range(3))
def test_one_model_answers_as_a_fresh_one(seed: int) -> None:
    """Whatever it was asked before: other means, other weights, a ridge regression."""
    rng = np.random.default_rng(seed)
    structure, family = am.Linear(rng.normal(size=(6, 3))), am.Gaussian()
    K = structure.n_arms
    used = make_model(structure, family)
    vectors = [(rng.normal(size=K), rng.exponential(size=K)) for _ in range(2)]
    vectors.append((vectors[0][0], vectors[1][1]))

    def asked(model: Model, question: int, mu: Floats, w: Floats) -> Floats:
        out, lam = np.zeros(K), np.zeros(K)
        if question == 0:
            projection(model, mu, w, out)
        elif question == 1:
            nearest_alternative(model, mu, w, 2, out)
        elif question == 2:
            challenger_costs(model, mu, w, 2, 0.0, out, lam)
        else:
            optimistic_means(model, mu, w, 1.5, out)
        return out

    for question, which in zip(rng.integers(4, size=60), rng.integers(3, size=60), strict=True):
        mu, w = vectors[which]
        fresh = make_model(structure, family)
        assert (asked(used, question, mu, w) == asked(fresh, question, mu, w)).all()
