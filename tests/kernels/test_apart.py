"""Large kernels that are compiled by themselves, and called by a number that is always theirs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from armature.errors import ArmatureError
from armature.kernels import addresses
from armature.kernels.addresses import Signature, address_of, fill, fill_all, reached_from
from armature.kernels.apart import apart
from armature.kernels.compiling.fingerprint import Fingerprint, _references_of, numbers_reached
from armature.kernels.gears import Gear, using
from armature.kernels.kernel import Kernel, kernel
from armature.solver.convex import minimise
from armature.structures.oracles import derived


def table() -> dict[str, Any]:
    import numba

    types: Any = numba.types
    return {"": types.float64(types.float64), "two": types.float64(types.float64, types.int64)}


@apart(Signature(table, ""))
def halved(x: float) -> float:
    return 0.5 * x


@apart(Signature(table, ""))
def rare(x: float) -> float:
    return halved(x) - 1.0


@kernel
def once(x: float) -> float:
    return halved(x) if x >= 0.0 else rare(x)


@kernel
def twice(x: float) -> float:
    return halved(halved(x))


def is_there(one: Any) -> bool:
    return addresses._machine_code[one.number] != 0


def test_callers_share_it_and_what_is_not_called_is_not_compiled() -> None:
    with using(Gear.python):
        assert (once(3.0), once(-3.0), twice(3.0)) == (1.5, -2.5, 0.75)
    with using(Gear.compiled):
        assert once(3.0) == 1.5
        assert is_there(halved)
        assert not is_there(rare)
        place = addresses._machine_code[halved.number]
        assert twice(3.0) == 0.75
        assert addresses._machine_code[halved.number] == place
        assert len(halved.addresses._results) == 1
        assert once(-3.0) == -2.5
        assert is_there(rare)
        assert halved(5.0) == 2.5  # called from Python


def fresh() -> tuple[Kernel[..., float], Any, Any]:
    """A kernel, one apart that it may call, and one apart that this may call."""

    @apart(Signature(table, ""))
    def second(x: float) -> float:
        return x + 2.0

    @apart(Signature(table, ""))
    def first(x: float) -> float:
        return second(x) + 1.0 if x > 0.0 else x

    @kernel
    def start(x: float) -> float:
        return first(x)

    return start, first, second


def test_a_number_waits_for_all_that_it_may_call() -> None:
    """Or a call in the middle of a live decision would compile what is rare."""
    start, first, second = fresh()
    assert numbers_reached(start) == {first.number, second.number}
    number = address_of(start, Signature(table, ""))
    assert reached_from(number) == {first.number, second.number}
    with using(Gear.compiled):
        fill([number])
        assert addresses._machine_code[number] != 0
        assert number in addresses.waiting
        fill_all([number])
    assert {number, first.number, second.number}.isdisjoint(addresses.waiting)
    assert is_there(first)
    assert is_there(second)


def changed(value: float, name: str = "") -> Kernel[..., float]:
    """A caller of a kernel apart that has this value in it."""

    @apart(Signature(table, name))
    def called(x: float) -> float:
        return x + value

    @kernel
    def caller(x: float) -> float:
        return called(x)

    addresses._kernels[called.number] = None  # or the next one of this name would be refused
    return caller


def test_an_edit_to_it_compiles_no_caller_anew() -> None:
    digest = Fingerprint(changed(1.0)).digest
    assert Fingerprint(changed(2.0)).digest == digest
    assert Fingerprint(changed(1.0, "two")).digest != digest


def test_its_number_is_the_same_in_every_process() -> None:
    code = "from armature.solver.convex import minimise; print(minimise.number)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert int(found.stdout) == minimise.number


def test_two_with_one_number_are_refused() -> None:
    def other(x: float) -> float:
        return x

    with pytest.raises(ArmatureError, match=r"other needs another name: .*halved has its number"):
        addresses.fix_address(halved.number - 1, kernel(other), Signature(table, ""))


@pytest.mark.parametrize("name", ["project", "alt_min", "challenger_min", "challenger_bounds"])
def test_oracles_that_follow_from_pieces_share_the_large_solvers(name: str) -> None:
    """They hold none of them, so that their own code is small."""
    oracle: Callable[..., float] = getattr(derived, name)
    inside: set[str] = set()

    def visit(one: Any) -> None:
        for _, value in _references_of(one.py_func):
            if isinstance(value, Kernel) and not hasattr(value, "number"):
                inside.add(value.name)
                visit(value)

    visit(oracle)
    assert "armature.structures.oracles.search.begin" in inside
    solvers = {one.rsplit(".", 1)[0] for one in inside if one.startswith("armature.solver.")}
    small = ("program", "quadratic", "chains.chain")  # records, sizes, and what a chain says
    assert solvers <= {f"armature.solver.{one}" for one in small}
