"""A client of the decision service, for programs in Python.

    with Client("http://127.0.0.1:8000", key="arm_...") as client:
        decision = client.decide("prices", unit="customer 17")
        ...
        client.reward(decision.id, 1.0)

A request that got no answer, or one that says to try again (408, 429, 502, 503, 504), is sent again
after a pause, and the pauses grow. That is safe: by a decision's request id the server knows that
it was made already, an equal reward counts once, and so does an arm with the same options.
`AsyncClient` is the same for asyncio. Both need httpx, which comes with the extra `service`.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar
from urllib.parse import quote

from armature.errors import ArmatureError, check_text

try:
    import httpx
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "armature.client needs httpx: pip install 'armature-bandits[service]'.", name=error.name
    ) from None

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
class _Call(Generic[T]):
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


def _path(kind: str, name: str, rest: str = "") -> str:
    check_text(name, "name" if kind == "experiments" else "id")
    return f"/v1/{kind}/{quote(name, safe='')}{rest}"


def _create(name: str, spec: Mapping[str, Any]) -> _Call[Table]:
    return _Call("POST", "/v1/experiments", dict, {"name": name, "spec": dict(spec)})


_EXPERIMENTS = _Call("GET", "/v1/experiments", lambda answer: list(answer["experiments"]))


def _get(name: str, rest: str = "", **parameters: Any) -> _Call[Table]:
    return _Call("GET", _path("experiments", name, rest), dict, parameters=parameters)


def _decide(
    name: str, n: int, unit: str | None, request_id: str | None, segment: Any
) -> _Call[list[Decision]]:
    body = {"n": n, "unit": unit, "request_id": request_id or uuid.uuid4().hex, "segment": segment}
    return _Call(
        "POST",
        _path("experiments", name, "/decisions"),
        lambda answer: [Decision(**made) for made in answer["decisions"]],
        body,
    )


def _reward(decision: str, value: float) -> _Call[RewardResult]:
    return _Call(
        "POST",
        _path("decisions", decision, "/reward"),
        lambda answer: RewardResult(decision, **answer),
        {"value": value},
    )


def _rewards(rewards: Sequence[tuple[str, float]]) -> _Call[list[RewardResult]]:
    body = [{"decision": decision, "value": value} for decision, value in rewards]
    return _Call(
        "POST",
        "/v1/rewards",
        lambda answer: [RewardResult(**result) for result in answer["results"]],
        {"rewards": body},
    )


def _cancel(decision: str) -> _Call[None]:
    return _Call("DELETE", _path("decisions", decision), lambda answer: None)


def _change(name: str, **changes: Any) -> _Call[Table]:
    changes = {key: value for key, value in changes.items() if value is not None}
    return _Call("PATCH", _path("experiments", name), dict, changes)


def _explain(name: str, segment: Any) -> _Call[Table]:
    return _get(name, "/explain", **({} if segment is None else {"segment": segment}))


def _export(name: str, format: str) -> _Call[bytes]:
    path = _path("experiments", name, "/export")
    return _Call("GET", path, bytes, parameters={"format": format}, is_file=True)


def _add_arm(name: str, label: Any, options: Mapping[str, Any]) -> _Call[Table]:
    body = {"label": label, "options": dict(options)}
    return _Call("POST", _path("experiments", name, "/arms"), dict, body)


def _retire_arm(name: str, label: Any) -> _Call[Table]:
    return _Call("POST", _path("experiments", name, "/arms/retire"), dict, {"label": label})


class _Attempts:
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


def _settings(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    check_text(url, "url")
    check_text(key or "", "key")
    if not (isinstance(timeout, (int, float)) and timeout > 0.0):
        raise ArmatureError(f"timeout must be a positive number of seconds; got {timeout!r}.")
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return {"base_url": url, "headers": headers, "timeout": timeout}


class Client:
    """The service, for ordinary code. Threads may share one client.

    Parameters
    ----------
    url: its address, such as "http://127.0.0.1:8000".
    key: an API key, if the service needs one.
    timeout: seconds to wait for an answer.
    retries: how often a request is sent again before an error is raised.
    """

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 30.0, retries: int = 8
    ) -> None:
        self._http = httpx.Client(**_settings(url, key, timeout))
        self._url, self._retries = url, retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def create(self, name: str, spec: Mapping[str, Any]) -> Table:
        """Make an experiment, or find that it is there already with the same spec."""
        return self._do(_create(name, spec))

    def experiments(self) -> list[Table]:
        """All experiments, without their arms."""
        return self._do(_EXPERIMENTS)

    def experiment(self, name: str) -> Table:
        """An experiment with its arms."""
        return self._do(_get(name))

    def decide(
        self,
        name: str,
        *,
        unit: str | None = None,
        request_id: str | None = None,
        segment: Any = None,
    ) -> Decision:
        """One decision (for a segment). The same request_id again gets the same one."""
        return self._do(_decide(name, 1, unit, request_id, segment))[0]

    def decide_many(
        self,
        name: str,
        n: int,
        *,
        unit: str | None = None,
        request_id: str | None = None,
        segment: Any = None,
    ) -> list[Decision]:
        """Several decisions at once."""
        return self._do(_decide(name, n, unit, request_id, segment))

    def reward(self, decision: str, value: float) -> RewardResult:
        """Send the reward of a decision."""
        return self._do(_reward(decision, value))

    def rewards(self, rewards: Sequence[tuple[str, float]]) -> list[RewardResult]:
        """Send several rewards; each is answered on its own."""
        return self._do(_rewards(rewards))

    def cancel(self, decision: str) -> None:
        """Undo a decision whose reward will never come."""
        self._do(_cancel(decision))

    def change(
        self,
        name: str,
        *,
        status: str | None = None,
        floor: float | None = None,
        add_segment: Any = None,
        changes: str | None = None,
    ) -> Table:
        """Set the status ("running", "paused", "stopped"), the floor, or what changes of rewards do
        ("notice", "restart"); or add a segment.
        """
        said = {"floor": floor, "add_segment": add_segment, "changes": changes}
        return self._do(_change(name, status=status, **said))

    def add_arm(self, name: str, label: Any, **options: Any) -> Table:
        """Add an arm; the options say what the structure and the family need to know of it."""
        return self._do(_add_arm(name, label, options))

    def retire_arm(self, name: str, label: Any) -> Table:
        """Never choose an arm again."""
        return self._do(_retire_arm(name, label))

    def explain(self, name: str, segment: Any = None) -> Table:
        """The beliefs of an experiment's bandit (on a segment), what it does next, and why."""
        return self._do(_explain(name, segment))

    def export(self, name: str, format: str = "csv") -> bytes:
        """A file ("csv" or "parquet") with a row for each reward and its decision's probability."""
        return self._do(_export(name, format))

    def bound(self, name: str) -> Table:
        """The lower bound of regret at the means that fit best so far."""
        return self._do(_get(name, "/bound"))

    def events(self, name: str, after: int = 0) -> Iterator[Table]:
        """The log of an experiment from after an event to its present end."""
        found = [None] * PAGE
        while len(found) == PAGE:
            page = self._do(_get(name, "/events", after=after, limit=PAGE))
            found, after = page["events"], page["next"]
            yield from page["events"]

    def _do(self, call: _Call[T]) -> T:
        attempts = _Attempts(self._url, self._retries)
        while True:
            response, error = None, None
            try:
                response = self._http.request(
                    call.method, call.path, json=call.body, params=call.parameters
                )
            except httpx.TransportError as failed:
                error = failed
            pause = attempts.pause(response, error)
            if pause is None and response is not None:
                return call.answer(response)
            time.sleep(pause or 0.0)


class AsyncClient:
    """The same for asyncio; see `Client` for parameters and methods."""

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 30.0, retries: int = 8
    ) -> None:
        self._http = httpx.AsyncClient(**_settings(url, key, timeout))
        self._url, self._retries = url, retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def create(self, name: str, spec: Mapping[str, Any]) -> Table:
        """Make an experiment, or find that it is there already with the same spec."""
        return await self._do(_create(name, spec))

    async def experiments(self) -> list[Table]:
        """All experiments, without their arms."""
        return await self._do(_EXPERIMENTS)

    async def experiment(self, name: str) -> Table:
        """An experiment with its arms."""
        return await self._do(_get(name))

    async def decide(
        self,
        name: str,
        *,
        unit: str | None = None,
        request_id: str | None = None,
        segment: Any = None,
    ) -> Decision:
        """One decision (for a segment). The same request_id again gets the same one."""
        return (await self._do(_decide(name, 1, unit, request_id, segment)))[0]

    async def decide_many(
        self,
        name: str,
        n: int,
        *,
        unit: str | None = None,
        request_id: str | None = None,
        segment: Any = None,
    ) -> list[Decision]:
        """Several decisions at once."""
        return await self._do(_decide(name, n, unit, request_id, segment))

    async def reward(self, decision: str, value: float) -> RewardResult:
        """Send the reward of a decision."""
        return await self._do(_reward(decision, value))

    async def rewards(self, rewards: Sequence[tuple[str, float]]) -> list[RewardResult]:
        """Send several rewards; each is answered on its own."""
        return await self._do(_rewards(rewards))

    async def cancel(self, decision: str) -> None:
        """Undo a decision whose reward will never come."""
        await self._do(_cancel(decision))

    async def change(
        self,
        name: str,
        *,
        status: str | None = None,
        floor: float | None = None,
        add_segment: Any = None,
        changes: str | None = None,
    ) -> Table:
        """Set the status ("running", "paused", "stopped"), the floor, or what changes of rewards do
        ("notice", "restart"); or add a segment.
        """
        said = {"floor": floor, "add_segment": add_segment, "changes": changes}
        return await self._do(_change(name, status=status, **said))

    async def add_arm(self, name: str, label: Any, **options: Any) -> Table:
        """Add an arm; the options say what the structure and the family need to know of it."""
        return await self._do(_add_arm(name, label, options))

    async def retire_arm(self, name: str, label: Any) -> Table:
        """Never choose an arm again."""
        return await self._do(_retire_arm(name, label))

    async def explain(self, name: str, segment: Any = None) -> Table:
        """The beliefs of an experiment's bandit (on a segment), what it does next, and why."""
        return await self._do(_explain(name, segment))

    async def export(self, name: str, format: str = "csv") -> bytes:
        """A file ("csv" or "parquet") with a row for each reward and its decision's probability."""
        return await self._do(_export(name, format))

    async def bound(self, name: str) -> Table:
        """The lower bound of regret at the means that fit best so far."""
        return await self._do(_get(name, "/bound"))

    async def events(self, name: str, after: int = 0) -> AsyncIterator[Table]:
        """The log of an experiment from after an event to its present end."""
        found = [None] * PAGE
        while len(found) == PAGE:
            page = await self._do(_get(name, "/events", after=after, limit=PAGE))
            found, after = page["events"], page["next"]
            for event in page["events"]:
                yield event

    async def _do(self, call: _Call[T]) -> T:
        attempts = _Attempts(self._url, self._retries)
        while True:
            response, error = None, None
            try:
                response = await self._http.request(
                    call.method, call.path, json=call.body, params=call.parameters
                )
            except httpx.TransportError as failed:
                error = failed
            pause = attempts.pause(response, error)
            if pause is None and response is not None:
                return call.answer(response)
            await asyncio.sleep(pause or 0.0)
