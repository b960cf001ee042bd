"""The page: a list of experiments, and each of them as a picture. Without any script it reads well.

GET  /                           the experiments
GET  /experiments/NAME           one of them
POST /experiments/NAME/status    pause, resume, stop it
GET  /new, POST /experiments     make one
GET  /login, POST /login, POST /logout
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
from importlib import resources
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Request
from jinja2 import Environment
from starlette.responses import HTMLResponse, RedirectResponse, Response

from armature import __version__
from armature.errors import ArmatureError
from armature.service.db.keys import CLOSED
from armature.service.db.schema import Status
from armature.service.domain.commands import Change
from armature.service.domain.spec import hint_about
from armature.service.limits import Refused
from armature.service.page.browsing import (
    COOKIE,
    HEADERS,
    admit_viewer,
    form_of,
    is_from_elsewhere,
    keep_key,
    key_of,
    objection_to,
    wants_page,
)
from armature.service.page.forms import KNOWLEDGE, REWARDS, UNITS, spec_of
from armature.service.page.viewing import Viewer
from armature.views.pages import environment, stylesheet

pages = APIRouter(include_in_schema=False)
# A link on another site comes without the cookie; the same page, asked for by this one, has it.
_AGAIN = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>…</title>'
)
LONGEST_KEY = 500  # characters: what a browser keeps in a cookie
_STATIC = {"page.css": "text/css", "page.js": "text/javascript"}


@functools.cache
def _templates() -> Environment:
    return environment("armature.service.page")


@functools.cache
def static_file(name: str) -> bytes:
    """A file that the page loads."""
    if name == "page.css":
        return stylesheet().encode()
    return (resources.files("armature.service.page") / "static" / name).read_bytes()


@functools.cache
def _fingerprint(name: str) -> str:
    """Of what is in a file: its address changes with it, so that browsers may keep it."""
    return hashlib.sha256(static_file(name)).hexdigest()[:12]


def _viewer(request: Request) -> Viewer:
    viewer: Viewer = request.app.state.viewer
    return viewer


async def _page(request: Request, name: str, code: int = 200, **content: Any) -> HTMLResponse:
    """A page from a template, with what all of them show."""
    content["may_change"] = await _may_change(request)
    content["has_key"] = COOKIE in request.cookies
    small = "gzip" in request.headers.get("accept-encoding", "")
    body = await asyncio.to_thread(_rendered, name, content, small)
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"} if small else {}
    return HTMLResponse(body, code, {**HEADERS, **headers})


def _rendered(name: str, content: dict[str, Any], small: bool) -> bytes:
    """A page as it is sent."""
    text = (
        _templates()
        .get_template(name)
        .render(
            version=__version__, css=_fingerprint("page.css"), js=_fingerprint("page.js"), **content
        )
    )
    body = text.encode("utf-8", "replace")  # what was sent is shown, half a character too
    return gzip.compress(body, 5, mtime=0) if small else body


async def _may_change(request: Request) -> bool:
    try:
        return await objection_to(request, key_of(request), "admin") is None
    except Refused:  # a request of another site, which sees no more than why it is refused
        return False


@pages.get("/")
async def list_page(request: Request) -> Response:
    """The experiments."""
    await admit_viewer(request, "read")
    found = await asyncio.to_thread(request.app.state.backend.experiments)
    views, troubles = await _viewer(request).glance([row["name"] for row in found])
    return await _page(
        request,
        "list.html",
        experiments=found,
        views=views,
        troubles=troubles,
        notice=request.app.state.notice,
    )


@pages.get("/experiments/{name}")
async def experiment_page(request: Request, name: str) -> Response:
    """One experiment."""
    await admit_viewer(request, "read")
    return await _page(request, "experiment.html", view=await _viewer(request).view(name))


@pages.post("/experiments/{name}/status")
async def change_status(request: Request, name: str) -> Response:
    """Pause, resume or stop an experiment."""
    fields = await form_of(request)
    await admit_viewer(request, "admin")
    wanted = fields.get("status", "")
    if wanted not in list(Status):
        raise Refused(422, "the status is running, paused or stopped.")
    if wanted == Status.stopped and fields.get("sure") != "yes":
        raise Refused(422, "stopping is for good: tick the box that says so.")
    backend = request.app.state.backend
    await backend.run(name, Change(Status(wanted)))
    _viewer(request).forget(await backend.id_of(name))
    return _see_other(f"/experiments/{quote(name, safe='')}")


@pages.get("/new")
async def new_page(request: Request) -> Response:
    """The form for a new experiment."""
    await admit_viewer(request, "admin")
    return await _form(request, {}, None)


@pages.post("/experiments")
async def create(request: Request) -> Response:
    """Make an experiment, or show the form again with what is wrong."""
    fields = await form_of(request)
    await admit_viewer(request, "admin")
    name = fields.get("name", "").strip()
    try:
        spec = spec_of(fields)
        hint = hint_about(spec) if isinstance(spec, dict) and not fields.get("hinted") else None
        if hint is not None:
            return await _form(request, fields, None, hint=hint)
        await request.app.state.backend.create(name, spec)
    except ArmatureError as error:
        return await _form(request, fields, str(error), 422)
    except Refused as refused:
        return await _form(request, fields, refused.detail, refused.code)
    return _see_other(f"/experiments/{quote(name, safe='')}")


async def _form(
    request: Request,
    fields: dict[str, str],
    problem: str | None,
    code: int = 200,
    hint: str | None = None,
) -> Response:
    return await _page(
        request,
        "new.html",
        code,
        fields=fields,
        problem=problem,
        hint=hint,
        knowledge=KNOWLEDGE,
        rewards={kind: words for kind, (words, _) in REWARDS.items()},
        units=[unit for unit in UNITS if unit],
    )


@pages.get("/login")
async def login_page(request: Request) -> Response:
    """The form for a key."""
    return await _page(request, "login.html", problem=None, back="/")


@pages.post("/login")
async def login(request: Request) -> Response:
    """Keep a key that is good for looking."""
    fields = await form_of(request)
    key, back = fields.get("key", "").strip(), _local(fields.get("back", "/"))
    objection = await objection_to(request, key or None, "read")
    if not (key.isascii() and key.isprintable() and len(key) <= LONGEST_KEY):
        objection = 422, "this is no key: one has letters, digits, - and _."
    if objection is not None:
        code, problem = objection
        return await _page(request, "login.html", code, problem=problem, back=back)
    response = _see_other(back)
    keep_key(request, response, key)
    return response


@pages.post("/logout")
async def logout(request: Request) -> Response:
    """Forget the key."""
    await form_of(request)
    response = _see_other("/")
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@pages.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """What the page loads: a style and a script, which browsers may keep."""
    if name not in _STATIC:
        raise Refused(404, "there is no such file.")
    headers = {"X-Content-Type-Options": "nosniff"}
    if request.query_params.get("v") == _fingerprint(name):
        headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return Response(static_file(name), media_type=_STATIC[name], headers=headers)


@pages.get("/favicon.ico")
async def icon() -> Response:
    """None: the page brings its own."""
    return Response(status_code=204)


def _local(path: str) -> str:
    """A place on this server, whatever was asked for."""
    inside = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if inside else "/"


def _see_other(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303, HEADERS)


def add_pages(app: FastAPI) -> None:
    """The page, and refusals that a person can read."""
    app.include_router(pages)
    usual: Any = app.exception_handlers[Refused]

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        if request.url.path.startswith("/v1/") or not wants_page(request):
            response: Response = await usual(request, error)
            return response
        if error.code == 401 and is_from_elsewhere(request):
            return HTMLResponse(_AGAIN, 401, HEADERS)
        if error.code == 401:
            back = request.url.path if request.method == "GET" else "/"
            problem = error.detail if error.detail == CLOSED else None
            return await _page(request, "login.html", 401, problem=problem, back=back)
        return await _page(request, "refused.html", error.code, problem=error.detail)
