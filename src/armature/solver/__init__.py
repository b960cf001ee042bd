"""Convex programs with a proof of each answer. Nothing here knows a structure by name."""
