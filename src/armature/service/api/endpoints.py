"""The endpoints under /v1."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from armature.service.api import bodies
from armature.service.api.answers import Answer, refusal
from armature.service.api.routes import Route, needs
from armature.service.domain import reading
from armature.service.domain.backend import Backend
from armature.service.domain.commands import AddArm, Cancel, Change, Decide, Labels, RetireArm
from armature.service.domain.spec import checked_label
from armature.service.limits import Limits, Refused, checked_identifier

LIMITS = Limits()
_PROBLEM = {"model": bodies.Problem}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {**_PROBLEM, "description": "Not JSON that can be read"},
    401: {**_PROBLEM, "description": "No key, or none that is known"},
    403: {**_PROBLEM, "description": "A key for something else"},
    413: {**_PROBLEM, "description": "Too large"},
    422: {**_PROBLEM, "description": "Something in it is wrong"},
    503: {**_PROBLEM, "description": "The database failed: try again"},
}
_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {**_PROBLEM, "description": "Not there"}}
_CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {**_PROBLEM, "description": "Not possible as things are"}
}
Name = Annotated[str, Path(description="the name of an experiment")]
Key = Annotated[str, Path(description="the id of a decision")]
router = APIRouter(prefix="/v1", responses=_REFUSALS, route_class=Route)


def _backend(request: Request) -> Backend:
    backend: Backend = request.app.state.backend
    return backend


# What is asked most often comes first: routes are tried in order.


@router.post(
    "/experiments/{name}/decisions",
    response_model=bodies.Decisions,
    responses={**_NOT_FOUND, **_CONFLICT},
    openapi_extra=needs("decide"),
)
async def decide(request: Request, name: Name, body: bodies.NewDecisions) -> Answer:
    """Make decisions. The same request_id again gets the same decisions."""
    unit = checked_identifier(body.unit, "unit")
    request_id = checked_identifier(body.request_id, "request_id")
    made = await _backend(request).run(name, Decide(body.n, unit, request_id))
    return Answer({"decisions": made})


@router.post(
    "/decisions/{id}/reward",
    response_model=bodies.RewardStatus,
    responses={
        202: {"model": bodies.RewardStatus, "description": "Late: kept, and not applied"},
        **_NOT_FOUND,
        **_CONFLICT,
    },
    openapi_extra=needs("reward"),
)
async def reward(request: Request, id: Key, body: bodies.NewReward) -> Answer:
    """Tell the reward of a decision. The same value again changes nothing."""
    (result,) = await _backend(request).reward([(id, body.value)])
    if result.code >= 400:
        return refusal(result.code, result.detail or result.status)
    return Answer({"status": result.status, "detail": result.detail}, result.code)


@router.post("/rewards", response_model=bodies.RewardResults, openapi_extra=needs("reward"))
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


@router.post(
    "/experiments",
    status_code=201,
    response_model=bodies.Created,
    responses={200: {"model": bodies.Created, "description": "It was there already"}, **_CONFLICT},
    openapi_extra=needs("admin"),
)
async def create_experiment(request: Request, body: bodies.NewExperiment) -> Answer:
    """Make an experiment. The same again is answered with 200, another spec with 409."""
    is_new, made = await _backend(request).create(body.name, body.spec)
    return Answer(made, 201 if is_new else 200)


@router.get("/experiments", response_model=bodies.Experiments, openapi_extra=needs("read"))
async def list_experiments(request: Request) -> Answer:
    """All experiments, without their arms."""
    return Answer({"experiments": await asyncio.to_thread(_backend(request).experiments)})


@router.get(
    "/experiments/{name}",
    response_model=bodies.Experiment,
    responses=_NOT_FOUND,
    openapi_extra=needs("read"),
)
async def show_experiment(request: Request, name: Name) -> Answer:
    """An experiment with its arms: pulls, outstanding rewards, means with intervals."""
    backend = _backend(request)
    copy = await backend.look(name)
    row = await backend.find(name)
    return Answer(await backend.explain(reading.shown, copy, row))


@router.patch(
    "/experiments/{name}",
    response_model=bodies.Experiment,
    responses={**_NOT_FOUND, **_CONFLICT},
    openapi_extra=needs("admin"),
)
async def change_experiment(request: Request, name: Name, body: bodies.Changes) -> Answer:
    """Pause, resume or stop an experiment; set its floor."""
    await _backend(request).run(name, Change(body.wanted_status(), body.floor))
    return await show_experiment(request, name)


@router.post(
    "/experiments/{name}/arms",
    response_model=bodies.Experiment,
    responses={**_NOT_FOUND, **_CONFLICT},
    openapi_extra=needs("admin"),
)
async def add_arm(request: Request, name: Name, body: bodies.NewArm) -> Answer:
    """Add an arm while the experiment runs."""
    backend = _backend(request)
    label = checked_label(body.label)
    await backend.run(name, AddArm(label, body.options, backend.limits, backend.allow))
    return await show_experiment(request, name)


@router.post(
    "/experiments/{name}/arms/retire",
    response_model=bodies.Experiment,
    responses={**_NOT_FOUND, **_CONFLICT},
    openapi_extra=needs("admin"),
)
async def retire_arm(request: Request, name: Name, body: bodies.OldArm) -> Answer:
    """Choose an arm no more. Rewards that are outstanding are still taken in."""
    await _backend(request).run(name, RetireArm(body.label))
    return await show_experiment(request, name)


@router.delete(
    "/decisions/{id}",
    response_model=bodies.Cancelled,
    responses={**_NOT_FOUND, **_CONFLICT},
    openapi_extra=needs("reward"),
)
async def cancel(request: Request, id: Key) -> Answer:
    """The reward of a decision will never come: the pull counts as if it had not been."""
    return Answer(await _backend(request).run_for_decision(id, Cancel(id)))


@router.get(
    "/experiments/{name}/explain",
    response_model=bodies.Belief,
    responses=_NOT_FOUND,
    openapi_extra=needs("read"),
)
async def explain(request: Request, name: Name) -> Answer:
    """What the bandit believes, and what it does next and why."""
    backend = _backend(request)
    return Answer(await backend.explain(reading.explanation_of, await backend.look(name)))


@router.get(
    "/experiments/{name}/bound",
    response_model=bodies.Bound,
    responses={**_NOT_FOUND, **_CONFLICT},
    openapi_extra=needs("read"),
)
async def bound(request: Request, name: Name) -> Answer:
    """The lower bound of regret at the means that fit best so far."""
    backend = _backend(request)
    return Answer(await backend.bound(await backend.look(name)))


@router.get(
    "/experiments/{name}/events",
    response_model=bodies.Events,
    responses=_NOT_FOUND,
    openapi_extra=needs("read"),
)
async def events(
    request: Request,
    name: Name,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=LIMITS.events)] = 1_000,
) -> Answer:
    """The log, from after an event on."""
    backend = _backend(request)
    key = await backend.id_of(name)
    found = await asyncio.to_thread(backend.events, key, after, limit)
    labels = await backend.run(name, Labels())  # later than the events: it has all their arms
    if await backend.id_of(name) != key:
        raise Refused(503, "the database was restored: try again.")
    return await asyncio.to_thread(_events, found, labels, after)


def _events(found: list[dict[str, Any]], labels: list[Any], after: int) -> Answer:
    """The answer, which may be long, with labels for the numbers of arms."""
    for entry in found:
        entry["arm"] = None if entry["arm"] is None else labels[entry["arm"]]
    return Answer({"events": found, "next": found[-1]["seq"] if found else after})
