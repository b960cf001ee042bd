"""The parts of the online bandit, each one idea: `armature.bandit` puts them together."""
