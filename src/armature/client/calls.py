"""The requests of a client, what their answers mean, and how often they are sent."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from armature.errors import ArmatureError, check_text

AGAIN = (408, 429, 502, 503, 504)  # answers after which a request is repeated
LONGEST_PAUSE = 5.0
PAGE = 1_000  # events in one answer

Table = dict[str, Any]
T = TypeVar("T")


class ServiceError(ArmatureError):
    """The service refused a request; `code` is its HTTP status, the message its sentence."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class UnreachableError(ArmatureError):
    """The service did not answer any attempt; it may still have done what was asked."""


@dataclass(frozen=True)
class Decision:
    """The label of the chosen arm, and the id to send with its reward.

    `segment` is the one that was decided for, where there are segments.
    """

    id: str
    arm: Any
    probability: float | None
    segment: Any = None


@dataclass(frozen=True)
class RewardResult:
    """The service's answer to a reward.

    `status` is "applied", "duplicate" or "late". For one reward of several it can also be
    "unknown", "conflict", "refused", or "failed": its experiment can't take it now; send it again.
    """

    decision: str
    status: str
    detail: str | None


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and what its answer means."""

    method: str
    path: str
    meaning: Callable[[Any], T]
    body: Any = None
    parameters: Mapping[str, Any] | None = None
    is_file: bool = False  # the answer is bytes, and no JSON

    def answer(self, response: httpx.Response) -> T:
        if response.is_success:
            return self.meaning(response.content if self.is_file else response.json())
        try:
            detail = response.json()["detail"]
        except (ValueError, KeyError, TypeError):
            detail = f"the service answered {response.status_code}."
        raise ServiceError(response.status_code, str(detail))


def path_of(kind: str, name: str, rest: str = "") -> str:
    """The address of an experiment or a decision."""
    check_text(name, "name" if kind == "experiments" else "id")
    return f"/v1/{kind}/{quote(name, safe='')}{rest}"


def create(name: str, spec: Mapping[str, Any]) -> Call[Table]:
    """Make an experiment."""
    return Call("POST", "/v1/experiments", dict, {"name": name, "spec": dict(spec)})


EXPERIMENTS = Call("GET", "/v1/experiments", lambda answer: list(answer["experiments"]))


def get(name: str, rest: str = "", **parameters: Any) -> Call[Table]:
    """Read something about an experiment."""
    return Call("GET", path_of("experiments", name, rest), dict, parameters=parameters)


def decide(
    name: str, n: int, unit: str | None, request_id: str | None, segment: Any
) -> Call[list[Decision]]:
    """Make decisions; with an id, so that a repeated request is known."""
    body = {"n": n, "unit": unit, "request_id": request_id or uuid.uuid4().hex, "segment": segment}
    return Call(
        "POST",
        path_of("experiments", name, "/decisions"),
        lambda answer: [Decision(**made) for made in answer["decisions"]],
        body,
    )


def reward(decision: str, value: float) -> Call[RewardResult]:
    """Tell the reward of a decision."""
    return Call(
        "POST",
        path_of("decisions", decision, "/reward"),
        lambda answer: RewardResult(decision, **answer),
        {"value": value},
    )


def rewards(rewards: Sequence[tuple[str, float]]) -> Call[list[RewardResult]]:
    """Tell the rewards of several decisions."""
    body = [{"decision": decision, "value": value} for decision, value in rewards]
    return Call(
        "POST",
        "/v1/rewards",
        lambda answer: [RewardResult(**result) for result in answer["results"]],
        {"rewards": body},
    )


def cancel(decision: str) -> Call[None]:
    """The reward of a decision will never come."""
    return Call("DELETE", path_of("decisions", decision), lambda answer: None)


def change(name: str, **changes: Any) -> Call[Table]:
    """Change an experiment: those of these that are not None."""
    changes = {key: value for key, value in changes.items() if value is not None}
    return Call("PATCH", path_of("experiments", name), dict, changes)


def explain(name: str, segment: Any) -> Call[Table]:
    """The beliefs on a segment, or on the only one."""
    return get(name, "/explain", **({} if segment is None else {"segment": segment}))


def export(name: str, format: str) -> Call[bytes]:
    """The file with all rewards."""
    path = path_of("experiments", name, "/export")
    return Call("GET", path, bytes, parameters={"format": format}, is_file=True)


def add_arm(name: str, label: Any, options: Mapping[str, Any]) -> Call[Table]:
    """Add an arm."""
    body = {"label": label, "options": dict(options)}
    return Call("POST", path_of("experiments", name, "/arms"), dict, body)


def retire_arm(name: str, label: Any) -> Call[Table]:
    """Retire an arm."""
    return Call("POST", path_of("experiments", name, "/arms/retire"), dict, {"label": label})


class Attempts:
    """The number of times to send a request, and the pauses in between."""

    def __init__(self, url: str, retries: int) -> None:
        self._url, self._retries, self._made = url, retries, 0

    def pause(self, response: httpx.Response | None, error: Exception | None) -> float | None:
        """Seconds to wait before the next attempt: they grow, with a random part.

        None if the answer is final; an error if there is none and no attempt is left.
        """
        if response is not None and response.status_code not in AGAIN:
            return None
        self._made += 1
        if self._made <= self._retries:
            return min(LONGEST_PAUSE, 0.05 * 2.0**self._made) * random.uniform(0.5, 1.0)
        if response is not None:
            return None
        raise UnreachableError(
            f"{self._url} did not answer, asked {self._made} times: "
            f"{str(error) or type(error).__name__}."
        )


def settings(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    """The options of an HTTP client, checked."""
    check_text(url, "url")
    check_text(key or "", "key")
    if not (isinstance(timeout, (int, float)) and timeout > 0.0):
        raise ArmatureError(f"timeout must be a positive number of seconds; got {timeout!r}.")
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return {"base_url": url, "headers": headers, "timeout": timeout}
