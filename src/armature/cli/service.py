"""The service on the command line: `serve`, `experiments` and `keys`.

Nothing of the service is imported before one of them runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armature.cli.terminal import complaints, failing, output, print_table
from armature.errors import ArmatureError
from armature.words import visible

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

STORAGE = Annotated[
    str,
    typer.Option(
        envvar="ARMATURE_STORAGE", help="sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/NAME."
    ),
]
DEFAULT = "sqlite:///armature.db"
experiments = typer.Typer(help="List, show, export and restore experiments.", no_args_is_help=True)
keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)


@contextmanager
def _storage(storage: str, make: bool = False) -> Iterator[Engine]:
    """The database, made if it may be; what goes wrong with it is said in a sentence."""
    with failing(""):
        with extra():
            from sqlalchemy.exc import SQLAlchemyError

            from armature.service.db.database import open_database, reason_of
            from armature.service.db.maintenance import is_there, migrate
        try:
            engine = open_database(storage)
            if not make and not is_there(engine):
                raise ArmatureError("there is no such storage yet: `armature serve` creates it.")
            migrate(engine)
            yield engine
        except SQLAlchemyError as error:
            raise ArmatureError(f"the storage can't be used: {reason_of(error)}.") from None


@contextmanager
def extra() -> Iterator[None]:
    """Say how to install what is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ArmatureError(
            f"the service needs {error.name}: pip install 'armature-bandits[service]'."
        ) from None


def serve(
    storage: STORAGE = DEFAULT,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="A module or package whose classes a spec may name as module:Class. Its code runs "
            "when it is imported."
        ),
    ] = None,
) -> None:
    """Serve decisions over HTTP, until interrupted.

    Experiments are stored in a file, or in PostgreSQL, where any number of servers can share them.
    Without any key (see `armature keys`) the server can be used from this machine only.
    """
    with failing(""):
        with extra():
            from armature.service.api.server import serve as run

        def ready() -> None:
            complaints().print(f"serving on http://{visible(host)}:{port}", soft_wrap=True)

        run(storage, host, port, tuple(allow or ()), ready)


@experiments.command("list")
def list_experiments(storage: STORAGE = DEFAULT) -> None:
    """List the experiments, one per line."""
    with _storage(storage) as engine:
        from armature.service.domain.reading import list_experiments as rows_of

        with engine.connect() as connection:
            rows = rows_of(connection)
    names = ("name", "status", "decisions", "rounds", "events")
    print_table(names, [[str(row[name]) for name in names] for row in rows], left=names[:2])


@experiments.command("show")
def show_experiment(
    name: Annotated[str, typer.Argument(help="The name of an experiment.")],
    storage: STORAGE = DEFAULT,
    allow: Annotated[list[str] | None, typer.Option(help="As for `armature serve`.")] = None,
) -> None:
    """Show the arms of an experiment, its next decision and the reason."""
    with _storage(storage) as engine:
        from armature.service.domain import reading, replay

        with engine.connect() as connection:
            row = reading.find(connection, name)
            if row is None:
                raise ArmatureError(f"there is no experiment {name!r}.")
            loaded = replay.load(connection, row.id, tuple(allow or ()))
        assert loaded is not None
        replica = loaded.replica
        beliefs = [str(replica.of(place).explain()) for place in range(len(replica.segments) or 1)]
    titles = [f"{segment}: " for segment in replica.segments] or [""]
    text = "\n\n".join(title + belief for title, belief in zip(titles, beliefs, strict=True))
    output().print(f"{visible(name)} is {row.status}.\n\n{visible(text, keep=chr(10))}")


@experiments.command("export")
def export_experiment(
    name: Annotated[str, typer.Argument(help="The name of an experiment.")],
    out: Annotated[Path, typer.Option(help="A .csv or .parquet file.", dir_okay=False)],
    storage: STORAGE = DEFAULT,
) -> None:
    """Write a table with a row for each reward, which `armature assess` reads."""
    with _storage(storage) as engine:
        from armature.service.domain.log import export_log

        count = export_log(engine, name, out)
    output().print(f"{count} rewards are in {visible(str(out))}", soft_wrap=True)


@experiments.command("restore")
def restore_experiments(
    backup: Annotated[Path, typer.Argument(help="The backup: a copy of a SQLite database.")],
    storage: STORAGE = DEFAULT,
) -> None:
    """Replace a SQLite database by a backup, while no server uses it."""
    with failing(""):
        with extra():
            from armature.service.db.maintenance import restore

        count = restore(backup, storage)
    place = visible(storage.rpartition("/")[2])
    said = f"{place} now has the content of {visible(str(backup))}; experiments: {count}"
    output().print(said, soft_wrap=True)


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="A name for the key.")],
    scope: Annotated[
        list[str], typer.Option(help="decide, reward, read or admin; may be repeated.")
    ],
    days: Annotated[
        float | None, typer.Option(help="Days until it expires; default: never.")
    ] = None,
    storage: STORAGE = DEFAULT,
) -> None:
    """Make a key and print it. It is shown once: the database keeps only a hash."""
    with _storage(storage, make=True) as engine:
        from armature.service.db.keys import make_key

        make_key(engine, name, scope, None if days is None else 86_400.0 * days, show=_show)


def _show(token: str) -> None:
    """Print a key; refused if the standard output is closed."""
    if sys.stdout is None or sys.stdout.closed:
        raise ArmatureError("there is no standard output to print the key on: nothing was stored.")
    typer.echo(token)
    sys.stdout.flush()


@keys.command("list")
def list_keys(storage: STORAGE = DEFAULT) -> None:
    """List the keys: names, scopes, days left."""
    with _storage(storage) as engine:
        from armature.service.db.keys import read_keys

        found, now = read_keys(engine)
    rows = []
    for key in found.values():
        left = "for good" if key.expires_at is None else f"{(key.expires_at - now) / 86_400:.1f}"
        rows.append([key.name, " ".join(sorted(key.scopes)), left])
    print_table(("name", "scopes", "days left"), rows, left=("name", "scopes"))


@keys.command("revoke")
def revoke_key(
    name: Annotated[str, typer.Argument(help="The name of a key.")], storage: STORAGE = DEFAULT
) -> None:
    """Delete a key. Servers refuse it within two seconds."""
    with _storage(storage) as engine:
        from armature.service.db.keys import revoke_key as revoke

        revoke(engine, name)
