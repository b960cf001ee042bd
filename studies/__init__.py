"""Studies: long comparisons, each with a command of its own, whose tables are in docs/."""
