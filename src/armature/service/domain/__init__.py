"""What a request does to an experiment: rules, the log, the bandit behind it."""
