"""Every policy with every structure and family that it supports; and what bad input gets."""

from __future__ import annotations

import numpy as np
import pytest
from plain_structure import Plain
from structures_again import FAMILIES, KINDS

import armature as am
from armature.storage.registry import POLICIES
from armature.testing import check_policy, discover, supported_families

ROUNDS = 60


def test_every_policy_has_a_name() -> None:
    assert set(discover(am.Policy, am)) == set(POLICIES.values())


CASES = [
    pytest.param(policy, kind, id=f"{policy.__name__}-{kind.__name__}")
    for policy in POLICIES.values()
    for kind in KINDS
    if kind is not am.Grid  # which is its pieces and nothing else, as an intersection is
]


def trials_of(
    policy: type[am.Policy], kind: type[am.Structure]
) -> list[tuple[am.Policy, am.Structure, am.Family]]:
    """The first variant with every example of a structure; every variant with the largest example.

    The latter with every family, the others with the first one that is supported.
    """
    examples = kind.examples()
    largest = max(examples, key=lambda structure: structure.n_arms)
    trials = []
    for n, variant in enumerate(policy.examples()):
        for structure in [largest] if n else examples:
            known = supported_families(structure)
            families = [f for f in FAMILIES if f in known and variant.supports(structure, f)]
            families = families if structure is largest else families[:1]
            trials += [(variant, structure, family) for family in families]
    return trials


@pytest.mark.checks("policies", by="the conformance suite")
@pytest.mark.parametrize(("policy", "kind"), CASES)
def test_conformance(policy: type[am.Policy], kind: type[am.Structure]) -> None:
    trials = trials_of(policy, kind)
    if not trials:
        pytest.skip(f"{policy.__name__} is not for {kind.__name__}")
    for trial in trials:
        check_policy(*trial, ROUNDS)


def test_what_conformance_covers() -> None:
    """Each policy meets all that it supports, and not only where there are two arms."""
    for policy in POLICIES.values():
        first = policy.examples()[0]
        for kind in KINDS:
            trials = trials_of(policy, kind)
            met = {(structure, type(family)) for _, structure, family in trials}
            for structure in kind.examples():
                families = [
                    f for f in supported_families(structure) if first.supports(structure, f)
                ]
                assert not families or any(other == structure for other, _ in met)
            if trials:
                assert {variant for variant, _, _ in trials} == set(policy.examples())
                assert max(structure.n_arms for _, structure, _ in trials) >= 4


@pytest.mark.parametrize(
    "policy",
    [
        am.SPk(),
        am.SPLambda(),
        am.OSSB(epsilon=0.1),
        am.ProjectedThompson(),
        am.MINTS(),
        am.Challenger(),
    ],
)
def test_generic_policies_take_a_structure_in_plain_python(policy: am.Policy) -> None:
    rewards = np.random.default_rng(0).normal([0.0, 0.5, 1.0], 1.0, (200, 3))
    plain = am.Bandit(policy, Plain(3))
    compiled = am.Bandit(policy, am.Unconstrained(3))
    for t in range(200):
        arm = plain.ask()
        assert arm == compiled.ask()
        plain.tell(arm, rewards[t, arm])
        compiled.tell(arm, rewards[t, arm])


def test_a_policy_that_does_not_go_with_a_structure_is_refused() -> None:
    with pytest.raises(am.ArmatureError, match="CATSE is for Categorised structures, not for Lin"):
        am.Bandit(am.CATSE(delta=0.1), am.Linear(np.eye(3)))
    with pytest.raises(
        am.ArmatureError, match="UCB is for sub-Gaussian rewards, such as Gaussian or Bernoulli"
    ):
        am.Bandit(am.UCB(), am.Unconstrained(3), am.Poisson())
    with pytest.raises(am.ArmatureError, match="OSSB needs to know the number of rounds"):
        am.Bandit(am.OSSB(), am.Unconstrained(3))
    with pytest.raises(am.ArmatureError, match="test must be 'glr' or 'raw'; got 'lr'"):
        am.SPk(test="lr")
    with pytest.raises(am.ArmatureError, match="epsilon must be a positive number"):
        am.SPLambda(epsilon=0.0)
    with pytest.raises(am.ArmatureError, match="policy must be a policy such as SPk"):
        am.Bandit("SPk", am.Unconstrained(3))
