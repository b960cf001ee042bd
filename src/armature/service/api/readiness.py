"""Whether a server can do its work: whether what it writes is stored."""

from __future__ import annotations

import asyncio
import logging
import time

from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError

from armature.service.db.database import reason_of, try_to_write
from armature.service.limits import Refused

FRESH = 1.0  # seconds for which what was found is not tried again, however many ask

log = logging.getLogger("armature.service")


class Readiness:
    """Tries a commit that changes nothing, when somebody asks."""

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
