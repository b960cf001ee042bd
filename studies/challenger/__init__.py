"""Challenger against all other policies: problems, runs, ablations, a search for failures.

python -m studies.challenger --quick       # a few short runs, to try it
python -m studies.challenger               # about an hour on two cores; can be interrupted
python benchmarks/challenger.py out-study  # writes its tables and pictures into docs/
"""
