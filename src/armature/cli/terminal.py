"""Output in a terminal: text, tables, errors and exit codes.

Nothing in a text is markup: names and messages are shown as they are, brackets and colons
included, and what a terminal would obey is spelled out. Where the output goes to a file or a pipe,
it is plain and complete: no colours, no line broken or cut. On a terminal that is too narrow for a
table, each of its rows becomes a block of lines.

Exit codes: 0 all is well, 1 it failed (a disk, a permission), 2 what was asked for is wrong,
130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from armature.errors import ArmatureError, BlocksFailedError
from armature.words import visible

FAILED, WRONG, INTERRUPTED = 1, 2, 130
ENDLESS = 1_000_000  # columns of a file or a pipe


def output() -> Console:
    """Where results go."""
    return _console(sys.stdout)


def complaints() -> Console:
    """Where errors, remarks and progress go."""
    return _console(sys.stderr)


def _console(file: TextIO) -> Console:
    plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    if not file.isatty():
        plain |= {"width": ENDLESS, "force_terminal": False}
    return Console(file=file, **plain)


def speak_utf8() -> None:
    """Write UTF-8 whatever the locale; what can't be encoded is escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


@contextmanager
def failing(kept: str) -> Iterator[None]:
    """Turn errors that people can do something about into a sentence and an exit code.

    `kept` says what an interruption leaves.
    """
    try:
        yield
    except ArmatureError as error:
        _complain(str(error))
        raise typer.Exit(WRONG) from None
    except BlocksFailedError as error:
        _complain(str(error))
        raise typer.Exit(FAILED) from None
    except BrokenPipeError:
        raise  # the reader has closed the pipe
    except OSError as error:
        _complain(_reason(error))
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        note = f"interrupted: {kept}" if kept else "interrupted"
        complaints().print(visible(note), soft_wrap=True)
        raise typer.Exit(INTERRUPTED) from None


def _complain(message: str) -> None:
    complaints().print(
        Text.assemble(("Error: ", "red"), visible(message, keep="\n")), soft_wrap=True
    )


def _reason(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename!r}: {error.strerror}."


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()
) -> None:
    """Print columns, those whose titles are in `left` to the left; or blocks, if they don't fit."""
    console = output()
    cells = [[visible(cell) for cell in row] for row in [titles, *rows]]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) > console.width:
        names = [title if n == 0 else f"  {title}" for n, title in enumerate(cells[0])]
        longest = max(map(cell_len, names))
        for row in cells[1:]:
            for name, cell in zip(names, row, strict=True):
                console.print(f"{_padded(name, longest, True)}  {cell}")
        return
    for number, row in enumerate(cells):
        parts = [
            _padded(cell, width, title in left)
            for cell, width, title in zip(row, widths, titles, strict=True)
        ]
        console.print(Text("  ".join(parts).rstrip(), "bold" if number == 0 else ""))


def _padded(cell: str, width: int, left: bool) -> str:
    space = " " * (width - cell_len(cell))
    return cell + space if left else space + cell
