"""The service as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from sqlalchemy.engine import Engine
from starlette.responses import Response

from armature import __version__
from armature.service import metrics
from armature.service.api import bodies
from armature.service.api.access import Doorman, admit
from armature.service.api.answers import Answer, add_handlers
from armature.service.api.endpoints import router
from armature.service.api.fast_path import Service
from armature.service.api.readiness import Readiness
from armature.service.db.keys import Guard
from armature.service.db.maintenance import migrate
from armature.service.domain.backend import Backend
from armature.service.limits import Limits
from armature.service.page.routes import add_pages
from armature.service.page.viewing import Viewer
from armature.storage.registry import Allowed


def make_app(
    engine: Engine,
    *,
    allow: Allowed = (),
    limits: Limits | None = None,
    open_without_keys: bool = False,
) -> FastAPI:
    """The service on a database.

    `allow` names modules and packages whose classes a spec may name; `open_without_keys` lets
    everybody do everything while there are no keys, which is for the loopback address alone.
    """
    limits = limits or Limits()

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
        title="Armature",
        version=__version__,
        description="Structured bandits over HTTP.",
        lifespan=lifespan,
        docs_url=None,  # they would load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.guard = Guard(engine, open_without_keys)
    app.state.notice = ""  # what the list of experiments says above them
    app.add_middleware(Doorman, most=limits.body)
    add_handlers(app)
    app.include_router(router)
    app.set_up_shortcut(router.routes, limits)
    _add_operations(app)
    add_pages(app)
    return app


def _add_operations(app: FastAPI) -> None:
    """What operators and people look at."""

    @app.get("/healthz", response_model=bodies.Health)
    async def health() -> Answer:
        """That the process answers."""
        return Answer({"status": "ok"})

    @app.get("/readyz", response_model=bodies.Health, responses={503: {"model": bodies.Problem}})
    async def ready(request: Request) -> Answer:
        """That the database answers too, and stores what is written."""
        await request.app.state.readiness.check()
        return Answer({"status": "ok"})

    @app.get("/metrics", include_in_schema=False)
    async def show_metrics(request: Request) -> Response:
        await admit(request, "read")
        writer = request.app.state.backend.writer
        metrics.LOADED.set(len(writer.loaded))
        metrics.WAITING.set(writer.waiting)
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4")
