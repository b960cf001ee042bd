"""The command line: which commands there are, in the order in which they are listed."""

from __future__ import annotations

from typing import Annotated

import typer

from armature.cli import service
from armature.cli.assess import assess
from armature.cli.bound import bound
from armature.cli.identify import identify
from armature.cli.prepare import compile_kernels, demo, list_names
from armature.cli.run import merge, reproduce, run
from armature.cli.terminal import speak_utf8

app = typer.Typer(
    help="Structured stochastic bandits: explore only as much as your knowledge leaves open.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # a plain text, which any width and any bracket leaves whole
)


def _say_version(asked: bool) -> None:
    if asked:
        from armature import __version__

        typer.echo(f"armature {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_say_version, is_eager=True),
    ] = False,
) -> None:
    """Structured stochastic bandits: explore only as much as your knowledge leaves open."""


for command in (bound, run, identify, assess, merge, reproduce):
    app.command()(command)
app.command("list")(list_names)
app.command("compile")(compile_kernels)
app.command()(demo)
app.command()(service.serve)
app.add_typer(service.experiments, name="experiments")
app.add_typer(service.keys, name="keys")


def main() -> None:
    """Run the command line."""
    speak_utf8()
    app(prog_name="armature")
