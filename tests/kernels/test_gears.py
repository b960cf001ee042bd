"""Kernels change from plain Python to machine code by themselves, and nobody notices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from processes import PATIENCE, run

import armature as am
from armature.errors import ArmatureError
from armature.families.record import signatures, two_means_at
from armature.kernels import addresses, gears, plain
from armature.kernels.addresses import Signature, address_of, function_at, numbers_in
from armature.kernels.compiling import meanwhile
from armature.kernels.gears import Gear, current, using
from armature.kernels.kernel import Kernel, kernel
from armature.kernels.libm import log_gamma
from armature.kernels.plain import on_trial

HOT = """
import armature as am

class Room(tuple):
    pass

@am.kernel
def added(values, x):
    values[0] += x
    return values[0]
"""

# Calls a kernel until machine code makes the call; it has counted all calls, in both gears.
USE = """
import logging, sys, time
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
from armature.kernels import plain
plain.PATIENCE = 0.0
import numpy as np
{begin}
values, n = np.zeros(1), 0
until = time.monotonic() + 600
while added.machine_code is None and time.monotonic() < until:
    n += 1
    assert added(values, 1.0) == n
    time.sleep(0.01)
for _ in range(5):
    n += 1
    assert added(values, 1.0) == n
assert n > 6 and values[0] == n
print("changed", "numba" in sys.modules)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for modules; the cache is another, and the gear changes by itself."""
    monkeypatch.setenv("ARMATURE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ARMATURE_GEAR", "auto")
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "hot.py").write_text(HOT)
    return modules


def kept(place: Path) -> set[str]:
    return {p.name.partition("-")[0] for p in (place.parent / "cache").rglob("added-*")}


def test_the_gear_changes_by_itself(place: Path) -> None:
    """A helper fills the cache; a second process finds it filled, and needs none."""
    said = run(USE.format(begin="from hot import added"), cwd=place)
    assert said == "changed True\n"
    assert kept(place) == {"added"}
    no_helper = (
        "from hot import added\n"
        "from armature.kernels.compiling import helper\n"
        "def start(): raise AssertionError\n"
        "helper.start = start"
    )
    assert run(USE.format(begin=no_helper), cwd=place) == "changed True\n"


COLLECTED = """
import gc
from hot import added
long, collects = [], {collects}
if not collects:
    gc.disable()
def note(phase, about):
    import threading
    if phase == "start" and about["generation"] == 2 and "numba" in sys.modules:
        long.append(threading.current_thread().name)
gc.callbacks.append(note)
"""


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_not_looked_for_in_all_of_numba(place: Path, collects: bool) -> None:
    """That takes a tenth of a second, in which no decision is made. Other programs' ways stay."""
    begin = COLLECTED.format(collects=collects)
    code = USE.format(begin=begin) + "\ngc.callbacks.remove(note)\nprint(long, gc.isenabled())\n"
    run(USE.format(begin="from hot import added"), cwd=place)  # fills the cache
    assert run(code, cwd=place).splitlines() == ["changed True", f"[] {collects}"]


NO_PROCESS = """
from hot import added
from armature.kernels.compiling import helper
def start(): raise PermissionError("not here")
helper.start = start
"""
ENDED = """
from hot import added
import sys
import threading
sys.executable = "/bin/false"
"""


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (NO_PROCESS, "no process can be started: not here"),
        (ENDED, "it has ended"),
        (HOT, "belongs to a script or a notebook"),
    ],
    ids=["no process", "a process that ends", "a kernel of a script"],
)
def test_without_a_helper(place: Path, begin: str, reason: str) -> None:
    """The process compiles by itself, and says so in one line."""
    said = run(USE.format(begin=begin), cwd=place).splitlines()
    assert said[-1] == "changed True"
    assert len(said) == 2
    assert "compiled in this process" in said[0]
    assert reason in said[0]


def test_a_cache_that_can_not_be_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = place / "file"
    blocker.write_text("")
    monkeypatch.setenv("ARMATURE_CACHE_DIR", str(blocker))
    said = run(USE.format(begin="from hot import added"), cwd=place)
    assert f"{blocker / 'kernels-1'} can't be written" in said
    assert said.splitlines()[-1] == "changed True"


FORK = """
from hot import added
import os
from armature.kernels import plain
plain.PATIENCE = 0.0
import numpy as np
added(np.zeros(1), 1.0)  # an order is placed
child = os.fork()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_in_the_middle(place: Path) -> None:
    """Both go on and change gears."""
    code = USE.format(begin=FORK) + "\nif child: assert os.waitpid(child, 0)[1] == 0\n"
    assert run(code, cwd=place).count("changed True") == 2


ORDERED = """
import sys, threading, time
from armature.kernels.compiling import helper
import armature.kernels.compiling.orders
process = helper.start()
print(process.pid, flush=True)
time.sleep(600)
"""


def test_a_helper_ends_with_its_program(place: Path) -> None:
    """Even if that is killed."""
    program = subprocess.Popen(
        [sys.executable, "-c", ORDERED], cwd=place, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    helper = int(program.stdout.readline())
    os.kill(helper, 0)  # it is there
    program.send_signal(signal.SIGKILL)
    program.communicate()
    until = time.monotonic() + PATIENCE
    while is_running(helper):
        assert time.monotonic() < until, "the helper is still there"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether there is such a process that has not ended (one that nobody waits for has)."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


SMALL = """
import sys
import threading
import armature as am
assert not {'numba', 'scipy', 'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules)
for policy, structure in [
    (am.Challenger(), am.Unimodal(5)),
    (am.Challenger(), am.Linear([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])),
    (am.Guarded(am.Challenger()), am.Lipschitz(6, 0.3)),
    (am.ThompsonSampling(), am.Unconstrained(3)),
]:
    for family in (am.Gaussian(), am.Bernoulli()):
        bandit = am.Bandit(policy, structure, family)
        for _ in range(8):
            bandit.tell(bandit.ask(), 1.0)
        str(bandit.explain())
        bandit.to_json()
am.lower_bound(am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1]))
found = {'numba', 'scipy', 'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules)
assert not found, found
"""


def test_small_problems_need_no_compiler(place: Path) -> None:
    run(SMALL, ARMATURE_GEAR="python")
    run(SMALL)
    assert not list(place.parent.glob("cache"))


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Gear:
        monkeypatch.setenv("ARMATURE_GEAR", name)
        assert gears.chosen_gear() is name
    monkeypatch.setenv("ARMATURE_GEAR", "")
    assert gears.chosen_gear() is Gear.auto
    monkeypatch.setenv("ARMATURE_GEAR", "fast")
    with pytest.raises(ArmatureError, match="python, compiled, auto; got 'fast'"):
        gears.chosen_gear()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert gears.chosen_gear() is Gear.python


def test_a_breakpoint_inside_a_kernel(place: Path) -> None:
    """With `python`, even long work is plain Python."""
    code = """
import sys, armature as am
from armature.rounds import play
found = []
def trace(frame, event, argument):
    if frame.f_code is play.play.py_func.__code__:
        found.append(frame.f_lineno)
sys.settrace(trace)
am.Instance(am.Unconstrained(2), [0.0, 1.0])
from armature.rounds.run import make_run
from armature.rounds.play import checkpoints_up_to
problem = am.Instance(am.Unconstrained(2), [0.0, 1.0])
make_run(am.UCB(), problem, 0, 0, checkpoints_up_to(9)).advance(9)
print(bool(found), "numba" in sys.modules)
"""
    assert run(code, ARMATURE_GEAR="python") == "True False\n"


# A call on trial.


class Pair(NamedTuple):
    first: Any
    second: Any


@kernel
def slow_or_wrong(pair: Pair, x: float) -> float:
    """Writes first, and may fail then: in Python, not by the rules for doubles."""
    pair.first[0] += 1.0
    pair.second[0] += 1
    return step(pair.first[0] / x)


@kernel
def step(x: float) -> float:
    """Something to call, where it is noticed that it takes too long."""
    return 2.0 * x


def called(x: float) -> tuple[float, float, int]:
    pair = Pair(np.zeros(1), np.zeros(1, dtype=np.int64))
    with using(Gear.auto):
        result = on_trial(slow_or_wrong, (pair, x), {})
    assert current.get() is gears.USUAL
    return result, float(pair.first[0]), int(pair.second[0])


def test_what_python_refuses_machine_code_answers() -> None:
    """With arrays as they were before."""
    assert called(4.0) == (0.5, 1.0, 1)
    with pytest.raises(ZeroDivisionError):
        slow_or_wrong.py_func(Pair(np.zeros(1).tolist(), np.zeros(1, dtype=np.int64)), 0)
    assert called(np.nan)[1:] == (1.0, 1)


def test_what_takes_too_long_is_done_by_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    entered = []
    monkeypatch.setattr(
        Kernel,
        "by_machine_code",
        lambda kernel, args, kwargs: entered.append(kernel) or kernel.py_func(*args, **kwargs),
    )
    assert called(4.0) == (0.5, 1.0, 1)
    assert entered == []
    monkeypatch.setattr(plain, "LONGEST", -1.0)
    with using(Gear.python):
        assert called_once_more() == (0.5, 1.0, 1)
    assert entered[0] is slow_or_wrong


def called_once_more() -> tuple[float, float, int]:
    pair = Pair(np.zeros(1), np.zeros(1, dtype=np.int64))
    with using(Gear.auto):
        result = on_trial(slow_or_wrong, (pair, 4.0), {})
    return result, float(pair.first[0]), int(pair.second[0])


def test_a_thread_beside_others_leaves_compiling_to_the_helper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It waits until that has ended; only the main thread compiles by itself."""
    made, asked, entered = threading.Event(), threading.Event(), []

    def compile_for(*_: Any) -> threading.Event:
        asked.set()
        return made

    def by_machine_code(called: Kernel[..., Any], args: Any, kwargs: Any) -> Any:
        entered.append(made.is_set())
        return called.py_func(*args, **kwargs)

    monkeypatch.setattr(Kernel, "by_machine_code", by_machine_code)
    monkeypatch.setattr(meanwhile, "compile_for", compile_for)
    monkeypatch.setattr(plain, "LONGEST", -1.0)
    thread = threading.Thread(target=called_beside_others)
    thread.start()
    assert asked.wait(PATIENCE)
    assert entered == []
    made.set()
    thread.join()
    assert set(entered) == {True}
    made.clear()
    entered.clear()
    called_beside_others()
    assert set(entered) == {False}


def called_beside_others() -> None:
    with using(Gear.python):
        called_once_more()


def test_an_error_of_the_library_is_no_reason_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "by_machine_code", lambda *_: pytest.fail("compiled"))

    @kernel
    def refuse(x: float) -> float:
        raise ArmatureError("not this")

    with using(Gear.auto), pytest.raises(ArmatureError, match="not this"):
        refuse(1.0)


OWN = """
import sys, time
import armature as am
from armature.kernels import plain
plain.LONGEST = plain.PATIENCE = 1.0
from armature.authoring import Fit

class Slow(am.Structure):
    n_arms = 2
    tells = False

    def project(self, means, weights, family):
        if self.tells:
            raise ZeroDivisionError("mine")
        time.sleep(0.3)
        return Fit(means, 0.0)

    def alt_min(self, means, weights, best, challenger, family):
        both = (means @ weights) / weights.sum()
        means[:] = both
        return Fit(means, 0.0)

structure = Slow()
bandit = am.Bandit(am.ProjectedThompson(), structure)
bandit.tell([0, 1], [0.2, 0.4])
for _ in range(5):
    bandit.ask()
structure.tells = True
try:
    bandit.ask()
except ZeroDivisionError as error:
    print(error, "numba" in sys.modules)
"""


def test_a_structure_of_ones_own_takes_its_time(place: Path) -> None:
    """Its methods count for nothing, and its errors are its own: neither is a reason to compile."""
    assert run(OWN, ARMATURE_GEAR="auto") == "mine False\n"


# Kernels by number.


def test_every_record_tells_its_numbers() -> None:
    """All that stand in it: with one left out, compiled code could call what is not there."""
    bandit = am.Bandit(am.Guarded(am.Challenger()), am.Unimodal(4), am.Bernoulli())
    decisions = bandit._chooser.decisions
    found = numbers_in((decisions.state, decisions.model))
    assert {one for one in decisions.model.table[:11].tolist() if one} <= found
    assert set(decisions.model.family[-8:]) <= found
    assert decisions.state.options.costs in found
    for number in found - {0}:
        assert callable(function_at(number))
    with pytest.raises(ArmatureError, match="not there"):
        function_at(0)


def test_a_number_waits_until_its_code_is_there() -> None:
    @kernel
    def thrice(x: float) -> float:
        return 3.0 * x

    def table() -> dict[str, Any]:
        import numba

        return {"": numba.float64(numba.float64)}

    number = address_of(thrice, Signature(table, ""))
    assert number == address_of(thrice, Signature(table, ""))
    assert number in addresses.waiting
    assert function_at(number)(2.0) == 6.0
    addresses.fill([number])
    assert number not in addresses.waiting
    assert addresses._machine_code[number] != 0


def test_code_that_is_missing_is_made_when_it_is_called() -> None:
    """Whoever forgets to say that a record holds a number waits, and crashes nothing."""

    class Hidden(NamedTuple):
        number: int

    @kernel
    def four_times(p: float, x: float, y: float) -> float:
        return 4.0 * x + p * y

    @kernel
    def call(hidden: Hidden, x: float) -> float:
        return two_means_at(hidden.number)(0.0, x, 0.0)

    number = address_of(four_times, Signature(signatures, "divergence"))
    with using(Gear.compiled):
        assert call(Hidden(number), 2.0) == 8.0
    assert number not in addresses.waiting


INTERRUPTED = """
import signal, time
from typing import NamedTuple
signal.signal(signal.SIGINT, signal.default_int_handler)
from armature.families.record import signatures, two_means_at
from armature.kernels import addresses
from armature.kernels.addresses import Signature, address_of
from armature.kernels.gears import Gear, using
from armature.kernels.kernel import kernel

class Hidden(NamedTuple):
    number: int

@kernel
def four_times(p: float, x: float, y: float) -> float:
    return 4.0 * x + p * y

@kernel
def call(hidden: Hidden, x: float) -> float:
    return two_means_at(hidden.number)(0.0, x, 0.0)

make = addresses.fill
def interrupted(numbers):
    signal.raise_signal(signal.SIGINT)
    make(numbers)

addresses.fill = interrupted
try:
    with using(Gear.compiled):
        print(call(Hidden(address_of(four_times, Signature(signatures, "divergence"))), 2.0))
    time.sleep(60.0)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interruption_waits_until_machine_code_is_made(place: Path) -> None:
    """An exception can't pass through machine code: the program would crash."""
    assert run(INTERRUPTED, cwd=place) == "8.0\ninterrupted\n"


@kernel
def through(x: float) -> float:
    return log_gamma(x)


def test_the_gamma_function_has_the_same_bits_in_both_gears() -> None:
    """Python's own differs from what compiled code calls in most of them."""
    values = np.random.default_rng(0).gamma(1.0, 10.0, 2000).tolist()
    with using(Gear.compiled):
        assert [through(x) for x in values] == [log_gamma(x) for x in values]


def test_who_compiles_and_who_looks_for_machine_code_do_not_wait_for_each_other() -> None:
    """One thread holds Numba's lock and asks for a kernel, while another asks for a kernel."""
    from numba.core.compiler_lock import global_compiler_lock

    first, second = (Kernel(lambda x: x) for _ in range(2))
    compiling = threading.Event()

    def compiles() -> None:
        with global_compiler_lock:
            compiling.set()
            time.sleep(0.3)  # the other waits for the lock by now
            assert second.callee is not None

    threads = [
        threading.Thread(target=compiles, daemon=True),
        threading.Thread(target=lambda: compiling.wait() and first.callee, daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
