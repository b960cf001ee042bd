"""The work behind a request: commands, the log, the bandit of an experiment."""
