"""What should it cost? Twelve prices, and a revenue that rises up to one and falls after it.

    python examples/pricing.py

A shop changes its price after every hundred visitors and books the revenue per visitor. Too cheap
and too dear both lose money, so the revenue has one peak. That is all that the shop knows.

SPk, whose guarantee is for long horizons, loses more than UCB here: it is still exploring.
"""

from __future__ import annotations

import argparse

import numpy as np
from matplotlib import pyplot

import armature as am

PRICES = np.arange(6.0, 30.0, 2.0)  # in euros
BATCH = 100  # visitors between two changes of price
SIGMA = 0.4  # standard deviation of a batch's revenue per visitor, from past sales
KNOWN = am.Unimodal(len(PRICES))
BUYING = 0.12 / (1.0 + np.exp((PRICES - 17.0) / 3.0))  # the share who buy, which nobody knows


def run_the_shop(batches: int) -> am.Bandit:
    """Ask for a price, sell at it, tell the revenue: what a live system would do."""
    visitors = np.random.default_rng(0)
    buying = dict(zip(PRICES, BUYING, strict=True))
    bandit = am.Bandit(am.Challenger(), KNOWN, am.Gaussian(SIGMA), labels=PRICES.tolist())
    for _ in range(batches):
        price = bandit.ask()
        sales = visitors.binomial(BATCH, buying[price])
        bandit.tell(price, price * sales / BATCH)
    return bandit


def draw(seen: am.Explanation, path: str) -> None:
    """What the shop has found out, and where it looked."""
    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(7, 6), layout="constrained")
    top.plot(PRICES, PRICES * BUYING, color="black", label="true revenue")
    top.plot(PRICES, seen.projected, "o", color="#D55E00", label="fitted, with one peak")
    top.set(ylabel="euros per visitor")
    top.legend(frameon=False)
    bottom.bar(PRICES, seen.pulls, 1.2, color="#0072B2")
    bottom.set(yscale="log", ylabel="batches at this price", xlabel="price in euros", xticks=PRICES)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the shop once, then compare policies over many simulated shops."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--horizon", type=int, default=5_000, help="batches of visitors")
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--out", default="pricing.png")
    options = parser.parse_args()

    print(f"One shop after {options.horizon} batches:")
    seen = run_the_shop(options.horizon).explain()
    print(seen)
    draw(seen, options.out)

    shop = am.Instance(KNOWN, PRICES * BUYING, am.Gaussian(SIGMA))
    policies = [am.Challenger(), am.OSUB(), am.SPk(), am.ThompsonSampling(), am.UCB()]
    results = am.simulate(shop, policies, options.horizon, options.repetitions)
    print(f"\nEuros lost in {options.horizon} batches, over {options.repetitions} shops:")
    euros = BATCH * results.summary()[["regret", "standard_error", "q50%", "q95%"]]
    print(euros.round().astype(int))
    saved = results.paired("ThompsonSampling", "Challenger")
    share = saved.difference / results.regret("ThompsonSampling")[:, -1].mean()
    low, high = BATCH * saved.low, BATCH * saved.high
    print(f"\nKnowing that there is one peak saves {share:.0%} of the regret of Thompson sampling:")
    print(f"{BATCH * saved.difference:.0f} euros (95 % interval {low:.0f} to {high:.0f}).")


if __name__ == "__main__":
    main()
