"""How fast the engine is beside other libraries and plain NumPy; workers; memory (Linux).

    pip install river mabwiser vowpalwabbit pymab bayesianbandits pybandits
    python benchmarks/engine.py

Libraries that are not installed are left out. (SMPyBandits 0.9.7 can't be imported with a SciPy of
today.)

Ten Bernoulli arms, T = 10,000, 20 repetitions (one, or part of one, for what would take minutes:
times are per round, the least of three). All in one process, one after the other, so that the
ratios are of one machine in one state.
"""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import armature as am

MEANS = np.linspace(0.1, 0.55, 10)
HORIZON, REPETITIONS = 10_000, 20


def ours(policy: am.Policy, workers: int = 1, repetitions: int = REPETITIONS) -> float:
    """Seconds per round of a whole simulation, compiled before."""
    instance = am.Instance(am.Unconstrained(10), MEANS, am.Bernoulli())
    start = time.perf_counter()
    am.simulate(instance, [policy], HORIZON, repetitions, workers=workers)
    return (time.perf_counter() - start) / (HORIZON * repetitions)


def loop(rounds: int, choose: Callable[[int], int], learn: Callable[[int, float], None]) -> float:
    """Seconds per round of a loop in Python."""
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for t in range(rounds):
        arm = choose(t)
        learn(arm, float(rng.random() < MEANS[arm]))
    return (time.perf_counter() - start) / rounds


def river_ucb() -> float:
    """river's UCB."""
    from river.bandit import UCB

    policy = UCB(delta=1.0, seed=0)
    arms = list(range(10))
    return loop(HORIZON, lambda t: policy.pull(arms), lambda arm, r: policy.update(arm, r))


def river_thompson() -> float:
    """river's Thompson sampling."""
    from river import proba
    from river.bandit import ThompsonSampling

    policy = ThompsonSampling(reward_obj=proba.Beta(), seed=0)
    arms = list(range(10))
    return loop(2000, lambda t: policy.pull(arms), lambda arm, r: policy.update(arm, r))


def mabwiser_ucb() -> float:
    """MABWiser's UCB1."""
    from mabwiser.mab import MAB, LearningPolicy

    bandit = MAB(arms=list(range(10)), learning_policy=LearningPolicy.UCB1(alpha=1.0))
    bandit.fit(decisions=list(range(10)), rewards=[0] * 10)
    return loop(
        2000, lambda t: bandit.predict(), lambda arm, r: bandit.partial_fit([arm], [int(r)])
    )


def vowpal_wabbit() -> float:
    """Vowpal Wabbit (C++) without features: epsilon-greedy exploration of a learned cost."""
    from vowpalwabbit import Workspace

    learner = Workspace("--cb_explore 10 --epsilon 0.05 --quiet")
    rng = np.random.default_rng(1)
    shares = np.zeros(10)

    def choose(t: int) -> int:
        shares[:] = learner.predict("| a")
        return int(rng.choice(10, p=shares / shares.sum()))

    def learn(arm: int, reward: float) -> None:
        learner.learn(f"{arm + 1}:{-reward}:{shares[arm]} | a")

    return loop(2000, choose, learn)


def pymab(name: str, **options: float) -> float:
    """PyMAB's own loop in Rust: seconds per round of a whole experiment."""
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig, policies

    experiment = Experiment(
        environment=BanditEnvironment(means=MEANS, reward_model=BernoulliReward()),
        policies={"one": getattr(policies, name)(n_arms=10, **options)},
        config=ExperimentConfig(horizon=HORIZON, n_replicates=REPETITIONS, seed=1, backend="rust"),
    )
    start = time.perf_counter()
    experiment.run()
    return (time.perf_counter() - start) / (HORIZON * REPETITIONS)


def bayesianbandits_thompson() -> float:
    """bayesianbandits' Thompson sampling with a Beta-like posterior for each arm."""
    from bayesianbandits import Agent, Arm, DirichletClassifier, ThompsonSampling

    def second(values: np.ndarray) -> np.ndarray:
        return np.asarray(values[..., 1])  # the probability of a reward of 1

    prior = {0.0: 1.0, 1.0: 1.0}
    arms = [Arm(i, second, learner=DirichletClassifier(prior, random_state=i)) for i in range(10)]
    agent = Agent(arms, ThompsonSampling(), random_seed=0)

    def learn(arm: int, reward: float) -> None:
        agent.select_for_update(arm).update(np.array([reward]))

    return loop(500, lambda t: int(agent.pull()[0]), learn)


def pybandits_thompson() -> float:
    """pybandits' Beta-Bernoulli Thompson sampling."""
    from pybandits.smab import SmabBernoulli

    bandit = SmabBernoulli.cold_start(action_ids={str(i) for i in range(10)})

    def learn(arm: int, reward: float) -> None:
        bandit.update(actions=[str(arm)], rewards=[int(reward)])

    return loop(500, lambda t: int(bandit.predict(n_samples=1)[0][0]), learn)


def numpy_loop(kl: bool) -> float:
    """UCB, or KL-UCB with vectorised bisection, in plain NumPy."""
    N, S = np.ones(10), MEANS.copy()

    def choose(t: int) -> int:
        mu, level = S / N, math.log(t + 11) / N
        if not kl:
            return int(np.argmax(mu + np.sqrt(0.5 * level)))
        low, high = mu.copy(), np.ones(10)
        for _ in range(30):
            q = 0.5 * (low + high)
            p = np.clip(mu, 1e-12, 1 - 1e-12)
            inside = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)) <= level
            low, high = np.where(inside, q, low), np.where(inside, high, q)
        return int(np.argmax(low))

    def learn(arm: int, reward: float) -> None:
        N[arm] += 1
        S[arm] += reward

    return loop(2000 if kl else HORIZON, choose, learn)


MEMORY = """
import sys, armature as am
instance = am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
am.simulate(instance, [am.UCB(), am.SPk()], int(sys.argv[1]), 1)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak_memory(horizon: int) -> float:
    """In megabytes, of a process of its own."""
    arguments = [sys.executable, "-c", MEMORY, str(horizon)]
    kilobytes = int(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)
    return kilobytes / 1024


def least(measure: Callable[[], float]) -> float:
    """The least of three measurements."""
    return min(measure() for _ in range(3))


def main() -> None:
    """Measure and print."""
    others: dict[str, tuple[str, Callable[[], float]]] = {
        "NumPy loop, UCB": ("UCB", lambda: numpy_loop(kl=False)),
        "NumPy loop, KL-UCB": ("KLUCB", lambda: numpy_loop(kl=True)),
    }
    if importlib.util.find_spec("river"):
        others["river, UCB"] = ("UCB", river_ucb)
        others["river, Thompson sampling"] = ("ThompsonSampling", river_thompson)
    if importlib.util.find_spec("mabwiser"):
        others["MABWiser, UCB1"] = ("UCB", mabwiser_ucb)
    if importlib.util.find_spec("vowpalwabbit"):
        others["Vowpal Wabbit, epsilon-greedy"] = ("UCB", vowpal_wabbit)
    if importlib.util.find_spec("pymab"):
        others["PyMAB (Rust), UCB"] = ("UCB", lambda: pymab("UCBPolicy"))
        others["PyMAB (Rust), KL-UCB"] = ("KLUCB", lambda: pymab("KLUCBPolicy"))
        others["PyMAB (Rust), Thompson sampling"] = (
            "ThompsonSampling",
            lambda: pymab("BernoulliThompsonSamplingPolicy"),
        )
    if importlib.util.find_spec("bayesianbandits"):
        others["bayesianbandits, Thompson s."] = ("ThompsonSampling", bayesianbandits_thompson)
    if importlib.util.find_spec("pybandits"):
        others["pybandits, Thompson sampling"] = ("ThompsonSampling", pybandits_thompson)
    policies = (am.UCB(), am.KLUCB(), am.ThompsonSampling(), am.IMED())
    for policy in policies:
        ours(policy, repetitions=1)  # compile
    one = {policy.name: least(partial(ours, policy)) for policy in policies}
    print("Rounds per second, one thread, ten Bernoulli arms\n")
    for name, seconds in one.items():
        print(f"{'armature, ' + name:<32}{1.0 / seconds:>14,.0f}")
    print()
    for name, (mine, measure) in others.items():
        seconds = least(measure)
        print(f"{name:<32}{1.0 / seconds:>14,.0f}{seconds / one[mine]:>12,.0f} times slower")
    print("\nTwo workers against one, 200 repetitions\n")
    for policy in (am.KLUCB(), am.ThompsonSampling()):
        alone, together = (least(partial(ours, policy, workers, 200)) for workers in (1, 2))
        print(f"{policy.name:<32}{alone / together:>14.2f} times faster")
    print("\nPeak memory of a process that simulates UCB and SPk\n")
    peak_memory(100)  # compile
    for horizon in (10**4, 10**7):
        print(f"T = {horizon:<28,}{peak_memory(horizon):>14.0f} MB")


if __name__ == "__main__":
    main()
