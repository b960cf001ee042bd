"""Visitors of a shop, who see the price that a server decides on and buy or do not.

python examples/guide/visitors.py http://127.0.0.1:8000 [VISITORS]
"""

from __future__ import annotations

import sys

import numpy as np

from armature.client import Client

BUYS = {8: 0.29, 9: 0.275, 10: 0.26, 11: 0.24, 12: 0.19, 13: 0.15, 14: 0.11, 15: 0.08}


def main() -> None:
    """Each visitor is one decision and one reward."""
    url, visitors = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = np.random.default_rng(7)
    earned = 0.0
    with Client(url) as client:
        for number in range(visitors):
            decision = client.decide("notebook", request_id=f"visit {number}")
            revenue = float(decision.arm) if rng.random() < BUYS[int(decision.arm)] else 0.0
            client.reward(decision.id, revenue)
            earned += revenue
    print(f"{visitors} visitors brought {earned:.0f} euros")


if __name__ == "__main__":
    main()
