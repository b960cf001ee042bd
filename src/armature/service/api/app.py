"""The service as an ASGI application, and what operators ask of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response

from armature import __version__
from armature.kernels import gears
from armature.kernels.compiling import meanwhile
from armature.service import metrics
from armature.service.api import bodies, endpoints, ofrep
from armature.service.api.router import Answer, Guard, Routes, Service
from armature.service.db.database import reason_of, try_to_write
from armature.service.db.maintenance import migrate
from armature.service.domain.backend import Backend
from armature.service.limits import Refused, ServiceLimits
from armature.service.page import routes as page
from armature.service.page.viewing import Viewer
from armature.storage.registry import Allowed

FRESH = 1.0  # seconds for which a test of the database is not repeated, however many ask

log = logging.getLogger("armature.service")
operations = Routes()


def make_app(
    engine: Engine,
    *,
    allow: Allowed = (),
    limits: ServiceLimits | None = None,
    open_without_keys: bool = False,
) -> FastAPI:
    """The service on a database.

    `allow` names modules and packages whose classes a spec may name; `open_without_keys` lets
    everybody do everything while there are no keys, which is for the loopback address only.
    """
    limits = limits or ServiceLimits()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(migrate, engine)
        backend = Backend(engine, allow, limits)
        app.state.backend = backend
        app.state.viewer = Viewer(backend)
        app.state.readiness = Readiness(engine)
        backend.writer.start()
        watching = asyncio.create_task(backend.watch_windows())
        try:
            yield
        finally:
            backend.stopping.set()
            await watching
            await app.state.viewer.close()
            await asyncio.to_thread(backend.stop)
            engine.dispose()

    app = Service(
        [endpoints.table, ofrep.table, operations, page.table],
        limits,
        page.refuse,
        title="Armature",
        version=__version__,
        description="Structured bandits over HTTP.",
        lifespan=lifespan,
    )
    app.state.guard = Guard(engine, open_without_keys)
    app.state.notice = ""  # shown above the list of experiments
    return app


@operations.route("HEAD", "/healthz")
@operations.route("GET", "/healthz", response_model=bodies.Health)
async def health(request: Request) -> Answer:
    """That the process answers."""
    return Answer({"status": "ok"})


@operations.route("HEAD", "/readyz")
@operations.route(
    "GET", "/readyz", response_model=bodies.Health, responses={503: {"model": bodies.ErrorAnswer}}
)
async def ready(request: Request) -> Answer:
    """That the database answers too, and stores what is written."""
    await request.app.state.readiness.check()
    return Answer({"status": "ok"})


@operations.route("GET", "/metrics", "read")
async def show_metrics(request: Request) -> Response:
    """Counts of this process, for Prometheus."""
    writer = request.app.state.backend.writer
    metrics.LOADED.set(len(writer.loaded))
    metrics.COMPILED.set(gears.changed)
    metrics.COMPILING.set(meanwhile.workshop.busy)
    metrics.WAITING.set(writer.scheduler.waiting)
    return Response(metrics.exposition(), media_type="text/plain; version=0.0.4")


@operations.route("GET", "/openapi.json")
async def describe(request: Request) -> Answer:
    """The description of all endpoints."""
    return Answer(request.app.openapi())


class Readiness:
    """Whether what a server writes is stored: it tries a commit that changes nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = asyncio.Lock()
        self._tried_at = -FRESH
        self._reason: str | None = None

    async def check(self) -> None:
        """Refuse with 503, and the reason, if no write can succeed."""
        async with self._lock:
            if time.monotonic() - self._tried_at > FRESH:
                before, self._reason = self._reason, await asyncio.to_thread(self._try)
                self._tried_at = time.monotonic()
                if self._reason is not None and self._reason != before:
                    log.error("not ready: %s.", self._reason)
        if self._reason is not None:
            raise Refused(503, f"no write can succeed now: {self._reason}.")

    def _try(self) -> str | None:
        try:
            try_to_write(self._engine)
        except SQLAlchemyError as error:
            return reason_of(error)
        return None
