"""What a wrong structure costs, with a guard and without: `python -m studies.guard`."""
