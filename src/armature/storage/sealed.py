"""Sealed bytes: a line of JSON that says what they are, a checksum of both, then the bytes.

What was cut off or changed on the way is noticed. A seal is no signature: whoever can write the
bytes can write the checksum. What has a place of its own for a checksum, such as a table or a text
in JSON, keeps there what `checksum` says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def checksum(*pieces: Mapping[str, Any] | bytes) -> str:
    """The checksum of plain data and of bytes, one behind the other: 64 hexadecimal digits.

    >>> checksum({"name": "a"}, b"12", b"3") == checksum({"name": "a"}, b"123")
    True
    """
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece if isinstance(piece, bytes) else _as_bytes(piece))
    return digest.hexdigest()


def _as_bytes(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True).encode()


def sealed(about: Mapping[str, Any], content: bytes) -> bytes:
    r"""The bytes in their envelope.

    >>> unsealed(sealed({"name": "a"}, b"123"))
    ({'name': 'a'}, b'123')
    >>> unsealed(sealed({"name": "a"}, b"123") + b"4") is None
    True
    """
    return json.dumps({**about, "sha256": checksum(about, content)}).encode() + b"\n" + content


def unsealed(whole: bytes) -> tuple[dict[str, Any], bytes] | None:
    """What `sealed` was given; None where it is not as it was written."""
    line, _, content = whole.partition(b"\n")
    try:
        about = json.loads(line)
        intact = about.pop("sha256") == checksum(about, content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return (dict(about), content) if intact else None
