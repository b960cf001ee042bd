"""Routes: who may come in, JSON that is JSON, and no more work than that.

FastAPI describes the endpoints from their signatures. What it would do for a request (a form? a
file? a dependency?) takes longer than most decisions, and none of it is needed here.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from armature.service.api.access import admit
from armature.service.limits import Refused

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
SCOPE = "x-scope"  # where an endpoint says which scope it needs; the description shows it


def needs(scope: str) -> dict[str, str]:
    """What an endpoint says, as its `openapi_extra`, of the keys that it takes."""
    return {SCOPE: scope}


class Route(APIRoute):
    """A route of an endpoint f(request, names in the path, body), which must name a scope."""

    def get_route_handler(self) -> Handler:
        """What answers a request."""
        endpoint: Any = self.endpoint
        scope = (self.openapi_extra or {})[SCOPE]
        body = inspect.signature(endpoint, eval_str=True).parameters.get("body")
        model = None if body is None else body.annotation
        usual = super().get_route_handler() if self.dependant.query_params else None

        async def handle(request: Request) -> Response:
            await admit(request, scope)
            if usual is not None:
                return await usual(request)
            arguments = dict(request.path_params)
            if model is not None:
                arguments["body"] = _parsed(request, await request.body(), model)
            response: Response = await endpoint(request, **arguments)
            return response

        return handle


def _parsed(request: Request, text: bytes, model: type[BaseModel]) -> BaseModel:
    """The body as the model wants it, or a refusal."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(422, "the body must be JSON: send the header Content-Type: application/json.")
    try:
        content = _DECODER.decode(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON that can be read: {error}.") from None
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False)) from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is none of JSON's values")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
