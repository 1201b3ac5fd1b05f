"""`connect dev` brings up a Kafka, a registry, an S3 and a worker to try things out with."""

from __future__ import annotations

import json
import sys
import tempfile
import textwrap
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from connect.cli.shared.command_errors import one_line_errors
from connect.cli.shared.terminal import coloured

if TYPE_CHECKING:
    from rich.console import Console

    from connect.tools.dev.environment import DevEnvironment

WATCH_INTERVAL_S: Final = 2.0
FOLDER: Final = Path(".connect-dev")


@click.command()
@click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), default=FOLDER, show_default=True,
    help="Where data, logs and ports are kept.",
)  # fmt: skip
@click.option("--registry/--no-registry", default=True, help="With a schema registry (default: yes).")
@click.option("--s3/--no-s3", default=True, help="With an S3 store (default: yes).")
@click.option(
    "--with", "names", default="", metavar="NAMES",
    help="Databases to start besides, comma-separated: bigquery, cassandra, postgres, mariadb.",
)  # fmt: skip
@click.option(
    "--allow", multiple=True, type=click.Path(path_type=Path), metavar="PATH",
    help="A file, or a folder with all in it but the environment's own, that connectors may name beside those for "
    "temporary files; repeatable.",
)  # fmt: skip
def dev(folder: Path, registry: bool, s3: bool, names: str, allow: tuple[Path, ...]) -> None:
    """Start Kafka, a schema registry, S3, a worker and chosen databases on loopback; Ctrl-C stops them.

    Topics, schemas, files, connectors and addresses are the same at the next start. Remove the folder to begin anew.
    """
    from rich.console import Console

    from connect.api.errors import ConnectError
    from connect.cli.shared.stop_signals import interrupt_once
    from connect.tools.dev.databases import databases_of
    from connect.tools.dev.environment import DevEnvironment, DevServices
    from connect.tools.services import ServiceError

    console = Console(soft_wrap=True)
    # Asked to end is asked to clean up, however it is asked.
    interrupt_once()
    with one_line_errors():
        databases = databases_of(names)
    paths = (Path(tempfile.gettempdir()), *map(Path.absolute, allow))
    parts = DevServices(registry=registry, s3=s3, paths=paths, databases=databases)
    environment = DevEnvironment(folder, parts, lambda text: console.print(text, highlight=False, style="dim"))
    try:
        environment.start()
        _tell(environment, folder, console)
        pause = threading.Event()
        while not pause.wait(WATCH_INTERVAL_S):
            environment.start_ended()
    except (ConnectError, ServiceError) as error:
        click.echo(f"{coloured('error', 'red')} {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("stopping; what is in the folder stays")
    finally:
        environment.stop()


def _tell(environment: DevEnvironment, folder: Path, console: Console) -> None:
    from connect.tools.dev.environment import BUCKET, S3_KEYS

    console.print("\n[bold]ready[/bold]", highlight=False)
    width = max(map(len, environment.addresses))
    for name, address in environment.addresses.items():
        console.print(f"  {name:{width}}  {address}", highlight=False)
        if name == "S3":
            keys = folder.resolve() / S3_KEYS
            console.print(
                f"  {'':{width}}  bucket {BUCKET}; its keys in a connector's configuration:\n"
                f"  {'':{width}}  ${{file:{keys}:access.key.id}} and ${{file:{keys}:secret.access.key}}",
                highlight=False, markup=False,
            )  # fmt: skip
    console.print(
        f"  {'files':{width}}  connectors may name those below {', '.join(map(str, environment.paths))}, but none of "
        f"{folder}; others by connect dev --allow PATH",
        highlight=False, markup=False,
    )  # fmt: skip
    for offer in environment.offers:
        console.print(
            f"\n  {offer.title} ({offer.about}); a connector for it, also in {offer.file}:\n"
            f"{textwrap.indent(json.dumps(offer.connector, indent=2), '  ')}",
            highlight=False, markup=False,
        )  # fmt: skip
    worker = environment.addresses["worker (REST)"]
    console.print(
        f"\n  in another terminal:  export CONNECT_URL={worker}\n"
        "                        connect connectors apply -f my-connector.json\n"
        "                        connect status --watch\n"
        f"\nlogs and data: {folder}; Ctrl-C stops everything.",
        highlight=False, markup=False,
    )  # fmt: skip
