"""The service without HTTP: everything that the endpoints do."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from armature.errors import ArmatureError
from armature.service import metrics
from armature.service.db.database import clock, insert, writing
from armature.service.db.schema import Kind, Status, event, experiment
from armature.service.domain import reading
from armature.service.domain.commands import UNKNOWN, Expire, Result, Reward
from armature.service.domain.scheduler import Pool
from armature.service.domain.spec import hint_about, parse_spec
from armature.service.domain.values import Attributes, attributes_in
from armature.service.domain.work import OVERDUE, Command
from armature.service.domain.writer import Writer
from armature.service.limits import Refused, ServiceLimits, checked_name
from armature.storage.registry import Allowed

T = TypeVar("T")
TICK = 1.0  # seconds between two looks for windows that have closed

log = logging.getLogger("armature.service")


class Backend:
    """Experiments in a database, and their bandits in memory."""

    def __init__(
        self, engine: Engine, allow: Allowed = (), limits: ServiceLimits | None = None
    ) -> None:
        self.engine, self.allow, self.limits = engine, allow, limits or ServiceLimits()
        self.writer = Writer(engine, allow, self.limits)
        self.looks = Pool(self.limits.looks, self.limits.looks_each, "look")
        self.bounds = Pool(self.limits.looks, self.limits.looks_each, "bound")
        self._ids: dict[str, int] = {}  # of names; only a restore from a backup changes them
        self._attributes: dict[tuple[int, str], Attributes] = {}
        self.stopping = asyncio.Event()
        self.duplicates: Counter[int] = Counter()  # rewards that came again, by experiment
        self._expiring: dict[int, asyncio.Task[None]] = {}

    async def create(self, name: str, table: Any) -> tuple[bool, dict[str, Any]]:
        """Make an experiment; whether it is new, and what it is."""
        name = checked_name(name)
        return await self.looks.run(("new", name), self._create, name, table)

    def _create(self, name: str, table: Any) -> tuple[bool, dict[str, Any]]:
        spec = parse_spec(table, self.allow, self.limits)
        text = spec.as_text(self.allow)
        with writing(self.engine) as connection:
            now = clock(connection)
            row = {"name": name, "spec": text, "seed": spec.seed, "status": Status.running.value}
            row |= {"last_seq": 1, "decisions": 0, "rewards": 0, "created_at": now}
            adding = insert(connection, experiment).on_conflict_do_nothing(index_elements=["name"])
            key = connection.execute(adding.returning(experiment.c.id), row).scalar()
            is_new = key is not None
            found = reading.find(connection, name)
            if is_new:
                first = {"experiment_id": found.id, "seq": 1, "kind": Kind.created.value}
                detail = json.dumps({"spec": json.loads(text)})
                connection.execute(sa.insert(event), {**first, "at": now, "detail": detail})
        if found.spec != text and not spec.is_that_of(found.spec, self.allow):
            raise Refused(409, f"there is an experiment {name!r} already, with another spec.")
        made = {"spec": json.loads(found.spec), "hint": hint_about(table)}
        return is_new, {**reading.summary(found), **made}

    async def run(self, name: str, command: Command) -> Any:
        """Run a command on an experiment; the answer, once it is on the disk."""
        key = await self.id_of(name)
        try:
            return await self.writer.run(key, command, name)
        except Refused as refused:
            if refused.code != 404 or await self.id_of(name, again=True) == key:
                raise
        return await self.run(name, command)

    async def look(self, name: str) -> reading.Copy:
        """An experiment as it is now."""
        copy: reading.Copy = await self.run(name, reading.MakeCopy(self.allow))
        return copy

    async def run_for_decision(self, decision_id: str, command: Command) -> Any:
        """The same, for the experiment of a decision."""
        key = experiment_of(decision_id)
        if key is None:
            raise Refused(404, "there is no such decision.")
        return await self.writer.run(key, command)

    async def reward(self, items: Sequence[tuple[str, float]]) -> list[Result]:
        """Take in rewards of any experiments, each on its own."""
        results = [UNKNOWN] * len(items)
        places: dict[int, list[int]] = defaultdict(list)
        for place, (decision_id, _) in enumerate(items):
            key = experiment_of(decision_id)
            if key is not None:
                places[key].append(place)
        groups = await asyncio.gather(
            *(self._reward(key, [items[i] for i in found]) for key, found in places.items())
        )
        for found, group in zip(places.values(), groups, strict=True):
            for place, result in zip(found, group, strict=True):
                results[place] = result
        for result in results:
            metrics.REWARDS.labels(result.status).inc()
        if items and all(result.status == "failed" for result in results):
            raise Refused(results[0].code, results[0].detail or "")
        return results

    async def _reward(self, key: int, items: Sequence[tuple[str, float]]) -> list[Result]:
        """The same for one experiment; where it fails, the rewards of others are still taken in."""
        try:
            results: list[Result] = await self.writer.run(key, Reward(items))
        except Refused as refused:
            gone = refused.code == 404
            result = UNKNOWN if gone else Result(refused.code, "failed", refused.detail)
            return [result] * len(items)
        self.duplicates[key] += sum(result.status == "duplicate" for result in results)
        return results

    async def id_of(self, name: str, again: bool = False) -> int:
        """The id of an experiment, or a refusal."""
        key = None if again else self._ids.get(name)
        if key is None:
            key = (await self.find(name)).id
            self._ids[name] = key
        return key

    async def attributes_of(self, name: str) -> Attributes:
        """The attributes of an OpenFeature context that an experiment's spec names."""
        key = await self.id_of(name)
        found = self._attributes.get((key, name))
        if found is None:
            spec = json.loads((await self.find(name)).spec)
            found = self._attributes[key, name] = attributes_in(spec) or Attributes()
        return found

    async def find(self, name: str) -> Any:
        """The row of an experiment, or a refusal."""
        row = await self.read(reading.find, name) if name.isprintable() else None
        if row is None:
            raise Refused(404, "there is no such experiment.")
        return row

    async def read(self, query: Callable[..., T], *arguments: Any) -> T:
        """Run query(connection, ...) in a thread; its result."""

        def run() -> T:
            with self.engine.connect() as connection:
                return query(connection, *arguments)

        return await asyncio.to_thread(run)

    async def explain(self, key: int, work: Callable[..., T], *arguments: Any) -> T:
        """Call `work` for an experiment, in a thread; what fails there is refused."""
        return await _worked_out(self.looks, key, work, *arguments)

    async def bound(self, key: int, work: Callable[..., T], *arguments: Any) -> T:
        """The same for what may take much longer, in threads of its own."""
        return await _worked_out(self.bounds, key, work, *arguments)

    async def watch_windows(self) -> None:
        """Close windows as they pass, until the server stops; no experiment waits for another."""
        while not self.stopping.is_set():
            try:
                for key in await self.read(_overdue):
                    if key not in self._expiring:
                        self._expiring[key] = asyncio.create_task(self._expire(key))
            except SQLAlchemyError as error:  # a database that is away comes back
                log.warning("windows could not be closed: %s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), TICK)
        await asyncio.gather(*self._expiring.values(), return_exceptions=True)

    async def _expire(self, key: int) -> None:
        """Close windows of an experiment, some at a time. What fails is tried again later."""
        try:
            while await self.writer.run(key, Expire()) and not self.stopping.is_set():
                pass
        except (Refused, SQLAlchemyError) as error:
            log.warning("windows of experiment %s could not be closed: %s", key, error)
        finally:
            del self._expiring[key]

    def stop(self) -> None:
        """Finish what waits, and end all threads."""
        self.writer.stop()
        self.looks.close()
        self.bounds.close()


async def _worked_out(pool: Pool, key: int, work: Callable[..., T], *arguments: Any) -> T:
    """Call `work`; where it fails, refuse with words about this experiment only."""
    try:
        return await pool.run(key, work, *arguments)
    except Refused:
        raise
    except ArmatureError as error:
        raise Refused(409, f"that can't be worked out of the rewards so far: {error}") from error
    except Exception as error:
        log.error("experiment %s can't be explained", key, exc_info=error)
        numbers = isinstance(error, (ArithmeticError, ValueError))
        raise Refused(
            409 if numbers else 500,
            f"that can't be worked out of the rewards so far ({type(error).__name__}); decisions "
            "and rewards go on.",
        ) from error


def _overdue(connection: Connection) -> list[int]:
    """Experiments with windows that have passed."""
    return list(connection.execute(OVERDUE, {"now": clock(connection)}).scalars())


def experiment_of(decision_id: str) -> int | None:
    """Which experiment a decision's id says it belongs to; None if it is no decision's id."""
    first, dash, _ = decision_id.partition("-")
    short = dash and first.isascii() and first.isdecimal() and len(first) <= 9
    return int(first) if short and decision_id.isprintable() and len(decision_id) <= 48 else None
