"""Requests whose JSON is JSON: no NaN, no Infinity, which Python's reader would take."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute


class StrictRequest(Request):
    """A request that reads its body strictly."""

    async def json(self) -> Any:
        """The body, or an error that says where it is none of JSON's."""
        return json.loads(await self.body(), parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise json.JSONDecodeError(f"{constant} is none of JSON's values", constant, 0)


class StrictRoute(APIRoute):
    """A route whose requests are strict."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict
