"""Means that are concave along a line: knots, the nearest such means, and which rows say so."""
