"""How many samples it takes to know the best arm: `python -m studies.identification`."""
