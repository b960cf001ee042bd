"""A few peaks along a line: hills, by dynamic programming, and the search for challengers."""
