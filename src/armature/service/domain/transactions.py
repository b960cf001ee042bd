"""Transactions on a connection that stays open, and what is said when one fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from armature.service.api import metrics
from armature.service.db.database import reason_of
from armature.service.domain.work import Refused

log = logging.getLogger("armature.service")

_ADVICE = {
    True: "Whether it was done is not known: repeat the request with the same request_id.",
    False: "Nothing was changed: try again.",
}


@dataclass(frozen=True)
class Failure:
    """A transaction that failed."""

    error: Exception
    committing: bool = False  # then its outcome is unknown

    @property
    def may_go_again(self) -> bool:
        """Whether the server may try it again by itself."""
        return not self.committing and isinstance(self.error, sa.exc.DBAPIError)

    def refusal(self) -> Refused:
        """What is answered."""
        reason = reason_of(self.error)
        return Refused(503, f"the database failed ({reason}). {_ADVICE[self.committing]}")

    def note(self) -> None:
        """Count it and log it."""
        metrics.FAILURES.labels("commit" if self.committing else "before").inc()
        when = "its outcome unknown" if self.committing else "nothing was changed"
        log.warning("a transaction failed, %s: %s", when, self.error)


class Session:
    """Writing transactions, one after the other, on one connection."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    def transact(self, body: Callable[[Connection], Any]) -> Failure | None:
        """Run the body in a transaction and commit it; what went wrong, if anything did."""
        committing = False
        try:
            if self._connection is None:
                self._connection = self._engine.connect().execution_options(writing=True)
            transaction = self._connection.begin()
            body(self._connection)
            committing = True
            transaction.commit()
        except Exception as error:
            self._drop()
            failure = Failure(error, committing)
            failure.note()
            return failure
        return None

    def close(self) -> None:
        """Give the connection back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _drop(self) -> None:
        """Close the connection, with whatever is not committed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may be broken, which is why
                connection.invalidate()
            with suppress(Exception):
                connection.close()
