"""Logs with segments: what these have in common, and what that is worth."""
