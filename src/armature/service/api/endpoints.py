"""The endpoints under /v1."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import Path, Query, Request
from starlette.responses import Response

from armature.service.api import bodies
from armature.service.api.router import Answer, Endpoint, Routes
from armature.service.db.schema import Status
from armature.service.domain import reading
from armature.service.domain.backend import Backend
from armature.service.domain.changing import AddArm, ChangeExperiment, RetireArm
from armature.service.domain.commands import Cancel, Decide, Labels
from armature.service.domain.log import events_after, exported
from armature.service.domain.values import checked_label
from armature.service.limits import Refused

_REFUSALS = {
    400: "Not JSON that can be read",
    401: "No key, or none that is known",
    403: "A key for something else",
    413: "Too large",
    422: "Something in it is wrong",
    503: "The database failed: try again",
    404: "Not there",
    409: "Not possible as things are",
}
_LATE, _THERE = {202: "Late: kept, and not applied"}, {200: "It was there already"}
_ALWAYS = (400, 401, 403, 413, 422, 503)
Name = Annotated[str, Path(description="the name of an experiment")]
Key = Annotated[str, Path(description="the id of a decision")]
KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
table = Routes()


def endpoint(
    method: str,
    path: str,
    scope: str,
    model: Any,
    *refusals: int,
    code: int = 200,
    also: Mapping[int, str] | None = None,
) -> Callable[[Endpoint], Endpoint]:
    """A route of the table: its answer, the refusals beside the usual ones, and other answers."""
    responses = {
        refusal: {"model": bodies.ErrorAnswer, "description": _REFUSALS[refusal]}
        for refusal in (*_ALWAYS, *refusals)
    }
    for other, text in (also or {}).items():
        responses[other] = {"model": model, "description": text}
    return table.route(
        method, f"/v1{path}", scope, response_model=model, status_code=code, responses=responses
    )


def _backend(request: Request) -> Backend:
    backend: Backend = request.app.state.backend
    return backend


# The most frequent requests come first: routes are tried in order.


@endpoint("POST", "/experiments/{name}/decisions", "decide", bodies.Decisions, 404, 409)
async def decide(request: Request, name: Name, body: bodies.NewDecisions) -> Answer:
    """Make decisions. The same request_id again gets the same decisions."""
    made = await _backend(request).run(
        name, Decide(body.n, body.unit, body.request_id, body.segment)
    )
    return Answer({"decisions": made})


@endpoint("POST", "/decisions/{id}/reward", "reward", bodies.RewardStatus, 404, 409, also=_LATE)
async def reward(request: Request, id: Key, body: bodies.NewReward) -> Answer:
    """Tell the reward of a decision. The same value again changes nothing."""
    (result,) = await _backend(request).reward([(id, body.value)])
    if result.code >= 400:
        raise Refused(result.code, result.detail or result.status)
    return Answer({"status": result.status, "detail": result.detail}, result.code)


@endpoint("POST", "/rewards", "reward", bodies.RewardResults)
async def rewards(request: Request, body: bodies.NewRewards) -> Answer:
    """Tell the rewards of several decisions, of any experiments; each is answered on its own."""
    items = [(item.decision, item.value) for item in body.rewards]
    results = await _backend(request).reward(items)
    return Answer(
        {
            "results": [
                {"decision": key, "status": result.status, "detail": result.detail}
                for (key, _), result in zip(items, results, strict=True)
            ]
        }
    )


@endpoint("POST", "/experiments", "admin", bodies.Created, 409, code=201, also=_THERE)
async def create_experiment(request: Request, body: bodies.NewExperiment) -> Answer:
    """Make an experiment. The same again is answered with 200, another spec with 409."""
    is_new, made = await _backend(request).create(body.name, body.spec)
    return Answer(made, 201 if is_new else 200)


@endpoint("GET", "/experiments", "read", bodies.Experiments)
async def list_experiments(request: Request) -> Answer:
    """All experiments, without their arms."""
    return Answer({"experiments": await _backend(request).read(reading.list_experiments)})


@endpoint("GET", "/experiments/{name}", "read", bodies.ExperimentAnswer, 404)
async def show_experiment(request: Request, name: Name) -> Answer:
    """An experiment with its arms: pulls, outstanding rewards, means with intervals."""
    backend = _backend(request)
    copy = await backend.look(name)
    row = await backend.find(name)
    return Answer(await backend.explain(copy.key, reading.shown, copy, row))


@endpoint("PATCH", "/experiments/{name}", "admin", bodies.ExperimentAnswer, 404, 409)
async def change_experiment(request: Request, name: Name, body: bodies.Changes) -> Answer:
    """Pause, resume or stop; set the floor, or what changes of rewards do; add a segment."""
    backend = _backend(request)
    status = None if body.status is None else Status(body.status)
    segment = None if body.add_segment is None else checked_label(body.add_segment)
    change = ChangeExperiment(
        status, body.floor, segment, body.changes, backend.limits, backend.allow
    )
    await backend.run(name, change)
    return await show_experiment(request, name)


@endpoint("POST", "/experiments/{name}/arms", "admin", bodies.ExperimentAnswer, 404, 409)
async def add_arm(request: Request, name: Name, body: bodies.NewArm) -> Answer:
    """Add an arm while the experiment runs. The same again changes nothing."""
    backend = _backend(request)
    label = checked_label(body.label)
    await backend.run(name, AddArm(label, body.options, backend.limits, backend.allow))
    return await show_experiment(request, name)


@endpoint("POST", "/experiments/{name}/arms/retire", "admin", bodies.ExperimentAnswer, 404, 409)
async def retire_arm(request: Request, name: Name, body: bodies.OldArm) -> Answer:
    """Choose an arm no more. Rewards that are outstanding are still taken in."""
    await _backend(request).run(name, RetireArm(body.label))
    return await show_experiment(request, name)


@endpoint("DELETE", "/decisions/{id}", "reward", bodies.Cancelled, 404, 409)
async def cancel(request: Request, id: Key) -> Answer:
    """The reward of a decision will never come: the pull counts as if it had not been."""
    return Answer(await _backend(request).run_for_decision(id, Cancel(id)))


@endpoint("GET", "/experiments/{name}/explain", "read", bodies.BeliefAnswer, 404, 409)
async def explain(
    request: Request, name: Name, query: Annotated[bodies.OfSegment, Query()]
) -> Answer:
    """The bandit's estimates (of a segment), its next decision, and the reason for it."""
    backend = _backend(request)
    copy = await backend.look(name)
    return Answer(await backend.explain(copy.key, reading.explanation_of, copy, query.segment))


@endpoint("GET", "/experiments/{name}/bound", "read", bodies.BoundAnswer, 404, 409)
async def bound(request: Request, name: Name) -> Answer:
    """The lower bound of regret at the means that fit best so far."""
    backend = _backend(request)
    copy = await backend.look(name)
    return Answer(await backend.bound(copy.key, reading.bound_of, copy))


@endpoint("GET", "/experiments/{name}/events", "read", bodies.Events, 404)
async def events(
    request: Request,
    name: Name,
    query: Annotated[bodies.PartOfLog, Query()],
) -> Answer:
    """The log, from after an event on."""
    backend = _backend(request)
    key = await backend.id_of(name)
    found = await backend.read(events_after, key, query.after, query.limit)
    names = await backend.run(name, Labels())  # later than the events: it has all their arms
    if await backend.id_of(name) != key:
        raise Refused(503, "the database was restored: try again.")
    return await asyncio.to_thread(_events, found, names, query.after)


@table.route(
    "GET",
    "/v1/experiments/{name}/export",
    "read",
    response_class=Response,
    responses={
        200: {"content": {kind: {} for kind in KINDS.values()}, "description": "The table"},
        **{
            code: {"model": bodies.ErrorAnswer, "description": _REFUSALS[code]}
            for code in (*_ALWAYS, 404)
        },
    },
)
async def export(
    request: Request, name: Name, query: Annotated[bodies.Export, Query()]
) -> Response:
    """A table with a row for each reward and the probability of its decision."""
    backend = _backend(request)
    key = await backend.id_of(name)
    content = await backend.explain(key, exported, backend.engine, name, f".{query.format}")
    if content is None:
        raise Refused(404, "there is no such experiment.")
    headers = {"Content-Disposition": f'attachment; filename="rewards.{query.format}"'}
    return Response(content, media_type=KINDS[query.format], headers=headers)


def _events(found: list[dict[str, Any]], names: tuple[list[Any], list[Any]], after: int) -> Answer:
    """The answer, which may be long, with names for the numbers of arms and segments."""
    labels, segments = names
    for entry in found:
        entry["arm"] = None if entry["arm"] is None else labels[entry["arm"]]
        entry["segment"] = None if entry["segment"] is None else segments[entry["segment"]]
    return Answer({"events": found, "next": found[-1]["seq"] if found else after})
