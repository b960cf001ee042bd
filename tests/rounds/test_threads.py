"""What `docs/files.md` says of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from plain_structure import Plain

import armature as am

THREADS = 4


SHARED = [
    (am.SPk(), am.Unimodal(4)),
    (am.Challenger(), am.Unimodal(4)),
    (am.SPk(), Plain(3)),
    (am.ThompsonSampling(), am.Unconstrained(5)),
]


def decisions(seed: int) -> list:
    """What bandits of one seed do, all made from the same policies and structures."""
    rng = np.random.default_rng(seed)
    bandits = [am.Bandit(policy, structure, seed=seed) for policy, structure in SHARED]
    arms = []
    for _ in range(60):
        for bandit in bandits:
            arms.append(bandit.ask())
            bandit.tell(arms[-1], 0.3 * arms[-1] + rng.normal())
    return [arms, [bandit.to_json() for bandit in bandits]]


def test_bandits_in_different_threads_do_not_disturb_each_other() -> None:
    alone = [decisions(seed) for seed in range(2 * THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(decisions, range(2 * THREADS))) == alone


def test_simulations_in_different_threads_give_the_same_numbers() -> None:
    instance = am.Instance(am.Unimodal(4), [0.1, 0.5, 0.9, 0.3])

    def final(seed: int) -> list:
        results = am.simulate(instance, [am.SPk(), am.UCB()], 300, 4, seed, workers=2)
        return [results.regret(name).tolist() for name in results.names]

    alone = [final(seed) for seed in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(final, range(THREADS))) == alone
