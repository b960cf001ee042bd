"""Who may do what: keys that programs send in a header, and browsers in a cookie.

No script and no other site can use the cookie, and it counts on the page only, never under /v1.
What changes anything there is a form, and is taken only from the page itself: browsers say where a
form comes from, and a form without that is refused.
"""

from __future__ import annotations

import asyncio
import logging
import time
from urllib.parse import parse_qs

from fastapi import Request
from sqlalchemy.engine import Engine
from starlette.responses import Response

from armature.service.db.keys import Key, hash_of, read_keys
from armature.service.db.sqlite import passing
from armature.service.limits import LOOPBACK, Refused

FRESH = 2.0  # seconds for which the keys that were read count: a revoked one ends within them
CLOSED = (
    "the last key was revoked, so this server refuses everything. Make a key with "
    "`armature keys create`, or restart the server on the loopback address, where it needs none."
)
COOKIE = "armature_key"
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

log = logging.getLogger("armature.service")


class Guard:
    """Whether a token is good for a scope, from keys that are read again every few seconds."""

    def __init__(self, engine: Engine, open_without_keys: bool) -> None:
        self._engine, self._open = engine, open_without_keys
        self._had_keys = False  # then it stays closed, also when the last one is revoked
        self._keys: dict[str, Key] = {}
        self._ahead = 0.0  # of the database's clock over the seconds that pass here
        self._read_at = -FRESH

    @property
    def is_stale(self) -> bool:
        """Whether the keys must be read again before they are asked about."""
        return time.monotonic() - self._read_at > FRESH

    def refresh(self) -> None:
        """Read the keys."""
        before = self._keys
        self._keys, now = read_keys(self._engine)
        if before and not self._keys:
            log.warning("%s", CLOSED)
        self._had_keys = self._had_keys or bool(self._keys)
        self._ahead = now - passing()
        self._read_at = time.monotonic()

    @property
    def is_open(self) -> bool:
        """Whether every request may do everything: no key was ever made, and we are on loopback."""
        return self._open and not self._had_keys

    def check(self, token: str | None, scope: str) -> None:
        """Refuse a token that is not good for a scope."""
        if not self._keys:
            raise Refused(401, CLOSED)
        if token is None:
            raise Refused(401, "a key is needed: send the header Authorization: Bearer <key>.")
        key = self._keys.get(hash_of(token))
        if key is None:
            raise Refused(401, "the key is not known.")
        if key.expires_at is not None and key.expires_at <= passing() + self._ahead:
            raise Refused(401, "the key has expired.")
        if not key.may(scope):
            raise Refused(403, f"this needs a key with the scope {scope!r}, which yours lacks.")


async def admit(request: Request, scope: str, key: str | None = None) -> None:
    """Refuse a request without a key for the scope: the one that is given, or that it sends."""
    guard: Guard = request.app.state.guard
    if guard.is_stale:
        await asyncio.to_thread(guard.refresh)
    if guard.is_open:
        check_host(request)
    else:
        guard.check(key or bearer_of(request), scope)


async def admit_browser(request: Request, scope: str) -> None:
    """The same for the page, which also takes a key from the cookie."""
    await admit(request, scope, bearer_of(request) or request.cookies.get(COOKIE))


def bearer_of(request: Request) -> str | None:
    """The key that a program sends."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def check_host(request: Request) -> None:
    """Without keys, refuse what a page of another site makes a browser send under its own name."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if name.strip("[]") not in LOOPBACK:
        raise Refused(
            403, "this server has no keys, so it answers only at localhost: make a key first."
        )
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise Refused(403, "requests from pages of another site are refused.")


def check_same_site(request: Request) -> None:
    """Refuse a form that is not this page's own."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        own = site == "same-origin"
    else:
        own = origin is not None and origin.partition("://")[2] == request.headers.get("host")
    if not own:
        raise Refused(403, "a form is accepted only from this server's own page.")


async def form_of(request: Request) -> dict[str, str]:
    """What a form says; of a field that is there twice, the last."""
    body = await request.body()  # what is refused is read, too: the connection goes on
    check_same_site(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(422, "the content type is not that of a form.")
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
