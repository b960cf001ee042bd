"""What the service needs of a bandit, until the bandit has it."""

from __future__ import annotations

from typing import Any

from armature.bandit import Bandit as Present
from armature.errors import ArmatureError


class Bandit(Present):
    """A bandit that can be told which arm was chosen."""

    def __init__(self, *args: Any, floor: float = 0.0, **options: Any) -> None:
        super().__init__(*args, **options)
        self.floor = floor

    def asked(self, arm: Any) -> Any:
        """Advance as `ask` would, and count the recorded arm; returns the own choice."""
        own = self.ask()
        self._pending[self._checked_arm(own)] -= 1.0
        self._pending[self._checked_arm(arm)] += 1.0
        return own

    def expect(self, arm: Any) -> None:
        """Count a pull that somebody else decided on."""
        self._pending[self._checked_arm(arm)] += 1.0
        self._outstanding += 1

    def cancel(self, arm: Any) -> None:
        """A pending reward will never come."""
        k = self._checked_arm(arm)
        if self._pending[k] <= 0.0:
            raise ArmatureError("nothing is pending.")
        self._pending[k] -= 1.0
        self._outstanding -= 1

    def check_reward(self, arm: Any, reward: Any) -> None:
        """Refuse what `tell` would refuse."""
        self._checked_arm(arm)
        self._checked_reward(reward)
