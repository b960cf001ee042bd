"""One peak on a tree, and a few peaks: a round of Challenger, and a published instance.

    .venv/bin/python benchmarks/peaks.py              a few minutes
    .venv/bin/python benchmarks/peaks.py --runs 500   an hour: also the regret in so many runs

A round on `UnimodalTree` is compared with one on `Unimodal` with as many arms, in this run. The
instance is that of Réveillard and Combes (2025, arXiv 2510.25811), with the means of their code
(github.com/wilrev/MultimodalBandits): a binary tree of 7 arms with peaks at arms 4 and 6, where an
arm's mean is the sum of exp(-d / s) over the peaks, d edges away, and the one of arm 6 counts
twice; s is 0.5 or 4, sigma is 1. The paper shows its regret as a figure only.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import numpy.typing as npt

import armature as am

ROUND = 24.0  # a round on a tree beside one on a line, at most
MILLISECONDS = 2.0  # a round with 40 arms and 2 peaks, at most
BINARY = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]
HORIZON = 10_000


def seconds_of(instance: am.Instance, horizon: int) -> float:
    """The processor time of one run."""
    start = time.process_time()
    am.simulate(instance, [am.Challenger()], horizon=horizon, repetitions=1, seed=0, workers=1)
    return time.process_time() - start


def round_of(instance: am.Instance, rounds: int) -> float:
    """Microseconds of a round of Challenger, after some that begin."""
    K = instance.n_arms
    begin, end = 2 * K, 2 * K + rounds
    seconds_of(instance, begin)
    return 1e6 * (seconds_of(instance, end) - seconds_of(instance, begin)) / rounds


def distances(edges: list[tuple[int, int]]) -> npt.NDArray[np.float64]:
    """How many edges there are between any two arms."""
    K = len(edges) + 1
    far = np.full((K, K), np.inf)
    np.fill_diagonal(far, 0.0)
    for i, k in edges:
        far[i, k] = far[k, i] = 1.0
    for via in range(K):
        far = np.minimum(far, far[:, via, None] + far[None, via, :])
    return far


def trees() -> None:
    """Rounds on trees beside a line."""
    rng = np.random.default_rng(0)
    for K in (50, 100, 300):
        best = round(0.6 * K)
        line = 0.8 - np.abs(np.arange(K) - best) / K
        beside = round_of(am.Instance(am.Unimodal(K), line, am.Gaussian(0.3)), 10 * K)
        shapes = {
            "binary": [((k - 1) // 2, k) for k in range(1, K)],
            "random": [(int(rng.integers(k)), k) for k in range(1, K)],
            "star": [(0, k) for k in range(1, K)],
        }
        for name, edges in shapes.items():
            far = distances(edges)[best]
            instance = am.Instance(
                am.UnimodalTree(edges), 0.8 - 0.7 * far / far.max(), am.Gaussian(0.3)
            )
            took = round_of(instance, 10 * K)
            print(
                f"{K:4} arms  {name:7} {took:8.1f} µs, {took / beside:5.1f} x Unimodal's "
                f"({beside:.1f} µs), target {ROUND:g}",
                flush=True,
            )


def peaks() -> None:
    """Rounds with a few peaks."""
    for K, m in ((8, 2), (40, 2), (70, 5)):
        x = np.arange(K) / K
        means = np.maximum(0.8 - 2.0 * np.abs(x - 0.7), 0.6 - 2.0 * np.abs(x - 0.2))
        took = round_of(am.Instance(am.Multimodal(K, m), means, am.Gaussian(0.3)), 4 * K)
        goal = f", target {MILLISECONDS:g}" if K == 40 else ""
        print(f"{K:4} arms, {m} peaks {took / 1e3:8.2f} ms{goal}", flush=True)


def published(runs: int) -> None:
    """The bound of the published instance, and regret in some runs."""
    far = distances(BINARY)
    structure = am.MultimodalTree(BINARY, 2)
    for s in (0.5, 4.0):
        means = np.exp(-far[4] / s) + 2.0 * np.exp(-far[6] / s)
        instance = am.Instance(structure, means, am.Gaussian())
        bound = am.lower_bound(instance)
        print(
            f"s = {s:g}: bound {bound.value:.4f} ln T, {bound.value * math.log(HORIZON):.1f} at "
            f"T = {HORIZON:,}; without the structure {bound.unconstrained:.4f}"
        )
        if runs:
            policies = [am.Challenger(), am.OSSB()]
            print(am.simulate(instance, policies, horizon=HORIZON, repetitions=runs, seed=0))


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser(description="Times of trees and of a few peaks.")
    parser.add_argument("--runs", type=int, default=0, help="of the published instance")
    runs = parser.parse_args().runs
    published(runs)
    trees()
    peaks()


if __name__ == "__main__":
    main()
