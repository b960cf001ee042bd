"""The endpoints for readers, from the description that programs read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DescribedEndpoint:
    """A method and an address, in words."""

    method: str
    path: str
    words: str
    scope: str | None
    parameters: list[tuple[str, str]]  # names, and kinds
    body: str | None  # the fields of the request, as JSON
    answers: list[tuple[str, str]]  # codes, and what they mean


def endpoints_of(description: dict[str, Any]) -> list[DescribedEndpoint]:
    """All endpoints of an OpenAPI description, in its order."""
    found = []
    schemas = description.get("components", {}).get("schemas", {})
    for path, methods in description["paths"].items():
        for method, said in methods.items():
            content = said.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema")
            body = None if schema is None else json.dumps(_shape(schema, schemas), indent=2)
            parameters = [
                (f"{one['name']} (in the {one['in']})", _kind(one.get("schema", {}), schemas))
                for one in said.get("parameters", [])
            ]
            answers = [(code, one["description"]) for code, one in said["responses"].items()]
            words, scope = said.get("description", said.get("summary", "")), said.get("x-scope")
            found.append(
                DescribedEndpoint(method.upper(), path, words, scope, parameters, body, answers)
            )
    return found


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = schemas.get(name, schema)
    return found


def _shape(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """The fields of an object, each with its kind of value."""
    schema = _resolved(schema, schemas)
    if "properties" in schema:
        needed = schema.get("required", [])
        return {
            name if name in needed else f"{name}?": _shape(one, schemas)
            for name, one in schema["properties"].items()
        }
    if schema.get("type") == "array":
        return [_shape(schema.get("items", {}), schemas)]
    return _kind(schema, schemas)


def _kind(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    schema = _resolved(schema, schemas)
    if "anyOf" in schema:
        return " or ".join(_kind(one, schemas) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(json.dumps(one) for one in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    return str(schema.get("type", "any value"))
