"""Optuna's samplers on one ordered, noisy parameter: what their trials earn, and what they advise.

    python benchmarks/optuna_samplers.py                  # needs the extra "optuna"
    python benchmarks/optuna_samplers.py --trials 400 --studies 40

Two problems. *Widths*: ten layer widths whose accuracy has one peak, measured with noise as large
as the differences that matter. *Prices*: twelve prices; a trial is a day with 50 visitors, each of
whom buys or does not. "regret" is what the trials lose to always taking the best value, per trial;
"right" is how often the advised value is the best one, "lost" what it loses on average. The advice
is the arm that leads (`verdict`) for the bandit, and the value with the best mean for the others;
"luckiest" is how often `study.best_params`, the luckiest trial, is right.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optuna

from armature.integrations.optuna import StructuredSampler

PRICES = np.arange(4.0, 16.0)
BUYING = 1.0 / (1.0 + np.exp((PRICES - 10.0) / 1.5))


class OrderedProblem(NamedTuple):
    """Values in order, their means, and a noisy look at one of them."""

    values: Sequence[Any]
    means: np.ndarray
    draw: Callable[[np.random.Generator, int], float]


def widths() -> OrderedProblem:
    """Accuracies of ten widths, with noise of 0.02."""
    means = np.array([0.80, 0.84, 0.87, 0.89, 0.90, 0.91, 0.90, 0.88, 0.85, 0.81])
    values = [2**k for k in range(3, 13)]
    return OrderedProblem(values, means, lambda rng, k: float(means[k] + 0.02 * rng.normal()))


def prices() -> OrderedProblem:
    """The mean revenue of 50 visitors."""

    def draw(rng: np.random.Generator, k: int) -> float:
        return float(PRICES[k] * rng.binomial(50, BUYING[k]) / 50)

    return OrderedProblem(PRICES.tolist(), PRICES * BUYING, draw)


SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "StructuredSampler": lambda seed: StructuredSampler("x", seed=seed),
    "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "RandomSampler": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def one_study(problem: OrderedProblem, name: str, trials: int, seed: int) -> tuple[float, ...]:
    """(regret per trial, the advice is right, what it loses, the luckiest trial is right)."""
    rng = np.random.default_rng(seed)
    places = {value: k for k, value in enumerate(problem.values)}
    sampler = SAMPLERS[name](seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        return problem.draw(rng, places[trial.suggest_categorical("x", problem.values)])

    study.optimize(objective, n_trials=trials)
    pulled = np.array([places[trial.params["x"]] for trial in study.trials])
    found = np.array([trial.value for trial in study.trials])
    if isinstance(sampler, StructuredSampler):
        advised = places[sampler.bandit(study).verdict().arm]
    else:
        seen = np.unique(pulled)
        advised = int(seen[np.argmax([found[pulled == k].mean() for k in seen])])
    best = int(problem.means.argmax())
    lost = problem.means[best] - problem.means
    lucky = places[study.best_params["x"]] == best
    return float(lost[pulled].mean()), float(advised == best), float(lost[advised]), float(lucky)


def main() -> None:
    """Print a table for each problem."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--studies", type=int, default=20)
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for title, problem in (("widths", widths()), ("prices", prices())):
        print(f"{title}: {given.studies} studies of {given.trials} trials, mean ± standard error")
        print(f"{'sampler':>18} {'regret':>18} {'right':>7} {'lost':>9} {'luckiest':>9}")
        for name in SAMPLERS:
            runs = [one_study(problem, name, given.trials, seed) for seed in range(given.studies)]
            regret, right, lost, lucky = np.array(runs).T
            error = regret.std(ddof=1) / np.sqrt(regret.size)
            print(
                f"{name:>18} {regret.mean():>9.4f} ± {error:.4f} {right.mean():>7.0%} "
                f"{lost.mean():>9.4f} {lucky.mean():>9.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
