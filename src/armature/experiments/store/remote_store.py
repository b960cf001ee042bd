"""Folders that are elsewhere: addresses such as `s3://bucket/results`, through `pyarrow.fs`.

What is written is there as a whole or not at all: an object store shows an object when it is
complete; in a file system, it is written beside its place and renamed.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armature.errors import ArmatureError
from armature.storage.files import PREFIX, write_bytes


def is_address(text: str) -> bool:
    """Whether a text is an address, and no path on this machine.

    >>> is_address("s3://bucket/results"), is_address("results/today")
    (True, False)
    """
    return "://" in text


@dataclass(frozen=True)
class Store:
    """A folder at an address."""

    address: str

    def __post_init__(self) -> None:
        self._open()

    def _open(self) -> tuple[Any, str]:
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem

        try:
            return FileSystem.from_uri(self.address)  # type: ignore[no-any-return]
        except (ArrowException, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise ArmatureError(
                f"{self.address!r} is no address of a folder ({reason}): give a path, or an "
                "address such as s3://bucket/results."
            ) from None

    def names(self) -> list[str]:
        """All files, with the paths that they have within the folder."""
        from pyarrow.fs import FileSelector, FileType

        system, root = self._open()
        selector = FileSelector(root, recursive=True, allow_not_found=True)
        found = system.get_file_info(selector)
        files = [info.path for info in found if info.type == FileType.File]
        return sorted(posixpath.relpath(path, root) for path in files)

    def read(self, name: str) -> bytes:
        """The content of a file; FileNotFoundError if there is none."""
        system, root = self._open()
        with system.open_input_stream(posixpath.join(root, name)) as stream:
            return bytes(stream.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        system, root = self._open()
        path = posixpath.join(root, name)
        system.create_dir(posixpath.dirname(path), recursive=True)
        if system.type_name == "local":
            write_bytes(path, content)
            return
        with system.open_output_stream(path) as stream:
            stream.write(content)

    def fetch(self, folder: Path) -> None:
        """Copy all files to a folder on this machine."""
        for name in self.names():
            if not posixpath.basename(name).startswith(PREFIX):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(target, self.read(name))
