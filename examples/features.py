"""Which flat to show first? Thirty flats, described by four features that add up.

    python examples/features.py

Visitors spend longer with a flat that suits them. The time depends on size, rent, distance to the
centre and whether there is a balcony, and each feature adds its share: how much, nobody knows.
What is seen of one flat then says something about all the others.
"""

from __future__ import annotations

import argparse

import numpy as np

import armature as am

rng = np.random.default_rng(2020)
N_FLATS = 30
SIZE = rng.normal(60.0, 15.0, N_FLATS)  # square metres
DISTANCE = rng.uniform(0.5, 10.0, N_FLATS)  # kilometres
RENT = 12.0 * SIZE - 25.0 * DISTANCE + rng.normal(0.0, 80.0, N_FLATS)  # euros
BALCONY = rng.integers(0, 2, N_FLATS)
FEATURES = np.column_stack(
    [np.ones(N_FLATS), (SIZE - 60) / 10, (RENT - 600) / 100, DISTANCE, BALCONY]
)
MINUTES = [3.0, 0.8, -0.6, -0.15, 0.5]  # what each feature is worth, which nobody knows


def main() -> None:
    """Compare policies that look at the features with policies that don't."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--horizon", type=int, default=10_000, help="visitors")
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--out", default="features.png")
    options = parser.parse_args()

    minutes = am.Gaussian(sigma=2.0)
    site = am.Instance(am.Linear(FEATURES), FEATURES @ MINUTES, minutes)
    best = site.best_arm
    print(f"The best of {N_FLATS} flats holds a visitor for {site.means[best]:.1f} minutes,")
    print(f"the average one for {site.means.mean():.1f}.")

    policies = [
        am.Challenger(), am.LinUCB(), am.SPk(), am.ThompsonSampling(), am.IMED(), am.UCB(),
    ]  # fmt: skip
    results = am.simulate(site, policies, options.horizon, options.repetitions)
    print(f"\nMinutes lost with {options.horizon} visitors, over {options.repetitions} sites:")
    print(results.summary()[["regret", "standard_error", "q50%", "q95%"]].round().astype(int))
    saved = results.paired("ThompsonSampling", "Challenger")
    share = saved.difference / results.regret("ThompsonSampling")[:, -1].mean()
    print(f"\nKnowing the features saves {share:.0%} of the regret of Thompson sampling:")
    print(f"{saved.difference:.0f} minutes (95 % interval {saved.low:.0f} to {saved.high:.0f}).")
    worst = results.regret("Challenger")[:, -1].max()
    print(f"A mean hides bad luck: in its worst run Challenger lost {worst:.0f}.")
    results.plot(options.out)


if __name__ == "__main__":
    main()
