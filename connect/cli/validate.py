"""`connect validate`: what is wrong with configurations, before anything is created."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from connect.cli.cluster_options import cluster_command

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()


@cluster_command(
    _commands,
    click.option(
        "-f", "--file", "files", multiple=True, required=True, type=click.Path(path_type=Path),
        help="A file of a connector, or a folder; repeatable.",
    ),
)  # fmt: skip
def validate(client: ConnectClient, files: Sequence[Path]) -> None:
    """Ask the cluster; every broken key is named. Exit code 1 when there is one."""
    from connect.client.manifests import read_manifests

    broken = 0
    for manifest in read_manifests(files):
        found = client.validate({"name": manifest.name, **manifest.config})
        problems = [(c["value"]["name"], error) for c in found["configs"] for error in c["value"]["errors"]]
        broken += bool(problems)
        click.echo(f"{manifest.name}: {'broken' if problems else 'fine'}")
        for key, error in problems:
            click.echo(f"  {key}: {error}")
        for note in found.get("notes", ()):
            click.echo(f"  note: {note}")
    sys.exit(broken > 0)
