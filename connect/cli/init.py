"""`connect init` makes projects of one's own from templates."""

from __future__ import annotations

from pathlib import Path

import click

from connect.cli.shared.command_errors import one_line_errors
from connect.cli.shared.terminal import echo


@click.group()
def init() -> None:
    """Begin a project of your own."""


@init.command()
@click.argument("name")
@click.option("--kind", type=click.Choice(["source", "sink"]), required=True, help="What the connector is.")
@click.option(
    "--into", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", show_default=True,
    help="Where the project's folder is made.",
)  # fmt: skip
def connector(name: str, kind: str, into: Path) -> None:
    """Write a connector that works, its tests and a tutorial into the new folder NAME."""
    from connect.tools.scaffold.project import ConnectorKind, make_project

    with one_line_errors():
        folder = make_project(name, ConnectorKind(kind), into)
    echo(
        f"{folder} is written; its README.md is a tutorial. It begins with\n\n"
        f"    cd {folder}\n    pip install -e '.[testing]'\n    pytest"
    )
