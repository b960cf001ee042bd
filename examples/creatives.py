"""Which advertisement? Twelve creatives on four themes; one theme is better than all the others.

    python examples/creatives.py

Visitors take to one theme: its weakest creative is clicked more often than the best of any other.
Which theme that is, nobody knows. A click is worth one, a creative that is not clicked nothing.
"""

from __future__ import annotations

import argparse

import numpy as np

import armature as am

CLICK_RATES = {
    "price": [0.021, 0.018, 0.012],
    "comfort": [0.024, 0.015, 0.010],
    "adventure": [0.041, 0.035, 0.030],
    "nature": [0.019, 0.017, 0.014],
}
THEMES = [theme for theme, rates in CLICK_RATES.items() for _ in rates]


def main() -> None:
    """Compare policies that know the themes with policies that don't."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--horizon", type=int, default=20_000, help="advertisements shown")
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--out", default="creatives.png")
    options = parser.parse_args()

    rates = np.concatenate(list(CLICK_RATES.values()))
    campaign = am.Instance(am.Categorised(THEMES), rates, am.Bernoulli())
    bound = am.lower_bound(campaign)
    print(
        f"Whoever knows the themes must asymptotically lose at least {bound.value:.1f} ln T clicks,"
    )
    print(f"whoever does not, {bound.unconstrained:.1f} ln T.")

    policies = [am.Challenger(), am.SPk(), am.ThompsonSampling(), am.IMED(), am.KLUCB()]
    results = am.simulate(campaign, policies, options.horizon, options.repetitions)
    print(f"\nClicks lost in {options.horizon} views, over {options.repetitions} campaigns:")
    print(results.summary()[["regret", "standard_error", "q50%", "q95%"]].round(1))
    saved = results.paired("ThompsonSampling", "Challenger")
    share = saved.difference / results.regret("ThompsonSampling")[:, -1].mean()
    print(f"\nKnowing the themes saves {share:.0%} of the regret of Thompson sampling:")
    print(f"{saved.difference:.1f} clicks (95 % interval {saved.low:.1f} to {saved.high:.1f}).")

    print("\nViews on each theme, of a hundred:")
    for name in ("Challenger", "ThompsonSampling"):
        views = results.pulls(name)[:, -1].mean(axis=0) / options.horizon
        on = {theme: sum(views[i] for i, t in enumerate(THEMES) if t == theme) for theme in THEMES}
        print(f"{name:>18}: " + ", ".join(f"{theme} {100 * v:.1f}" for theme, v in on.items()))
    results.plot(options.out)


if __name__ == "__main__":
    main()
