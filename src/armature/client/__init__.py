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
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

try:
    import httpx
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "armature.client needs httpx: pip install 'armature-bandits[service]'.", name=error.name
    ) from None

from armature.client import calls
from armature.client.calls import (
    PAGE,
    Attempts,
    Call,
    Decision,
    RewardResult,
    ServiceError,
    Table,
    UnreachableError,
    settings,
)

__all__ = [
    "AsyncClient",
    "Client",
    "Decision",
    "RewardResult",
    "ServiceError",
    "UnreachableError",
]
T = TypeVar("T")


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
        self._http = httpx.Client(**settings(url, key, timeout))
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
        return self._do(calls.create(name, spec))

    def experiments(self) -> list[Table]:
        """All experiments, without their arms."""
        return self._do(calls.EXPERIMENTS)

    def experiment(self, name: str) -> Table:
        """An experiment with its arms."""
        return self._do(calls.get(name))

    def decide(
        self,
        name: str,
        *,
        unit: str | None = None,
        request_id: str | None = None,
        segment: Any = None,
    ) -> Decision:
        """One decision (for a segment). The same request_id again gets the same one."""
        return self._do(calls.decide(name, 1, unit, request_id, segment))[0]

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
        return self._do(calls.decide(name, n, unit, request_id, segment))

    def reward(self, decision: str, value: float) -> RewardResult:
        """Send the reward of a decision."""
        return self._do(calls.reward(decision, value))

    def rewards(self, rewards: Sequence[tuple[str, float]]) -> list[RewardResult]:
        """Send several rewards; each is answered on its own."""
        return self._do(calls.rewards(rewards))

    def cancel(self, decision: str) -> None:
        """Undo a decision whose reward will never come."""
        self._do(calls.cancel(decision))

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
        return self._do(calls.change(name, status=status, **said))

    def add_arm(self, name: str, label: Any, **options: Any) -> Table:
        """Add an arm; the options say what the structure and the family need to know of it."""
        return self._do(calls.add_arm(name, label, options))

    def retire_arm(self, name: str, label: Any) -> Table:
        """Never choose an arm again."""
        return self._do(calls.retire_arm(name, label))

    def explain(self, name: str, segment: Any = None) -> Table:
        """The beliefs of an experiment's bandit (on a segment), what it does next, and why."""
        return self._do(calls.explain(name, segment))

    def export(self, name: str, format: str = "csv") -> bytes:
        """A file ("csv" or "parquet") with a row for each reward and its decision's probability."""
        return self._do(calls.export(name, format))

    def bound(self, name: str) -> Table:
        """The lower bound of regret at the means that fit best so far."""
        return self._do(calls.get(name, "/bound"))

    def events(self, name: str, after: int = 0) -> Iterator[Table]:
        """The log of an experiment from after an event to its present end."""
        found = [None] * PAGE
        while len(found) == PAGE:
            page = self._do(calls.get(name, "/events", after=after, limit=PAGE))
            found, after = page["events"], page["next"]
            yield from page["events"]

    def _do(self, call: Call[T]) -> T:
        attempts = Attempts(self._url, self._retries)
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
        self._http = httpx.AsyncClient(**settings(url, key, timeout))
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
        return await self._do(calls.create(name, spec))

    async def experiments(self) -> list[Table]:
        """All experiments, without their arms."""
        return await self._do(calls.EXPERIMENTS)

    async def experiment(self, name: str) -> Table:
        """An experiment with its arms."""
        return await self._do(calls.get(name))

    async def decide(
        self,
        name: str,
        *,
        unit: str | None = None,
        request_id: str | None = None,
        segment: Any = None,
    ) -> Decision:
        """One decision (for a segment). The same request_id again gets the same one."""
        return (await self._do(calls.decide(name, 1, unit, request_id, segment)))[0]

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
        return await self._do(calls.decide(name, n, unit, request_id, segment))

    async def reward(self, decision: str, value: float) -> RewardResult:
        """Send the reward of a decision."""
        return await self._do(calls.reward(decision, value))

    async def rewards(self, rewards: Sequence[tuple[str, float]]) -> list[RewardResult]:
        """Send several rewards; each is answered on its own."""
        return await self._do(calls.rewards(rewards))

    async def cancel(self, decision: str) -> None:
        """Undo a decision whose reward will never come."""
        await self._do(calls.cancel(decision))

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
        return await self._do(calls.change(name, status=status, **said))

    async def add_arm(self, name: str, label: Any, **options: Any) -> Table:
        """Add an arm; the options say what the structure and the family need to know of it."""
        return await self._do(calls.add_arm(name, label, options))

    async def retire_arm(self, name: str, label: Any) -> Table:
        """Never choose an arm again."""
        return await self._do(calls.retire_arm(name, label))

    async def explain(self, name: str, segment: Any = None) -> Table:
        """The beliefs of an experiment's bandit (on a segment), what it does next, and why."""
        return await self._do(calls.explain(name, segment))

    async def export(self, name: str, format: str = "csv") -> bytes:
        """A file ("csv" or "parquet") with a row for each reward and its decision's probability."""
        return await self._do(calls.export(name, format))

    async def bound(self, name: str) -> Table:
        """The lower bound of regret at the means that fit best so far."""
        return await self._do(calls.get(name, "/bound"))

    async def events(self, name: str, after: int = 0) -> AsyncIterator[Table]:
        """The log of an experiment from after an event to its present end."""
        found = [None] * PAGE
        while len(found) == PAGE:
            page = await self._do(calls.get(name, "/events", after=after, limit=PAGE))
            found, after = page["events"], page["next"]
            for event in page["events"]:
                yield event

    async def _do(self, call: Call[T]) -> T:
        attempts = Attempts(self._url, self._retries)
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
