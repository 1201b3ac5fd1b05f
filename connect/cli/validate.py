"""Defines `connect validate`, which tells what is wrong with configurations, before anything is created."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from connect.cli.shared.cluster_options import cluster_command
from connect.cli.shared.manifest_files import named_manifests
from connect.cli.shared.terminal import echo
from connect.lib.nearest import nearest

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient, Json

_commands = click.Group()
_file = click.Path(path_type=Path)
_UNKNOWN: Final = "Failed to find any class"
_CLASSLESS: Final = "contains no connector type"


@cluster_command(
    _commands,
    click.argument("files", nargs=-1, type=_file),
    click.option("-f", "--file", "more", multiple=True, type=_file, help="A file, too, as `apply` takes it."),
)
def validate(client: ConnectClient, files: Sequence[Path], more: Sequence[Path]) -> None:
    """Ask the cluster about the connectors in FILES, or in folders of them.

    Every broken key is named. Exit code 1 when there is one.
    """

    if not (files or more):
        raise click.UsageError("Name a file of a connector, or a folder of them.")
    broken = 0
    for manifest in named_manifests([*files, *more]):
        found = _asked(client, {"name": manifest.name, **manifest.config})
        problems = [(c["value"]["name"], error) for c in found["configs"] for error in c["value"]["errors"]]
        broken += bool(problems)
        echo(f"{manifest.name}: {'broken' if problems else 'fine'}")
        for key, error in problems:
            echo(f"  {key}: {error.removeprefix(f'{key}: ')}")
        for note in found.get("notes", ()):
            echo(f"  note: {note}")
    sys.exit(broken > 0)


def _asked(client: ConnectClient, config: Mapping[str, str]) -> Json:
    """Return the cluster's answer, also for a class that it lacks, or that is not given."""
    from connect.client.rest import RefusedError

    try:
        return client.validate(config)
    except RefusedError as refused:
        said = str(refused)
        if said.endswith(_CLASSLESS):
            error = f"The configuration {_CLASSLESS}."
        elif _UNKNOWN in said:
            # Our workers say what is meant before Kafka Connect's words, and behind the name of its exception.
            advice = said.partition(_UNKNOWN)[0].rpartition("Exception: ")[2].strip()
            error = advice or _lacks(client, config["connector.class"])
        else:
            raise
        return {"configs": [{"value": {"name": "connector.class", "errors": [error]}}]}


def _lacks(client: ConnectClient, name: str) -> str:
    """Return the sentence that no connector has this name, and which one may be meant."""
    classes = [plugin["class"] for plugin in client.plugins() if plugin["type"] in {"source", "sink"}]
    named = {known.rpartition(".")[2]: known for known in classes} | {known: known for known in classes}
    near = nearest(name, named)
    meant = f"Is {named[near]} meant?" if near else "`connect plugins` lists those that it has."
    return f"The cluster has no connector {name}. {meant}"
