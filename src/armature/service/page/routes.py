"""The page: a list of experiments, each of them as a picture, and forms to make and change them.

It is HTML and reads well without any script.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
from importlib import resources
from typing import Any
from urllib.parse import quote

from fastapi import Request
from jinja2 import Environment
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import HTMLResponse, RedirectResponse, Response

from armature import __version__
from armature.errors import ArmatureError
from armature.service.api.router import CLOSED, Routes, admit, bearer_of
from armature.service.api.router import refuse as refuse_program
from armature.service.db.schema import Status
from armature.service.domain import reading
from armature.service.domain.changing import ChangeExperiment
from armature.service.domain.spec import hint_about
from armature.service.limits import Refused
from armature.service.page.described import endpoints_of
from armature.service.page.forms import KNOWLEDGE, REWARDS, UNITS, form_of, spec_of
from armature.service.page.tables import worth_chart
from armature.service.page.viewing import FEW, Viewer
from armature.views.pages import environment, stylesheet

COOKIE = "armature_key"  # no script and no other site can use it
DAYS = 30
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "same-origin",  # a form would say that it comes from nowhere without one
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


async def admit_browser(request: Request, scope: str) -> None:
    """Admit as under /v1, but take a key from the cookie, too."""
    await admit(request, scope, bearer_of(request) or request.cookies.get(COOKIE))


table = Routes(admit_browser)
# A link on another site comes without the cookie; the same page, asked for by this one, has it.
_AGAIN = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>…</title>'
)
LONGEST_KEY = 500  # characters: what a browser keeps in a cookie
_STATIC = {"page.css": "text/css", "page.js": "text/javascript"}


@functools.cache
def _templates() -> Environment:
    return environment("armature.service.page", (worth_chart,))


@functools.cache
def static_file(name: str) -> bytes:
    """A file that the page loads."""
    if name == "page.css":
        return stylesheet().encode()
    return (resources.files("armature.service.page") / "static" / name).read_bytes()


@functools.cache
def _fingerprint(name: str) -> str:
    """A hash of a file for its address, which changes with it, so that browsers may keep it."""
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
    return HTMLResponse(body, code, {**PAGE_HEADERS, **headers})


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
        await admit_browser(request, "admin")
    except (Refused, SQLAlchemyError):  # a page that says what has failed is shown, too
        return False
    return True


@table.route("GET", "/", "read")
async def list_page(request: Request) -> Response:
    """The experiments."""
    found = await request.app.state.backend.read(reading.list_experiments)
    views, troubles = await _viewer(request).glance([row["name"] for row in found])
    return await _page(
        request,
        "list.html",
        experiments=found,
        views=views,
        troubles=troubles,
        few=FEW,
        notice=request.app.state.notice,
    )


@table.route("GET", "/experiments/{name}", "read")
async def experiment_page(request: Request, name: str) -> Response:
    """One experiment."""
    view = await _viewer(request).view(name)
    template = "table.html" if view.is_table else "experiment.html"
    return await _page(request, template, view=view, address=str(request.base_url).rstrip("/"))


@table.route("POST", "/experiments/{name}/status", "admin")
async def change_status(request: Request, name: str) -> Response:
    """Pause, resume or stop an experiment."""
    fields = await form_of(request)
    wanted = fields.get("status", "")
    if wanted not in list(Status):
        raise Refused(422, "the status is running, paused or stopped.")
    if wanted == Status.stopped and fields.get("sure") != "yes":
        raise Refused(422, "a stopped experiment can't be started again: tick the box to confirm.")
    backend = request.app.state.backend
    await backend.run(name, ChangeExperiment(Status(wanted)))
    _viewer(request).forget(await backend.id_of(name))
    return _see_other(f"/experiments/{quote(name, safe='')}")


@table.route("GET", "/new", "admin")
async def new_page(request: Request) -> Response:
    """The form for a new experiment."""
    return await _form(request, {}, None)


@table.route("POST", "/experiments", "admin")
async def create(request: Request) -> Response:
    """Make an experiment, or show the form again with what is wrong."""
    fields = await form_of(request)
    name = fields.get("name", "").strip()
    try:
        spec = spec_of(fields)
        hint = hint_about(spec) if isinstance(spec, dict) and not fields.get("hinted") else None
        if hint is not None:
            return await _form(request, fields, None, hint=hint)
        await request.app.state.backend.create(name, spec)
    except (ArmatureError, Refused) as error:
        return await _form(request, fields, str(error), getattr(error, "code", 422))
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


@table.route("GET", "/docs", "read")
async def docs_page(request: Request) -> Response:
    """All endpoints, in words."""
    found = await asyncio.to_thread(endpoints_of, request.app.openapi())
    return await _page(request, "docs.html", endpoints=found)


@table.route("GET", "/login")
async def login_page(request: Request) -> Response:
    """The form for a key."""
    return await _page(request, "login.html", problem=None, back="/")


@table.route("POST", "/login")
async def login(request: Request) -> Response:
    """Keep a key that is good for looking."""
    fields = await form_of(request)
    key, back = fields.get("key", "").strip(), _local(fields.get("back", "/"))
    try:
        if not (key.isascii() and key.isprintable() and len(key) <= LONGEST_KEY):
            raise Refused(422, "that is not a key: keys consist of letters, digits, - and _.")
        await admit(request, "read", key)
    except Refused as refused:
        detail = refused.detail
        return await _page(request, "login.html", refused.code, problem=detail, back=back)
    response = _see_other(back)
    keep_key(request, response, key)
    return response


@table.route("POST", "/logout")
async def logout(request: Request) -> Response:
    """Forget the key."""
    await form_of(request)
    response = _see_other("/")
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@table.route("GET", "/static/{name}")
async def static(request: Request, name: str) -> Response:
    """The style and the script of the page, which browsers may keep."""
    if name not in _STATIC:
        raise Refused(404, "there is no such file.")
    headers = {"X-Content-Type-Options": "nosniff"}
    if request.query_params.get("v") == _fingerprint(name):
        headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return Response(static_file(name), media_type=_STATIC[name], headers=headers)


@table.route("GET", "/favicon.ico")
async def icon(request: Request) -> Response:
    """None: the page brings its own."""
    return Response(status_code=204)


def _local(path: str) -> str:
    """A place on this server, whatever was asked for."""
    inside = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if inside else "/"


def _see_other(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303, PAGE_HEADERS)


async def refuse(request: Request, refused: Refused) -> Response:
    """A refusal that a person can read, for browsers; for programs, as under /v1."""
    code, detail = refused.code, refused.detail
    if request.url.path.startswith("/v1/") or not wants_page(request):
        return await refuse_program(request, refused)
    if code == 401 and is_from_elsewhere(request):
        return HTMLResponse(_AGAIN, 401, PAGE_HEADERS)
    if code == 401:
        back = request.url.path if request.method == "GET" else "/"
        problem = detail if detail == CLOSED else None
        return await _page(request, "login.html", 401, problem=problem, back=back)
    return await _page(request, "refused.html", code, problem=detail, missing=code == 404)


def keep_key(request: Request, response: Response, key: str) -> None:
    """Let the browser keep a key."""
    response.set_cookie(
        COOKIE,
        key,
        max_age=86_400 * DAYS,
        httponly=True,
        samesite="strict",
        secure=is_secure(request),
    )


def is_secure(request: Request) -> bool:
    """Whether the browser came by https, as far as this server or the proxy before it knows."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))


def is_from_elsewhere(request: Request) -> bool:
    """Whether a link on another site led here, for which a browser leaves the cookie out."""
    site = request.headers.get("sec-fetch-site")
    return request.method == "GET" and site in ("cross-site", "same-site")


def wants_page(request: Request) -> bool:
    """Whether it is a browser that asks."""
    return "text/html" in request.headers.get("accept", "")
