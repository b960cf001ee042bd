"""Counters for Prometheus: of this process, since it was started."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()


def _counter(name: str, meaning: str, *labels: str) -> Counter:
    return Counter(f"armature_{name}", meaning, labels, registry=REGISTRY)


def _histogram(name: str, meaning: str, *buckets: float) -> Histogram:
    return Histogram(f"armature_{name}", meaning, buckets=buckets, registry=REGISTRY)


REQUESTS = _counter("requests", "Requests answered.", "endpoint", "code")
EVENTS = _counter("events", "Events committed by this process.", "kind")
REWARDS = _counter("rewards", "Rewards received, by what became of them.", "status")
FAILURES = _counter("transaction_failures", "Transactions that failed, by when.", "when")
DIVERGENCES = _counter(
    "replay_divergences", "Decisions on replay that differed from the recorded ones, which won."
)
SNAPSHOTS_REFUSED = _counter(
    "snapshots_refused", "Snapshots that were damaged or of another version."
)
GROUP = _histogram("group_size", "Requests in one transaction.", 1, 2, 4, 8, 16, 32, 64, 128, 256)
COMMIT = _histogram(
    "transaction_seconds",
    "From the begin of a transaction to its commit.",
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
)
WAITING = Gauge("armature_waiting", "Requests that wait for the writer.", registry=REGISTRY)
LOADED = Gauge("armature_experiments_in_memory", "Experiments in memory.", registry=REGISTRY)
COMPILED = Gauge(
    "armature_compiled_kernels",
    "Kernels that have become hot, and are called as machine code; the others are plain Python.",
    registry=REGISTRY,
)
COMPILING = Gauge(
    "armature_compiling_kernels", "Hot kernels whose machine code is being made.", registry=REGISTRY
)


def exposition() -> bytes:
    """The text that Prometheus reads."""
    return generate_latest(REGISTRY)
