"""Machine code for kernels that have become hot, made while plain Python goes on.

A thread takes one order after the other. What the cache has is loaded; what it lacks is compiled by
a helper process first. Where that can't be (no process can be started, the cache can't be written,
the kernel belongs to a notebook), the thread compiles by itself, and the log says so once.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import os
import queue
import subprocess
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from armature.kernels.compiling import notice

if TYPE_CHECKING:
    from armature.kernels.compiling.orders import Order
    from armature.kernels.kernel import Kernel

log = logging.getLogger("armature.compile")


class Workshop:
    """The orders of this process, and the thread that carries them out."""

    def __init__(self) -> None:
        self.known: dict[Any, threading.Event] = {}  # orders that were placed: set when finished
        self.busy = 0  # orders that are not finished
        self.helper: subprocess.Popen[bytes] | None = None
        self.in_process = threading.Lock()  # held where Numba is at work in this process
        self._orders: queue.SimpleQueue[tuple[Any, Order] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._without_helper = ""  # why not, if so
        self._ending = False

    def place(self, key: Any, order: Order) -> None:
        """Have an order carried out, once."""
        with self._lock:
            if key in self.known or self._ending:
                return
            self.known[key] = threading.Event()
            self.busy += 1
            self._orders.put((key, order))
            if self._thread is None:
                name = notice.IN_THE_BACKGROUND
                self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:  # no thread can be started: plain Python goes on
                    log.info("kernels stay plain Python: %s", error)
                    self.known[key].set()

    def end(self) -> None:
        """At the end of the program: what is not finished is given up."""
        self._ending = True
        self._orders.put(None)
        helper, thread = self.helper, self._thread
        if helper is not None:
            helper.kill()
        if thread is not None and thread.is_alive():
            thread.join()
        for finished in self.known.values():
            finished.set()

    def _work(self) -> None:
        from armature.kernels.gears import Gear, using

        with using(Gear.compiled):
            while (placed := self._orders.get()) is not None and not self._ending:
                key, order = placed
                try:
                    self._carry_out(order)
                except Exception as error:  # whatever it is, plain Python goes on
                    why = (str(error).splitlines() or [type(error).__name__])[0]
                    log.warning("%s stays plain Python: %s", order.kernel.name, why)
                self.busy -= 1
                self.known[key].set()

    def _carry_out(self, order: Order) -> None:
        with self.in_process:
            with without_collecting():  # this imports Numba
                kept = order.is_kept()
            kept = kept or self._have_it_compiled(order)
            if not self._ending:
                with without_collecting() if kept else contextlib.nullcontext():
                    order.carry_out()

    def _have_it_compiled(self, order: Order) -> bool:
        """By a helper, if there can be one; True if it has done so."""
        from armature.kernels.compiling import files, helper

        if self._without_helper:
            return False
        if not files.is_writable():
            self._without_helper = f"{files.directory()} can't be written"
        try:
            content = order.as_bytes()
        except Exception as reason:
            log.info("%s is compiled in this process: %s", order.kernel.name, reason)
            return False
        if not self._without_helper:
            try:
                with helper.start() as self.helper:
                    if not self._ending:
                        wrong = self._answer_of(self.helper, content)
                        if wrong and not self._ending:
                            self._without_helper = wrong
            except OSError as error:
                self._without_helper = f"no process can be started: {error}"
            finally:
                self.helper = None
        if self._without_helper:
            log.info("kernels are compiled in this process, as %s", self._without_helper)
        return not self._without_helper

    def _answer_of(self, process: subprocess.Popen[bytes], content: bytes) -> str:
        """The errors of helpers; a program may be forked meanwhile."""
        from armature.kernels.compiling import helper

        self.in_process.release()
        try:
            return helper.send(process, content)
        finally:
            self.in_process.acquire()


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Around what is loaded beside a running program, in a second or so.

    Python's garbage collector would stop the program for a tenth of a second, again and again, to
    look through all that Numba is made of. That is there to stay, and left out from now on.
    """
    collects = gc.isenabled()
    if collects:
        gc.collect(1)  # of the program's own garbage, what is quickly found
        gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.freeze()
            gc.enable()


workshop = Workshop()


def compile_for(kernel: Kernel[..., Any], args: Any, kwargs: Any) -> threading.Event | None:
    """Have machine code made for such calls of a kernel, if it was not asked for yet.

    The event is set when that has ended; None at the end of the program.
    """
    from armature.kernels.addresses import waiting
    from armature.kernels.compiling.orders import kinds_of, make_order

    needed = frozenset(waiting.intersection(kernel.numbers(args, kwargs)))
    key = kernel, kinds_of((*args, *kwargs.values())), needed
    if key not in workshop.known:
        workshop.place(key, make_order(kernel, args, kwargs))
    return workshop.known.get(key)


def _after_fork() -> None:
    """The child has neither the thread nor the helper; only the parent holds on to the helper."""
    global workshop
    helper = workshop.helper
    workshop.in_process.release()
    workshop = Workshop()
    if helper is not None:
        for stream in (helper.stdin, helper.stdout):
            if stream is not None:
                os.close(stream.fileno())


def _end() -> None:
    workshop.end()


atexit.register(_end)
if hasattr(os, "register_at_fork"):  # not while Numba is at work: its locks would stay locked
    os.register_at_fork(
        before=lambda: workshop.in_process.acquire(),
        after_in_parent=lambda: workshop.in_process.release(),
        after_in_child=_after_fork,
    )
