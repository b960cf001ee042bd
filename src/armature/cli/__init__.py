"""The command line: a file per command, each of which calls the library."""

from armature.cli.program import main

__all__ = ["main"]
