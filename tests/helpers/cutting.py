"""A PostgreSQL whose connections are cut at the worst moment."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Literal


class Cutter:
    """Stands between a program and PostgreSQL, and cuts a connection at its next COMMIT.

    Before it reaches PostgreSQL, or after: when it is done and the program can't know.
    """

    def __init__(self, unix_socket: str) -> None:
        self._target = unix_socket
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self.when: Literal["before", "after"] | None = None
        self.cuts = 0
        threading.Thread(target=self._open, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._door.close()

    def _open(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            cut = threading.Event()
            threading.Thread(target=self._there, args=(client, server, cut), daemon=True).start()
            threading.Thread(target=self._back, args=(client, server, cut), daemon=True).start()

    def _there(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if b"COMMIT" in data and self.when is not None:
                    when, self.when = self.when, None
                    self.cuts += 1
                    if when == "before":
                        _shut(client, server)
                        return
                    cut.set()  # its answer goes nowhere
                server.sendall(data)
        _shut(server)

    def _back(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if cut.is_set():
                    break
                client.sendall(data)
        _shut(client, server)


def _shut(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
