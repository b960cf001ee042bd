"""Connections that don't send what they began, and what the program prints where nobody sees it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from processes import obeying
from serving import free_port, query, sqlite_in

from armature.service.api import server as connections
from armature.service.api.app import Readiness, make_app
from armature.service.db.database import open_database
from armature.service.limits import Refused

DECIDE = b"POST /v1/experiments/prices/decisions HTTP/1.1\r\nHost: localhost\r\n"
HALF = {
    "headers": DECIDE + b"Content-Type: applic",
    "body": DECIDE + b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    "chunks": DECIDE
    + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{",
    "form": (
        b"POST /experiments HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\nna"
    ),
}


@contextmanager
def connected(http: httpx.Client) -> Iterator[socket.socket]:
    """A connection to the server, of bytes."""
    address = urlsplit(str(http.base_url))
    with socket.create_connection((address.hostname, address.port), timeout=60.0) as made:
        yield made


def _rest(made: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    found = b""
    while piece := made.recv(65_536):
        found += piece
    return found


@pytest.mark.parametrize("what", HALF)
def test_a_request_that_stops_half_way(
    http: httpx.Client, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a stated time it is answered with 408, and the connection is closed."""
    monkeypatch.setattr(connections, "ARRIVAL", 0.3)
    with connected(http) as made:
        made.sendall(HALF[what])
        answer = _rest(made)
    assert b" 408 " in answer
    assert b"had not arrived after 0.3 seconds" in answer
    assert http.get("/healthz").status_code == 200


def test_a_second_request_that_stops(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a connection that was good before."""
    monkeypatch.setattr(connections, "ARRIVAL", 0.3)
    with connected(http) as made:
        made.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first = b""
        while not first.endswith(b"}"):
            first += made.recv(65_536)
        made.sendall(HALF["headers"])
        assert b" 408 " in _rest(made)


def test_a_connection_that_says_nothing(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ARRIVAL", 0.3)
    with connected(http) as made:
        assert _rest(made) == b""


@pytest.mark.parametrize("what", HALF)
def test_who_hangs_up_leaves_no_traceback(
    http: httpx.Client, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        with connected(http) as made:
            made.sendall(HALF[what])
        for _ in range(5):  # by then the server has seen that nobody is there any more
            assert http.get("/healthz").status_code == 200
    assert not [record for record in caplog.records if record.exc_info]


def test_silent_connections_shut_out_nobody(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are too many, the one that has been silent for longest makes way."""
    monkeypatch.setattr(connections, "MOST", 20)
    with ExitStack() as stack:
        silent = [stack.enter_context(connected(http)) for _ in range(20)]
        for made in silent:
            made.sendall(HALF["headers"])
        for _ in range(5):
            url = f"{http.base_url}/v1/experiments/prices/decisions"
            assert httpx.post(url, json={}, timeout=60.0).status_code == 200
        assert b" 503 " in _rest(silent[0])
        silent[-1].sendall(b"ation/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        assert b" 200 " in _rest(silent[-1])


def _program(*words: str, storage: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ARMATURE_STORAGE": storage}
    command = [sys.executable, "-m", "armature", *words]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, env=environment, check=False, stderr=subprocess.PIPE, text=True, **options
    )


def test_looking_makes_no_database(tmp_path: Path) -> None:
    commands = (
        ["experiments", "list"],
        ["experiments", "show", "prices"],
        ["experiments", "export", "prices", "--out", str(tmp_path / "log.csv")],
        ["keys", "list"],
        ["keys", "revoke", "me"],
    )
    for words in commands:
        found = _program(*words, storage=sqlite_in(tmp_path), stdout=subprocess.PIPE)
        assert found.returncode == 2, words
        assert "there is no such storage yet" in found.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_key_that_nobody_sees_is_not_stored(tmp_path: Path) -> None:
    storage = sqlite_in(tmp_path)
    words = ["keys", "create", "me", "--scope", "admin"]
    with open("/dev/full", "w") as full:
        assert _program(*words, storage=storage, stdout=full).returncode != 0
    closed = f"exec {sys.executable} -m armature {' '.join(words)} >&-"
    environment = {**os.environ, "ARMATURE_STORAGE": storage}
    shell = subprocess.run(["sh", "-c", closed], env=environment, check=False, capture_output=True)
    assert shell.returncode != 0
    assert b"output" in shell.stderr
    assert query(storage, "SELECT name FROM api_key") == []
    seen = _program(*words, storage=storage, stdout=subprocess.PIPE)
    assert seen.returncode == 0
    assert seen.stdout.startswith("arm_")
    assert query(storage, "SELECT name FROM api_key") == [("me",)]


def test_it_serves_when_it_says_so(tmp_path: Path) -> None:
    """Not before the port is its own: where it is taken, it says that, and nothing else."""
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        taken = _program("serve", "--port", str(port), storage=sqlite_in(tmp_path))
    assert taken.returncode == 2
    assert f"port {port} of 127.0.0.1 can't be used" in taken.stderr
    assert "serving" not in taken.stderr
    environment = {**os.environ, "ARMATURE_STORAGE": sqlite_in(tmp_path)}
    command = [sys.executable, "-m", "armature", "serve", "--port", str(port)]
    with subprocess.Popen(
        obeying(command), env=environment, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            assert f"serving on http://127.0.0.1:{port}" in server.stderr.readline()
            assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
        finally:
            server.terminate()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_monitors_may_ask_without_a_body(
    http: httpx.Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HEAD is answered as GET, but for the body, and the connection goes on."""

    async def fail(self: object) -> None:
        raise Refused(503, "no write can succeed now: the disk is full.")

    def asked() -> httpx.Response:
        head, got = http.head(path), http.get(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        for name in ("content-type", "content-length", "retry-after"):
            assert head.headers.get(name) == got.headers.get(name)
        return head

    assert asked().status_code == 200
    with monkeypatch.context() as broken:
        broken.setattr(Readiness, "check", fail)
        assert asked().status_code == (503 if path == "/readyz" else 200)
    with connected(http) as made:
        lines = [f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n" for method in ("HEAD", "GET")]
        made.sendall((lines[0] + "\r\n" + lines[1] + "Connection: close\r\n\r\n").encode())
        answer = _rest(made)
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert answer.count(b'{"status":"ok"}') == 1
    assert http.post(path).headers["allow"] == "GET, HEAD"
    assert http.head("/openapi.json").status_code == 405


def test_an_application_sends_no_body_after_head(tmp_path: Path) -> None:
    """Also where the server would not leave it out."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    app = make_app(open_database(sqlite_in(tmp_path)), open_without_keys=True)
    scope = {"type": "http", "method": "HEAD", "path": "/healthz", "root_path": "", "headers": []}
    asyncio.run(app(scope, receive, send))
    assert [message.get("body", b"") for message in sent] == [b"", b""]
