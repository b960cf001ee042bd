"""Algorithms for rewards that change, to compare with."""
