"""Where a policy's kernels are, compiled for its state and packed into words for the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armature.kernels.addresses import address_of, function_at, is_compiling, teach_address
from armature.kernels.arrays import Ints
from armature.kernels.kernel import Kernel, before_compiling
from armature.kernels.packing import packed_choose, packed_stop, packed_update

CHOOSE, UPDATE, STOP = packed_choose, packed_update, packed_stop  # the parts in a round
_ADDRESSES: dict[tuple[Any, Any, bytes], int] = {}


def packed_address(
    part: Callable[..., Kernel[..., Any]], kernel: Kernel[..., Any] | None, records: tuple[Any, ...]
) -> int:
    """The address of a kernel that has a part in a round, for such records; 0: there is none."""
    if kernel is None:
        return 0
    if not is_compiling():
        return address_of(part(kernel, 0), None)
    import numba as _numba
    from numba import _dispatcher

    numba: Any = _numba
    # what dispatchers know types by: ten times faster than naming the types in each repetition
    key = (part, kernel, _dispatcher.compute_fingerprint(records))
    if key not in _ADDRESSES:
        _ADDRESSES[key] = address_of(part(kernel, numba.typeof(records)), _signatures()[part])
    return _ADDRESSES[key]


def _signatures() -> dict[Any, Any]:
    from numba.core import types as _types

    types: Any = _types
    words = types.int64[::1]
    return {
        CHOOSE: types.int64(words),
        UPDATE: types.void(words, types.int64, types.float64),
        STOP: types.boolean(words),
    }


# Without compilation, an address may be the function itself: a policy in plain Python has no other.


def chooser_at(address: Any) -> Callable[[Ints], int]:
    """What chooses, at an address."""
    return address if callable(address) else function_at(address)


def updater_at(address: Any) -> Callable[[Ints, int, float], None]:
    """What learns from a reward, at an address."""
    return address if callable(address) else function_at(address)


def stopper_at(address: Any) -> Callable[[Ints], bool]:
    """What says that it is enough, at an address."""
    return address if callable(address) else function_at(address)


@before_compiling
def _teach_addresses() -> None:
    signatures = _signatures()
    for at, part in ((chooser_at, CHOOSE), (updater_at, UPDATE), (stopper_at, STOP)):
        teach_address(at, signatures[part])
