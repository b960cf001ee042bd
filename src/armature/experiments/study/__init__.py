"""A study of one policy against all others: problems, runs, ablations, a search for failures."""
