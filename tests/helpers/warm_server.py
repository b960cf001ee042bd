"""A server in a process that is forked from one in which everything is imported and compiled.

So a server that was killed is back within a fraction of a second, and many can be killed.
"""

from __future__ import annotations

import armature as am
from armature.service.api.server import serve
from armature.service.domain import replay

# Deterministic and random, with labels, a floor, a default reward, units that keep their arms, and
# segments.
KILLED = {
    "prices": {
        "structure": {"kind": "unimodal", "n_arms": 5},
        "family": "bernoulli",
        "policy": "challenger",
        "labels": ["a", "b", "c", "d", "e"],
        "floor": 0.02,
        "rewards": {"window": 1.0, "default": 0},
    },
    "drawn": {
        "structure": {"kind": "unconstrained", "n_arms": 4},
        "family": "gaussian",
        "policy": "thompsonsampling",
        "rewards": {"window": 1.5, "default": None},
        "sticky": 0.5,
    },
    "segments": {
        "structure": {"kind": "unconstrained", "n_arms": 4},
        "family": "gaussian",
        "policy": "thompsonsampling",
        "rewards": {"window": 1.0, "default": 0},
        "segments": {"names": ["a", "b", "c"]},
    },
}


def _warm_up() -> None:
    am.Bandit(am.Challenger(), am.Unimodal(5), am.Bernoulli()).warm_up()
    am.Bandit(am.ThompsonSampling(), am.Unconstrained(4)).warm_up()


def run(storage: str, port: int, snapshot_every: int) -> None:
    """Serve until killed."""
    replay.EVERY = snapshot_every
    serve(storage, "127.0.0.1", port)


_warm_up()
