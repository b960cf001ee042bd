"""A live bandit for a long time: it neither slows down nor grows, and saving it changes nothing.

    python tests/helpers/endurance.py --asks 200000

For every policy: arms are asked for in batches of one to four, some of them with ids, now and then
with arms excluded; rewards come in any order, after up to fifty others, and one in five never
comes. Two bandits go through the same; one of them is saved and resumed from the text at random
moments, and every answer must be that of the other. `make endurance` runs it; the tests run a
short one.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import armature as am
from armature.storage.registry import POLICIES

PARTS = 10  # of a run, in which times are taken
DELAY = 50  # the most rewards that are outstanding
SAVES = 40
PROBLEMS = (
    am.Instance(am.Unimodal(6), [0.1, 0.4, 0.9, 0.7, 0.3, 0.0]),
    am.Instance(am.Categorised("aabbbc"), [1.9, 1.2, 1.0, 0.9, 0.5, 0.8]),
    am.Instance(am.Linear([[1.0, 0.0], [0.8, 0.5], [0.0, 1.0], [0.5, 0.5]]), [1.0, 1.2, 0.8, 0.9]),
    am.Instance(am.Sparse(6, 2, 0.0), [1.0, 0.6, 0.0, 0.0, 0.0, 0.0]),
    am.Instance(am.Finite([[0.9, 0.5, 0.1], [0.9, 1.2, 0.1], [0.9, 0.5, 1.0]]), [0.9, 0.5, 0.1]),
)


@dataclass
class Course:
    """What was measured in each part of a run."""

    ask: list[float] = field(default_factory=list)  # processor's seconds for each arm asked for
    tell: list[float] = field(default_factory=list)  # for each reward or cancellation
    saved: list[int] = field(default_factory=list)  # letters of JSON at the part's end
    memory: list[int] = field(default_factory=list)  # bytes of the process


class Twins:
    """Two bandits that are told the same; one of them comes out of a file now and then."""

    def __init__(self, policy: am.Policy, asks: int, seed: int) -> None:
        self.instance = next(i for i in PROBLEMS if policy.supports(i.structure, i.family))
        self.rng = np.random.default_rng(seed)
        self.steady, self.moved = (
            am.Bandit(policy, self.instance.structure, seed=seed, horizon=asks, floor=0.01)
            for _ in range(2)
        )
        self.allow = [type(policy).__module__]
        self.waiting: list[Any] = []
        self.asking, self.telling, self.asked, self.told = 0.0, 0.0, 0, 0

    def ask(self) -> None:
        """A batch; the two must answer alike."""
        rng, K = self.rng, self.instance.n_arms
        n, options = int(rng.integers(1, 5)), {}
        if rng.random() < 0.3:
            excluded = rng.choice(K, int(rng.integers(1, K)), replace=False)
            options["exclude"] = excluded.tolist()
        if rng.random() < 0.3:
            options["ids"] = True
        start = time.thread_time()
        answers = self.steady.ask(n, **options)
        self.asking += time.thread_time() - start
        self.asked += n
        if self.moved.ask(n, **options) != answers:
            raise AssertionError(f"the resumed bandit decides differently after {self.asked} asks")
        self.waiting += answers

    def settle(self) -> None:
        """One of the outstanding rewards, or none for ever."""
        rng = self.rng
        one = self.waiting.pop(int(rng.integers(len(self.waiting))))
        by_id = isinstance(one, am.Decision)
        arm = one.arm if by_id else one
        reward, lost = float(rng.normal(self.instance.means[arm])), rng.random() < 0.2
        start = time.thread_time()
        settle(self.steady, one.id if by_id else None, arm, None if lost else reward)
        self.telling += time.thread_time() - start
        self.told += 1
        settle(self.moved, one.id if by_id else None, arm, None if lost else reward)

    def save(self) -> int:
        """One of them through its text; how long that is."""
        text = self.moved.to_json()
        if text != self.steady.to_json():
            raise AssertionError(f"the two differ after {self.asked} asks")
        self.moved = am.Bandit.from_json(text, allow=self.allow)
        return len(text)


def settle(bandit: am.Bandit, number: int | None, arm: int, reward: float | None) -> None:
    """Tell a reward or cancel it, by its id or by its arm."""
    if number is None:
        bandit.cancel(arm) if reward is None else bandit.tell(arm, reward)
    else:
        bandit.cancel_by_id(number) if reward is None else bandit.tell_by_id(number, reward)


def run(policy: am.Policy, asks: int, seed: int = 0) -> Course:
    """So many asks, in ten parts; an AssertionError where the two bandits differ."""
    twins, course = Twins(policy, asks, seed), Course()
    twins.steady.warm_up()
    moments = np.sort(twins.rng.integers(asks, size=SAVES)).tolist()
    for part in range(1, PARTS + 1):
        before = twins.asking, twins.telling, twins.asked, twins.told
        while twins.asked < asks * part // PARTS:
            twins.ask()
            while len(twins.waiting) > twins.rng.integers(DELAY):
                twins.settle()
            while moments and moments[0] <= twins.asked:
                moments.pop(0)
                twins.save()
        asking, telling, asked, told = (
            now - then
            for now, then in zip(
                (twins.asking, twins.telling, twins.asked, twins.told), before, strict=True
            )
        )
        course.ask.append(asking / asked)
        course.tell.append(telling / max(told, 1))
        course.saved.append(twins.save())
        course.memory.append(resident())
    return course


def resident() -> int:
    """How much memory the process has, in bytes; 0 where that is not known."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0


def main() -> int:
    """Every policy, or those that are named; a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="*", help="such as ucb; all, if none is named")
    parser.add_argument("--asks", type=int, default=200_000)
    options = parser.parse_args()
    print(f"{'policy':>18} {'ask, us':>15} {'tell, us':>15} {'JSON, kB':>15} {'memory, MB':>15}")
    print(f"{'':>18}" + f" {'first':>7} {'last':>7}" * 4)
    for name in options.policies or POLICIES:
        policy = POLICIES[name.lower()]()
        course = run(policy, options.asks)
        columns = (
            (course.ask, 1e6),
            (course.tell, 1e6),
            (course.saved, 1e-3),
            (course.memory, 1e-6),
        )
        numbers = [f"{values[end] * unit:7.1f}" for values, unit in columns for end in (0, -1)]
        print(f"{type(policy).__name__:>18} {' '.join(numbers)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
