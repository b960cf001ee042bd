"""Running the service: `armature serve`."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError

from armature.errors import ArmatureError
from armature.service.api.app import make_app
from armature.service.api.connections import Connection
from armature.service.db.database import open_database
from armature.service.db.keys import is_loopback, read_keys
from armature.service.db.maintenance import migrate
from armature.storage.registry import Allowed


class Server(uvicorn.Server):
    """A server that says when it can be reached."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def config_of(app: FastAPI, host: str, port: int) -> uvicorn.Config:
    """How the service is served, wherever it is."""
    return uvicorn.Config(
        app, host=host, port=port, http=Connection, access_log=False, log_level="warning"
    )


def serve(
    storage: str,
    host: str,
    port: int,
    allow: Allowed = (),
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until interrupted. Without any key, on the loopback address alone.

    `ready` is called when requests are taken.
    """
    engine = open_database(storage)
    try:
        migrate(engine)
        keys, _ = read_keys(engine)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().partition("\n")[0]
        raise ArmatureError(f"the storage can't be used: {reason}.") from None
    if not keys and not is_loopback(host):
        raise ArmatureError(
            f"without any key everybody who reaches {host} could use this server: make a key with "
            "`armature keys create NAME --scope admin`, or serve on 127.0.0.1."
        )
    sockets = listen(host, port)
    app = make_app(engine, allow=allow, open_without_keys=is_loopback(host))
    gc.collect()
    gc.freeze()  # what was imported stays: looking through it again would be a pause in decisions
    Server(config_of(app, host, port), ready).run(sockets)


def listen(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host; an error that says why there is none."""
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in sorted({(family, address) for family, *_, address in found}):
            made = socket.socket(family)
            sockets.append(made)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            made.bind(address)
    except OSError as error:
        for made in sockets:
            made.close()
        reason = error.strerror or str(error)
        raise ArmatureError(
            f"port {port} of {host} can't be used ({reason}): choose another port or host."
        ) from None
    return sockets
