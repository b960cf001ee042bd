"""Numbers that a change of the code must not change: recorded with one tree, compared in another.

    PYTHONPATH=../armature-before/src python benchmarks/golden.py record golden.json
    python benchmarks/golden.py compare golden.json
    python benchmarks/golden.py compare golden.json --only live --only oracles

Compared bit for bit: regret and pulls of every policy on every panel of the paper and on further
structures, stopping times, decisions of live bandits, answers of oracles on random problems,
bounds, a replay, an assessment. Only public names are used, so that old trees can be recorded, too.
About ten minutes where kernels must be compiled, two where not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import armature as am

HORIZON, REPETITIONS, ASKS, PROBLEMS = 2_000, 5, 500, 1_000
ANGLES = np.linspace(0.0, 2.0 * np.pi, 10, endpoint=False)
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])

# The paper's panels, and structures that it does not have.
INSTANCES: dict[str, Callable[[], am.Instance]] = {
    "unconstrained": lambda: am.Instance(am.Unconstrained(4), [0.0, 0.33, 0.67, 1.0]),
    "categorised-1": lambda: am.Instance(am.Categorised([1, 2, 2, 2]), [2.0, 1.0, 0.96, 0.0]),
    "categorised-2": lambda: am.Instance(
        am.Categorised([1, 1, 2, 2, 2]), [3.0, 1.5, 1.44, 1.44, 0.0]
    ),
    "linear": lambda: am.Instance(am.Linear(CIRCLE), CIRCLE @ [0.0, 2.0]),
    "unimodal-1": lambda: am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1]),
    "unimodal-2": lambda: am.Instance(am.Unimodal(7), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
    "sparse-1": lambda: am.Instance(am.Sparse(10, 1, 0.3), [0.8] + [0.3] * 9),
    "sparse-2": lambda: am.Instance(am.Sparse(10, 2, 0.0), [3.0, 2.0] + [0.0] * 8),
    "Lipschitz": lambda: am.Instance(am.Lipschitz(6, 0.3), [0.1, 0.3, 0.5, 0.7, 0.6, 0.5]),
    "concave": lambda: am.Instance(am.Concave(5), [0.0, 0.6, 0.9, 0.8, 0.3]),
    "monotone in a box": lambda: am.Instance(
        am.Monotone(5) & am.Box(5, 0.0, 1.0), [0.1, 0.2, 0.4, 0.7, 0.9]
    ),
    "tree": lambda: am.Instance(
        am.UnimodalTree([(0, 1), (1, 2), (1, 3), (3, 4)]), [0.1, 0.4, 0.2, 0.9, 0.6]
    ),
    "clicks": lambda: am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1], am.Bernoulli()),
    "counts": lambda: am.Instance(am.Unconstrained(3), [0.5, 1.5, 2.0], am.Poisson()),
    "sales": lambda: am.Instance(
        am.Unimodal(4), [1.0, 1.6, 1.9, 1.2], am.Bernoulli(scale=[2.0, 3.0, 4.0, 5.0])
    ),
}
Numbers = Any  # what is recorded: numbers, strings, lists


def policies() -> dict[str, am.Policy]:
    """Each policy that the library has, as it comes, and another of SPk."""
    found: dict[str, am.Policy] = {}
    for name in am.__all__:
        value = getattr(am, name)
        if isinstance(value, type) and issubclass(value, am.Policy):
            try:
                found[name] = value() if name != "Guarded" else value(am.Challenger())
            except TypeError:
                continue  # one that is there to be derived from
    found["SPk, 0.5"] = am.SPk(epsilon=0.5)
    return found


def each_case() -> Iterator[tuple[str, am.Policy, am.Instance]]:
    """Every policy on every instance."""
    for title, make in INSTANCES.items():
        for name, policy in policies().items():
            yield f"{name} on {title}", policy, make()


def bits(*arrays: Any) -> Numbers:
    """A digest of all bits of some arrays, and their last numbers to read."""
    words = [np.ascontiguousarray(array, dtype=np.float64) for array in arrays]
    digest = hashlib.sha256(b"".join(array.tobytes() for array in words)).hexdigest()[:16]
    return [digest, [float(x) for array in words for x in array.ravel()[-4:]]]


def refused(error: Exception) -> Numbers:
    """Where something is refused, that it is; not in which words."""
    return ["refused", type(error).__name__]


def played() -> Iterator[tuple[str, Numbers]]:
    """Regret and pulls of simulations."""
    for title, policy, instance in each_case():
        try:
            found = am.simulate(instance, [policy], HORIZON, REPETITIONS, workers=1)
        except am.ArmatureError as error:
            yield title, refused(error)
            continue
        yield title, bits(found.regret(policy), found.pulls(policy))


def identified() -> Iterator[tuple[str, Numbers]]:
    """Stopping times."""
    samplers = [am.TopTwo(), am.TrackAndStop(), am.GameSampling(), am.UniformSampling()]
    for title, make in INSTANCES.items():
        for policy in samplers:
            try:
                found = am.identify(
                    make(), [policy], [0.1, 0.01], REPETITIONS, workers=1, max_rounds=20_000
                )
            except am.ArmatureError as error:
                yield f"{policy.name} on {title}", refused(error)
                continue
            yield f"{policy.name} on {title}", bits(found.rounds(policy))


def decided() -> Iterator[tuple[str, Numbers]]:
    """Decisions of live bandits, some rewards late, and what is saved of them."""
    for title, policy, instance in each_case():
        rng = np.random.default_rng(7)
        try:
            bandit = am.Bandit(policy, instance.structure, instance.family, seed=3)
        except am.ArmatureError as error:
            yield title, refused(error)
            continue
        arms, waiting = [], []
        try:
            for _ in range(ASKS):
                arm = bandit.ask()
                arms.append(arm)
                waiting.append(arm)
                while len(waiting) > 3 or (waiting and rng.random() < 0.5):
                    pulled = waiting.pop(0)
                    bandit.tell(pulled, drawn(rng, instance, pulled))
        except am.ArmatureError as error:
            arms.append(str(type(error)))
        yield title, [hashlib.sha256(repr(arms).encode()).hexdigest()[:16], arms[-10:]]


def drawn(rng: np.random.Generator, instance: am.Instance, arm: int) -> float:
    """A reward, drawn here: what is compared does not depend on how the library draws."""
    mean, kind = instance.means[arm], type(instance.family).__name__
    if kind == "Poisson":
        return float(rng.poisson(mean))
    if kind == "Bernoulli":
        scale = np.broadcast_to(getattr(instance.family, "scale", 1.0), instance.means.shape)[arm]
        return float(scale * (rng.random() * scale < mean))
    return float(rng.normal(mean, 1.0))


def asked() -> Iterator[tuple[str, Numbers]]:
    """Answers of oracles on random problems."""
    structures = {
        "Unconstrained": am.Unconstrained(6),
        "Unimodal": am.Unimodal(6),
        "Categorised": am.Categorised("aabbcc"),
        "Sparse": am.Sparse(6, 2, 0.0),
        "Linear": am.Linear([[np.cos(a), np.sin(a), a / 5] for a in range(6)]),
        "Simplex": am.Simplex(6),
        "Lipschitz": am.Lipschitz(6, 0.2),
        "Concave": am.Concave(6),
        "Monotone": am.Monotone(6),
        "Box": am.Box(6, -0.5, 0.5),
        "Multimodal": am.Multimodal(6, 2),
        "Unimodal & Lipschitz": am.Unimodal(6) & am.Lipschitz(6, 0.5),
    }
    families = {"Gaussian": am.Gaussian(), "Bernoulli": am.Bernoulli(), "Poisson": am.Poisson()}
    n_problems = PROBLEMS // (len(structures) * len(families)) + 1
    for title, structure in structures.items():
        for kind, family in families.items():
            rng = np.random.default_rng(11)
            answers: list[Any] = []
            for _ in range(n_problems):
                x = rng.uniform(0.05, 0.95, 6)
                w = rng.uniform(0.1, 100.0, 6) * (rng.random(6) < 0.9)
                arm = int(rng.integers(6))
                answers.extend(numbers_of(structure.project, x, w, family))
                answers.extend(numbers_of(structure.nearest_alternative, x, w, arm, family))
            yield f"{title}, {kind}", bits(answers)


def numbers_of(ask: Callable[..., am.Fit], *problem: Any) -> list[float]:
    """What an oracle answers; -1 where it refuses."""
    try:
        fit = ask(*problem)
    except am.ArmatureError:
        return [-1.0]
    return [float(fit.cost), *map(float, fit.means)]


def bounded() -> Iterator[tuple[str, Numbers]]:
    """Lower bounds and characteristic times."""
    for title, make in INSTANCES.items():
        for name, bound in (("bound", am.lower_bound), ("time", am.characteristic_time)):
            try:
                found = bound(make())
            except am.ArmatureError as error:
                yield f"{name} of {title}", refused(error)
                continue
            yield f"{name} of {title}", bits([found.value], found.pulls if name == "bound" else [])


def logged() -> Iterator[tuple[str, Numbers]]:
    """A replay by queues, one by rejection, an assessment."""
    rng = np.random.default_rng(5)
    means = [0.2, 0.4, 0.9, 0.7, 0.1]
    log = [(str(k), float(rng.normal(means[k], 1.0))) for k in rng.integers(0, 5, 3_000)]
    structure, arms = am.Unimodal(5), list("01234")
    for method in ("queues", "rejection"):
        for policy in (am.UCB(), am.Challenger(), am.ThompsonSampling()):
            more = {"uniform": True} if method == "rejection" else {}
            found = am.replay(
                log,
                policy,
                structure,
                am.Gaussian(),
                method=method,
                repetitions=3,
                arms=arms,
                **more,
            )
            run = found[policy.name]
            numbers = [v for v in vars(run).values() if isinstance(v, (int, float))]
            yield f"{policy.name} by {method}", bits(numbers)
    assessment = am.assess(log, structure, am.Gaussian(), arms=arms)
    yield "an assessment", bits(assessment.arms.means, assessment.arms.low)


SECTIONS: dict[str, Callable[[], Iterator[tuple[str, Numbers]]]] = {
    "played": played,
    "identified": identified,
    "live": decided,
    "oracles": asked,
    "bounds": bounded,
    "logs": logged,
}


def record(only: list[str]) -> dict[str, dict[str, Numbers]]:
    """All numbers, by section."""
    found: dict[str, dict[str, Numbers]] = {}
    for name, section in SECTIONS.items():
        if only and name not in only:
            continue
        print(name, file=sys.stderr, flush=True)
        found[name] = {}
        for title, numbers in section():
            found[name][title] = numbers
    return found


def differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Each number that is another one, or is in one of the two alone."""
    for section, numbers in now.items():
        for title in sorted({*numbers, *before.get(section, {})}):
            old, new = before.get(section, {}).get(title), numbers.get(title)
            if old != new:
                yield f"{section}: {title}\n    before {old}\n    now    {new}"


def main() -> None:
    """Record into a file, or compare with one; 1 if anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("act", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", action="append", default=[], choices=list(SECTIONS))
    given = parser.parse_args()
    now = json.loads(json.dumps(record(given.only)))
    if given.act == "record":
        given.file.write_text(json.dumps(now, indent=1))
        return
    found = list(differences(json.loads(given.file.read_text()), now))
    print("\n".join(found) or "nothing differs")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
