"""Running the service: `armature serve`."""

from __future__ import annotations

import gc
from collections.abc import Callable

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from armature.errors import ArmatureError
from armature.service.api.app import make_app
from armature.service.db.database import open_database
from armature.service.db.keys import is_loopback, read_keys
from armature.service.db.migrate import migrate
from armature.storage.registry import Allowed


def serve(
    storage: str,
    host: str,
    port: int,
    allow: Allowed = (),
    starting: Callable[[], None] = lambda: None,
) -> None:
    """Serve until interrupted. Without any key, on the loopback address alone.

    `starting` is called when nothing speaks against it any more.
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
    starting()
    app = make_app(engine, allow=allow, open_without_keys=is_loopback(host))
    gc.collect()
    gc.freeze()  # what was imported stays: looking through it again would be a pause in decisions
    uvicorn.run(app, host=host, port=port, access_log=False, log_level="warning")
