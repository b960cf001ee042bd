"""A short run of the endurance test, and that it can fail."""

from __future__ import annotations

import endurance
import pytest

import armature as am
from armature.live.choosing import Chooser
from armature.storage.registry import POLICIES


@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.__name__)
def test_saving_changes_nothing_and_nothing_grows(kind: type[am.Policy]) -> None:
    """2,000 asks; what is to be saved is ids and sums, and stays within a few more digits."""
    course = endurance.run(kind(), 2000, seed=1)
    ids = 60 * 600  # letters for each decision with an id, of which all are still remembered
    window = 25 * 6 * getattr(kind(), "window", 0)  # letters for rewards that are kept one by one
    assert max(course.saved) < course.saved[0] + ids + window


def test_a_bandit_that_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chooser, "restore", lambda self, used: None)  # the floor's random numbers
    with pytest.raises(AssertionError, match=r"the two differ|decides differently"):
        endurance.run(am.UCB(), 600, seed=1)


def test_a_policy_with_a_hidden_memory_is_found() -> None:
    with pytest.raises(AssertionError, match="decides differently"):
        endurance.run(Hidden(), 600, seed=1)


class Hidden(am.PythonPolicy):
    """It keeps count where nobody saves it."""

    def init(self, structure, family):
        self.__dict__["asked"] = [0]
        return {}

    def choose(self, state, problem, history, rng):
        self.asked[0] += 1
        return self.asked[0] % problem.structure.n_arms
