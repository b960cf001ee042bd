"""Figure 1 of the paper: its panels, each a file with a problem and the policies compared on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from armature.experiments.experiment import Experiment, parse_experiments
from armature.experiments.spec import shipped_specs
from armature.policies import (
    IMED,
    MINTS,
    Challenger,
    Policy,
    ProjectedThompson,
    SPk,
    SPLambda,
    ThompsonSampling,
)
from armature.storage.spelling import unknown

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
EXTENSION: tuple[Policy, ...] = (
    ThompsonSampling(),
    IMED(),
    ProjectedThompson(),
    MINTS(),
    Challenger(),
)
# What the paper's own algorithms are called in its figure, and the library's variants beside them.
DRAWN_AS = {
    SPk.published().name: "SPk",
    SPLambda.published().name: "SPλ",
    SPk().name: "SPk (glr)",
    SPLambda().name: "SPλ (glr)",
}
HORIZON, REPETITIONS, SEED = 10_000, 200, 0


def policies_of(panel: str, extended: bool = False) -> tuple[Policy, ...]:
    """The paper's policies on a panel, and the library's variants of its own two.

    Extended, with those that the paper does not have.
    """
    (experiment,) = parse_experiments(shipped_specs("panels")[panel])
    return (*experiment.policies, *(EXTENSION if extended else ()))


def panel_experiments(
    panels: Sequence[str] = PANELS,
    horizon: int = HORIZON,
    repetitions: int = REPETITIONS,
    extended: bool = False,
) -> dict[str, Experiment]:
    """The experiment of each panel, in the paper's order.

    Paper: Figure 1.
    """
    for name in panels:
        if name not in PANELS:
            raise unknown("the panel", name, PANELS)
    specs = shipped_specs("panels")
    return {
        name: dataclasses.replace(
            parse_experiments(specs[name])[0],
            policies=policies_of(name, extended),
            horizon=horizon,
            repetitions=repetitions,
            seed=SEED,
        )
        for name in PANELS
        if name in panels
    }
