"""The decision service: bandits over HTTP, on a database.

An ordered log per experiment is the truth; the bandit in the memory of each process is a cache of
it. `armature serve` runs it; `armature.client` talks to it. It needs the extra `service`.

A request enters by `api/router.py`, finds its endpoint in `api/endpoints.py`, and becomes a command
of `domain/commands.py`, which `domain/writer.py` runs and stores. `domain/replay.py` makes a bandit
from the log, and `db/schema.py` says what is stored.
"""
