"""The requests that come most often, without the framework between them and their endpoint.

FastAPI describes these endpoints like all others, and answers them in the same way where anything
about a request is unusual: finding its route, and passing it through, takes longer than a decision.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from armature.service.api.access import body_length, count
from armature.service.api.answers import Answer
from armature.service.limits import Limits

_PATHS = re.compile(r"/v1/(?:experiments/([^/]+)/decisions|decisions/([^/]+)/reward)")
DECIDE, REWARD = "/v1/experiments/{name}/decisions", "/v1/decisions/{id}/reward"


class Service(FastAPI):
    """An application that answers decisions and single rewards itself."""

    def set_up_shortcut(self, routes: list[Any], limits: Limits) -> None:
        """Find the endpoints that are answered so."""
        found = {route.path: route for route in routes if isinstance(route, APIRoute)}
        self._decide = found[DECIDE].get_route_handler()
        self._reward = found[REWARD].get_route_handler()
        self._most = limits.body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "http" and scope["method"] == "POST" and not scope["root_path"]:
            match = _PATHS.fullmatch(scope["path"])
            if match is not None:
                length, chunked = body_length(scope)
                if not chunked and length <= self._most:
                    await self._shortcut(match, scope, receive, send)
                    return
        await super().__call__(scope, receive, send)

    async def _shortcut(
        self, match: re.Match[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        name, decision = match.groups()
        scope["app"] = self
        scope["path_params"] = {"id": decision} if name is None else {"name": name}
        request = Request(scope, receive, send)
        code = 500
        try:
            try:
                answer = await (self._reward if name is None else self._decide)(request)
            except Exception as error:
                answer = await self._answer_to(request, error)
            code = answer.status_code
            await answer(scope, receive, send)
        finally:
            count(REWARD if name is None else DECIDE, code)

    async def _answer_to(self, request: Request, error: Exception) -> Answer:
        """What the handlers of errors say; raised again where there is none."""
        for kind in type(error).__mro__:
            handler: Any = self.exception_handlers.get(kind)
            if handler is not None:
                answer: Answer = await handler(request, error)
                return answer
        raise error
