"""What should it cost? Twelve prices, a sale or none for each visitor, and revenue with one peak.

    python examples/pricing.py

A shop shows each visitor one of twelve prices and books the price or nothing. Too cheap and too
dear both lose money, so the revenue per visitor has one peak along the prices: that is all that
the shop knows. It has sold at three of the prices for three months. Finance wants 2 % of the
visitors on each price; on Sundays the two highest must not be shown; and one visitor in ten is
never heard of again.

Then the same shop, many times, with its rewards described in three ways; and policies that know of
the peak beside policies that do not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from matplotlib import pyplot

import armature as am

PRICES = np.arange(6.0, 30.0, 2.0)  # in euros
BUYING = 0.2 / (1.0 + np.exp((PRICES - 17.0) / 3.0))  # the share who buy, which nobody knows
KNOWN = am.Unimodal(len(PRICES))
SALES = am.Bernoulli(scale=PRICES)  # a reward is 0 or the price
PAST = {  # three months at three prices: visitors, and what they spent
    "counts": {10.0: 900, 14.0: 1200, 20.0: 600},
    "sums": {10.0: 1610.0, 14.0: 2506.0, 20.0: 660.0},
}
FLOOR = 0.02  # of the visitors, for each price
NOT_ON_SUNDAYS = [26.0, 28.0]
DAY = 500  # visitors
LOST = 0.1  # visitors who are never heard of again


def visitors(seed: int) -> Iterator[np.ndarray]:
    """For each visitor, what it would spend at each price."""
    rng = np.random.default_rng(seed)
    while True:
        yield PRICES * (rng.random() < BUYING)


def run_the_shop(horizon: int) -> am.Bandit:
    """Ask for a price, show it, tell what came of it: what a live system would do."""
    bandit = am.Bandit(
        am.Challenger(), KNOWN, SALES, labels=PRICES.tolist(), history=PAST, floor=FLOOR
    )
    luck = np.random.default_rng(1)
    for number, spends in zip(range(horizon), visitors(seed=0), strict=False):
        sunday = number // DAY % 7 == 6
        price = bandit.ask(exclude=NOT_ON_SUNDAYS if sunday else [])
        if luck.random() < LOST:
            bandit.cancel(price)
        else:
            bandit.tell(price, spends[bandit.arms.index(price)])
    return bandit


def lost_by(family: am.Family, horizon: int, seed: int) -> float:
    """The euros that a shop loses to the best price if it is told to expect such rewards."""
    bandit = am.Bandit(am.Challenger(), KNOWN, family, seed=seed)
    for _, spends in zip(range(horizon), visitors(seed), strict=False):
        arm = bandit.ask()
        bandit.tell(arm, spends[arm])
    revenue = PRICES * BUYING
    return float(bandit.pulls @ (revenue.max() - revenue))


def compare_families(horizon: int, shops: int) -> None:
    """The same shops, whose rewards are said to be this or that."""
    print(f"\nEuros lost to {horizon} visitors, over {shops} shops that say what one spends is:")
    for words, family in (
        ("0 or the price", SALES),
        ("normal, of unknown spread", am.Gaussian(sigma=None)),
        ("normal, spread guessed as 20", am.Gaussian(sigma=20.0)),
    ):
        euros = [lost_by(family, horizon, seed) for seed in range(shops)]
        error = np.std(euros, ddof=1) / np.sqrt(shops)
        print(f"{words:>30} {np.mean(euros):>8.0f} +- {error:.0f}")


def compare_policies(horizon: int, repetitions: int) -> None:
    """What it is worth to know that there is one peak."""
    shop = am.Instance(KNOWN, PRICES * BUYING, SALES)
    policies = [am.Challenger(), am.OSUB(), am.SPk(), am.ThompsonSampling(), am.KLUCB()]
    results = am.simulate(shop, policies, horizon, repetitions)
    print(f"\nEuros lost to {horizon} visitors, over {repetitions} shops:")
    print(results.summary()[["regret", "standard_error", "q50%", "q95%"]].round().astype(int))
    saved = results.paired("ThompsonSampling", "Challenger")
    share = saved.difference / results.regret("ThompsonSampling")[:, -1].mean()
    print(f"\nKnowing that there is one peak saves {share:.0%} of the regret of Thompson sampling:")
    print(f"{saved.difference:.0f} euros (95 % interval {saved.low:.0f} to {saved.high:.0f}).")


def draw(seen: am.Explanation, horizon: int, path: str) -> None:
    """What the shop has found out, and where it looked."""
    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(7, 6), layout="constrained")
    top.plot(PRICES, PRICES * BUYING, color="black", label="true revenue")
    top.vlines(PRICES, seen.low, seen.high, color="#D55E00", alpha=0.4)
    top.plot(PRICES, seen.projected, "o", color="#D55E00", label="fitted, with one peak")
    top.set(ylabel="euros per visitor", ylim=(0.0, None))
    top.legend(frameon=False)
    before = np.array([PAST["counts"].get(price, 0) for price in PRICES])
    bottom.bar(PRICES, seen.pulls, 1.2, color="#0072B2", label="now")
    bottom.bar(PRICES, before, 1.2, color="#56B4E9", label="in the past")
    floor = FLOOR * (1.0 - LOST) * horizon
    bottom.axhline(floor, color="black", lw=0.8, ls=":", label="2 % of those heard of")
    bottom.set(yscale="log", ylabel="visitors", xlabel="price in euros", xticks=PRICES)
    bottom.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the shop once, then many shops."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--horizon", type=int, default=10_000, help="visitors")
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--shops", type=int, default=5, help="live, for each kind of rewards")
    parser.add_argument("--out", default="pricing.png")
    options = parser.parse_args()

    print(f"One shop after {options.horizon} visitors, and three months before:")
    seen = run_the_shop(options.horizon).explain()
    print(seen)
    draw(seen, options.horizon, options.out)
    compare_families(options.horizon, options.shops)
    compare_policies(options.horizon, options.repetitions)


if __name__ == "__main__":
    main()
