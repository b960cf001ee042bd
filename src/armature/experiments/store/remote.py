"""Output folders at addresses such as s3://bucket/results: a folder here, and the same there.

What is there is fetched first. Then everything that appears here is sent there, from a second later
on, so that whatever ends this program costs no more than the last second's blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from armature.experiments.store.remote_store import Store, is_address
from armature.storage.files import PREFIX, passing_folder

EVERY = 1.0  # seconds


@contextmanager
def folder_here(out: str | None) -> Iterator[Path | None]:
    """The folder for what is written: itself if it is on this machine, or else one that is sent."""
    if out is None or not is_address(out):
        yield None if out is None else Path(out)
        return
    with passing_folder() as folder, Sending(folder, Store(out)):
        yield folder


class Sending:
    """Sends what is new in a folder to a store, as long as the block lasts and once at its end."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder, self._store = folder, store
        self._sent: dict[str, tuple[int, int]] = {}  # what is there: time and size of each file
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_sending, daemon=True)

    def __enter__(self) -> Sending:
        self._store.fetch(self._folder)
        self._sent = self._present()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.send()

    def send(self) -> None:
        """Send what is new, parts first: what is made of them can be made again."""
        present = self._present()
        fresh = [name for name in present if self._sent.get(name) != present[name]]
        for name in sorted(fresh, key=lambda name: (not name.endswith(".part"), name)):
            try:
                content = (self._folder / name).read_bytes()
            except FileNotFoundError:  # it was set aside in the meantime
                continue
            self._store.write(name, content)
            self._sent[name] = present[name]

    def _keep_sending(self) -> None:
        while not self._ended.wait(EVERY):
            try:
                self.send()
            except OSError:  # it is tried again, and said in the end
                continue

    def _present(self) -> dict[str, tuple[int, int]]:
        found = {}
        for path in self._folder.rglob("*"):
            if path.is_file() and not path.name.startswith(PREFIX):
                status = path.stat()
                name = path.relative_to(self._folder).as_posix()
                found[name] = (status.st_mtime_ns, status.st_size)
        return found
