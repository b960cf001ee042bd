"""Challenger with one part changed at a time."""

from __future__ import annotations

import dataclasses

import numpy as np

from armature import Challenger, Policy
from studies.challenger.cases import GROUPS, Case, panel_cases

VARIANTS: tuple[Policy, ...] = (
    Challenger(),
    Challenger(patience=0.0),
    Challenger(patience=0.5),
    Challenger(patience=2.0),
    Challenger(price=2.0),
    Challenger(share=0.0),
    Challenger(share=0.5),
    Challenger(draw="sample"),
    Challenger(draw="tail"),
    Challenger(draw="sample", patience=50.0),
    Challenger(draw="tail", patience=50.0),
)
ABLATED = ("unimodal-20", "categorised-20-5", "sparse-20-4", "linear-20-5", "linear-6-2-tied")


def ablation_cases() -> list[Case]:
    """The panels and two instances of some random groups."""
    cases = [dataclasses.replace(case, policies=VARIANTS) for case in panel_cases()]
    for group in ABLATED:
        place = list(GROUPS).index(group)
        for number in range(2):
            instance = GROUPS[group](np.random.default_rng([place, number]))
            cases.append(Case(group, number, instance, VARIANTS))
    return cases
