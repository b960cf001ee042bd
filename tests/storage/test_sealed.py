"""Bytes with a checksum: what was changed is noticed, and what is stored stays readable."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from armature.storage.files import checksum, sealed, unsealed

ABOUT = {"name": "a", "format": "some bytes", "n": 3}
STORED = (
    b'{"name": "a", "format": "some bytes", "n": 3, "sha256": '
    b'"9a45bb79dd8ea60770e78a7567784ea6a1aa12d7d87d6ec426f2efd3133928a8"}\n\x00\n1'
)


def test_what_was_sealed_is_what_is_unsealed() -> None:
    rng = np.random.default_rng(0)
    for size in (0, 1, 10, 1000):
        content = rng.bytes(size)
        assert unsealed(sealed(ABOUT, content)) == (ABOUT, content)


def test_a_stored_envelope_is_read() -> None:
    """Parts of earlier releases have this form, to the byte."""
    assert sealed(ABOUT, b"\x00\n1") == STORED
    assert unsealed(STORED) == (ABOUT, b"\x00\n1")


def test_every_change_is_noticed() -> None:
    for n in range(len(STORED)):
        changed = bytearray(STORED)
        changed[n] ^= 1
        assert unsealed(bytes(changed)) is None
        assert unsealed(STORED[:n]) is None
    assert unsealed(STORED + b"1") is None


@pytest.mark.parametrize("whole", [b"", b"\n", b"[]\n", b"null\n", b"{}\n", b"{" * 10_000, b"\xff"])
def test_what_is_no_envelope(whole: bytes) -> None:
    assert unsealed(whole) is None


def test_the_checksum_of_data_and_bytes() -> None:
    """A saved bandit's and a table's: sorted JSON, then the bytes."""
    text = json.dumps(ABOUT, sort_keys=True).encode()
    assert checksum(ABOUT) == hashlib.sha256(text).hexdigest()
    assert checksum(ABOUT, b"12", b"3") == hashlib.sha256(text + b"123").hexdigest()
    assert checksum(b"12", b"3") == hashlib.sha256(b"123").hexdigest()
