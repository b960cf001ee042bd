"""What is it worth to know that revenue has one peak? Twelve prices, 5,000 visitors, 100 shops.

    python examples/peak.py

Prints, for policies that know of the peak and policies that do not, the revenue lost because not
every visitor saw the best price: the mean over the shops, and its standard error.
"""

from __future__ import annotations

import argparse

import numpy as np

import armature as am

PRICES = np.arange(12) + 4.99
BUYING = 0.9 / (1.0 + np.exp((PRICES - 7.6) / 1.1))  # the share who buy, which no policy knows


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=5000)
    parser.add_argument("--shops", type=int, default=100)
    options = parser.parse_args()
    sales = am.Bernoulli(scale=PRICES)  # a reward is 0 or the price
    shop = am.Instance(am.Unimodal(len(PRICES)), PRICES * BUYING, sales)
    policies = [am.Challenger(), am.Guarded(), am.ThompsonSampling(), am.KLUCB(), am.UCB()]
    results = am.simulate(shop, policies, options.visitors, options.shops)
    for name, row in results.summary().iterrows():
        print(f"{name:<22}{row['regret']:>8.0f} +- {row['standard_error']:.0f}")


if __name__ == "__main__":
    main()
