"""Who looks: a browser, which keeps a key in a cookie that no script and no other site can use.

The cookie counts on the page alone, never under /v1. What changes anything is a form, and is taken
only from the page itself: browsers say where a form comes from, and what does not say so is
refused.
"""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from fastapi import Request
from starlette.responses import Response

from armature.service.api.access import check_host
from armature.service.db.keys import Guard
from armature.service.limits import Refused

COOKIE = "armature_key"
DAYS = 30
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "same-origin",  # a form would say that it comes from nowhere without one
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


async def admit_viewer(request: Request, scope: str) -> None:
    """Refuse whoever has no key for the scope, in the cookie or as any program sends it."""
    objection = await objection_to(request, key_of(request), scope)
    if objection is not None:
        raise Refused(*objection)


async def objection_to(request: Request, key: str | None, scope: str) -> tuple[int, str] | None:
    """Why a key is not good for a scope; None if it is."""
    guard: Guard = request.app.state.guard
    if guard.is_stale:
        await asyncio.to_thread(guard.refresh)
    if guard.is_open:
        check_host(request)
    return guard.objection(key, scope)


def key_of(request: Request) -> str | None:
    """The key that a request comes with."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return token.strip()
    return request.cookies.get(COOKIE) or None


def check_same_site(request: Request) -> None:
    """Refuse a form that is not this page's own."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        own = site == "same-origin"
    else:
        own = origin is not None and origin.partition("://")[2] == request.headers.get("host")
    if not own:
        raise Refused(403, "forms are taken from this server's own page only.")


async def form_of(request: Request) -> dict[str, str]:
    """What a form says; of a field that is there twice, the last."""
    body = await request.body()  # what is refused is read, too: the connection goes on
    check_same_site(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(422, "this is not what the form sends.")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=50, errors="strict")
    except ValueError:
        raise Refused(422, "the form can't be read.") from None
    return {name: values[-1] for name, values in fields.items()}


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
