"""Defines `connect plugins`, which lists what a cluster can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, print_json
from connect.cli.shared.table import print_table

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()


@cluster_command(_commands, as_json)
def plugins(client: ConnectClient, as_json: bool) -> None:
    """The plug-ins of a cluster: connectors, converters, transforms, predicates."""
    found = client.plugins()
    if as_json:
        print_json(found)
    else:
        rows = [(plugin["type"], plugin["class"], plugin.get("version")) for plugin in found]
        print_table(("TYPE", "CLASS", "VERSION"), sorted(rows))
