"""How much a request may ask for, which texts may name things, and how a request is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from armature.errors import ArmatureError

LOOPBACK = ("127.0.0.1", "::1", "localhost")  # only programs of the same machine reach these
NAME, IDENTIFIER = 100, 200  # characters of an experiment's name; of a unit or a request id


class Refused(Exception):  # noqa: N818
    """A request that can't be done: its HTTP code, and a sentence that says why."""

    def __init__(self, code: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.code, self.detail, self.headers = code, detail, headers or {}


@dataclass(frozen=True)
class ServiceLimits:
    """Sizes beyond which a request is refused, before anything is done for it."""

    arms: int = 1_000
    batch: int = 1_000  # decisions or rewards in one request
    body: int = 1_000_000  # bytes
    events: int = 10_000  # in one answer
    waiting: int = 10_000  # requests that wait, in one process
    waiting_each: int = 1_000  # those of them that are about one experiment
    threads: int = 8  # experiments that decide at the same time
    looks: int = 4  # experiments that are explained at the same time, and so for bounds
    looks_each: int = 50  # requests that wait for the explanation of one experiment


def checked_name(name: Any) -> str:
    """The name of an experiment: a part of addresses, so nothing that an address would change."""
    good = isinstance(name, str) and 1 <= len(name) <= NAME and name.isprintable()
    if not good or name != name.strip() or set(name) & set("/\\") or not name.strip("."):
        raise ArmatureError(
            f"a name has 1 to {NAME} printable characters, no slash, no space at either end, and "
            "is not made of dots alone."
        )
    return str(name)


def check_arms(n_arms: Any, limits: ServiceLimits) -> None:
    """Refuse more arms than the server allows, before they take memory."""
    if isinstance(n_arms, (int, float)) and n_arms > limits.arms:
        raise ArmatureError(f"an experiment has at most {limits.arms} arms on this server.")
