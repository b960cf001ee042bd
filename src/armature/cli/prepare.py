"""`armature list`, `compile` and `demo`: to look around, and to be ready."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from armature.cli.service import extra
from armature.cli.terminal import complaints, failing, output


class Listing(StrEnum):
    """The lists of `armature list`."""

    policies = "policies"
    structures = "structures"
    couplings = "couplings"
    families = "families"
    panels = "panels"
    examples = "examples"


def list_names(what: Annotated[Listing, typer.Argument(help="What to list.")]) -> None:
    """List names for use in files, or built-in problems.

    Files name policies, structures, couplings of segments, and families. Panels and examples are
    built-in problems: `bound`, `run` and `identify` accept their names in place of a file.
    """
    import tomllib

    from armature.experiments import shipped_specs
    from armature.storage.registry import COUPLINGS, FAMILIES, POLICIES, STRUCTURES

    known = {
        Listing.policies: POLICIES,
        Listing.structures: STRUCTURES,
        Listing.couplings: COUPLINGS,
        Listing.families: FAMILIES,
    }
    if what in known:
        classes = known[what]
        rows = {name: (cls.__doc__ or "").strip().splitlines()[0] for name, cls in classes.items()}
    else:
        specs = shipped_specs("panels" if what is Listing.panels else "examples")
        rows = {name: tomllib.loads(text)["title"] for name, text in specs.items()}
    width = max(map(len, rows))
    for name, description in sorted(rows.items()):
        output().print(f"{name:<{width}}  {description}", soft_wrap=True)


def compile_kernels(
    structures: Annotated[
        list[str] | None, typer.Argument(help="Names such as `unimodal`; default: all.")
    ] = None,
) -> None:
    """Fill the kernel cache.

    For an image or a node of a cluster: later processes compile nothing.
    """
    from rich.markup import escape
    from rich.progress import Progress

    from armature.cli.fill_cache import fill_cache
    from armature.errors import ArmatureError
    from armature.kernels.compiling import notice
    from armature.kernels.compiling.files import directory, is_writable

    notice.silence()
    with failing("compiled kernels are kept"):
        if not is_writable():
            raise ArmatureError(f"{directory()} can't be written: set ARMATURE_CACHE_DIR.")
        with Progress(console=complaints()) as bar:
            task = bar.add_task("")
            compiled = fill_cache(
                structures or (),
                lambda title, done, steps: bar.update(
                    task, description=escape(title), completed=done, total=steps
                ),
            )
    output().print(
        f"{compiled.kernels} kernels were compiled; they are in {directory()}", soft_wrap=True
    )


def demo(
    port: Annotated[
        int | None, typer.Option(help="A port; default: 8000, if it is free.", min=1, max=65535)
    ] = None,
    look: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Watch four simulated experiments live, on a page.

    Prices with one peak, which change once; creatives in themes; doses with diminishing returns;
    headlines for three segments of readers. Nothing is kept when it is interrupted.
    """
    with failing(""):
        with extra():
            from armature.cli.demo import demo as run
            from armature.cli.demo import free_port

        port = free_port(port)
        address = f"http://127.0.0.1:{port}"
        complaints().print(f"the page is at {address} (Ctrl-C ends it)", soft_wrap=True)
        run(port, look)
