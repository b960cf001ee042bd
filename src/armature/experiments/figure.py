"""Figure 1 of the paper: which panels it has, and which policies were compared on each."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from armature.descriptions import unknown
from armature.experiments.experiment import Experiment
from armature.experiments.spec import load_instance, shipped_specs
from armature.policies import (
    CATSE,
    IMED,
    MINTS,
    OSSB,
    OSUB,
    UCB,
    Challenger,
    EndOfOptimism,
    LinUCB,
    Policy,
    ProjectedThompson,
    SparseUCB,
    SPk,
    SPLambda,
    StructuredUCB,
    ThompsonSampling,
)

PANELS = (
    "unconstrained",
    "categorised-1",
    "categorised-2",
    "linear",
    "unimodal-1",
    "unimodal-2",
    "sparse-1",
    "sparse-2",
)
EVERYWHERE: tuple[Policy, ...] = (SPk(), SPLambda(), OSSB(), UCB(), StructuredUCB())
SPECIALISED: dict[str, tuple[Policy, ...]] = {
    "categorised": (CATSE(),),
    "linear": (EndOfOptimism(), LinUCB()),
    "unimodal": (OSUB(),),
    "sparse": (SparseUCB(),),
}
EXTENSION: tuple[Policy, ...] = (
    SPk(test="raw"),
    ThompsonSampling(),
    IMED(),
    ProjectedThompson(),
    MINTS(),
    Challenger(),
)
HORIZON, REPETITIONS, SEED = 10_000, 200, 0


def policies_of(panel: str, extended: bool = False) -> tuple[Policy, ...]:
    """The paper's policies on a panel; extended, with those that the paper does not have."""
    specialised = SPECIALISED.get(panel.partition("-")[0], ())
    return (*EVERYWHERE, *specialised, *(EXTENSION if extended else ()))


def panel_experiments(
    panels: Sequence[str] = PANELS,
    horizon: int = HORIZON,
    repetitions: int = REPETITIONS,
    extended: bool = False,
) -> dict[str, Experiment]:
    """The experiment of each panel, in the paper's order."""
    for name in panels:
        if name not in PANELS:
            raise unknown("the panel", name, PANELS)
    return {
        name: Experiment(
            title=tomllib.loads(shipped_specs("panels")[name])["title"],
            instance=load_instance(name),
            policies=policies_of(name, extended),
            horizon=horizon,
            repetitions=repetitions,
            seed=SEED,
            point={},
        )
        for name in PANELS
        if name in panels
    }
