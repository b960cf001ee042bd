"""What is counted, for Prometheus: of this process, since it was started."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()

REQUESTS = Counter(
    "armature_requests",
    "Requests answered.",
    ["endpoint", "code"],
    registry=REGISTRY,
)
EVENTS = Counter(
    "armature_events", "Events committed by this process.", ["kind"], registry=REGISTRY
)
REWARDS = Counter(
    "armature_rewards",
    "Rewards received, by what became of them.",
    ["status"],
    registry=REGISTRY,
)
GROUP = Histogram(
    "armature_group_size",
    "Requests in one transaction.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
    registry=REGISTRY,
)
COMMIT = Histogram(
    "armature_transaction_seconds",
    "From the begin of a transaction to its commit.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
    registry=REGISTRY,
)
FAILURES = Counter(
    "armature_transaction_failures",
    "Transactions that failed, by when.",
    ["when"],
    registry=REGISTRY,
)
WAITING = Gauge("armature_waiting", "Requests that wait for the writer.", registry=REGISTRY)
LOADED = Gauge("armature_experiments_in_memory", "Experiments in memory.", registry=REGISTRY)
DIVERGENCES = Counter(
    "armature_replay_divergences",
    "Decisions on replay that differed from the recorded ones, which won.",
    registry=REGISTRY,
)
SNAPSHOTS_REFUSED = Counter(
    "armature_snapshots_refused",
    "Snapshots that were damaged or of another version.",
    registry=REGISTRY,
)


def exposition() -> bytes:
    """The text that Prometheus reads."""
    return generate_latest(REGISTRY)
