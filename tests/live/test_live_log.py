"""A bandit against a plain count of what happened to it, and against its own log."""

from __future__ import annotations

import pytest
from live_log import LiveUse, rebuilt

import armature as am

POLICIES = [
    am.Challenger(), am.SPk(), am.UCB(), am.OSSB(horizon=900), am.OSUB(), am.ThompsonSampling(),
]  # fmt: skip


def start(policy: am.Policy, goal: str) -> am.Bandit:
    labels = [f"arm {k}" for k in range(4)]
    return am.Bandit(
        policy, am.Unimodal(4), am.Bernoulli(), seed=3, labels=labels, goal=goal, floor=0.02
    )


@pytest.mark.parametrize("goal", ["max", "min"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_anything_that_may_happen(policy: am.Policy, goal: str) -> None:
    """Counts are right, the log gives the same bandit, and so does what was saved at any moment."""
    use = LiveUse(start(policy, goal), seed=5)
    for t in range(240):
        use.step()
        if t % 17 == 0:
            use.bandit = am.Bandit.from_json(use.bandit.to_json())
        if t % 30 == 29:
            use.set_floor()
        if t % 40 == 39:
            use.add_arm(f"new {t}" if t % 3 else "new again")
        if t % 40 == 19:
            use.retire_arm()
        if t % 10 == 0:
            use.check()
    again, others = rebuilt(start(policy, goal), use.log)
    assert others == 0
    assert again.to_json() == use.bandit.to_json()
    assert again.ask(20) == use.bandit.ask(20)


def test_the_recorded_arm_wins() -> None:
    """A log of another machine: its arms count, and the random numbers go on all the same."""
    bandit, other = (start(am.ThompsonSampling(), "max") for _ in range(2))
    arms = bandit.arms
    for arm in arms:
        for one in (bandit, other):
            one.tell(arm, 1.0)
    for _ in range(30):
        arm = bandit.ask()
        bandit.cancel(arm)
        recorded = arms[(arms.index(arm) + 1) % 4]
        assert other.asked(recorded) == arm
        assert other.pending[arms.index(recorded)] == 1
        other.cancel(recorded)
    assert other.to_json() == bandit.to_json()
    with pytest.raises(am.ArmatureError, match="there is no arm 'x'"):
        other.asked("x")
    with pytest.raises(am.ArmatureError, match="all arms are excluded"):
        other.asked(arms[0], exclude=arms)
    assert other.to_json() == bandit.to_json()


def test_a_wrong_count_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(am.Bandit, "cancel", lambda self, arm: None)
    use = LiveUse(start(am.UCB(), "max"), seed=5)
    for _ in range(30):
        use.step()
    with pytest.raises(AssertionError):
        use.check()
