"""Segments: the same arms, seen by different people, with what they have in common."""
