"""The decision service: bandits over HTTP, on a database.

An ordered log per experiment is the truth; the bandit in the memory of each process is a cache of
it. `armature serve` runs it; `armature.client` talks to it. It needs the extra `service`.

Where to begin reading: `schema` (what is stored), `writer` (the one way to write), `rules` (what
a request does to an experiment), `engine` and `replay` (from the log to a bandit), `endpoints`.
"""
