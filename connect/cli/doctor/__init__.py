"""Defines `connect doctor`, which tells what is wrong around a cluster, a connector, or a worker that is yet to
start.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from connect.cli.shared.cluster_options import CLUSTER_OPTIONS, as_json, client_of, print_json
from connect.cli.shared.manifest_files import named_manifests
from connect.cli.shared.terminal import coloured, echo_folded
from connect.lib.printable import counted, printable

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient, Json

_COLOURS: Final = {"error": "red", "warning": "yellow", "note": "blue"}
_file = click.Path(path_type=Path)


class NobodyToAskError(click.ClickException):
    """Nobody could be asked what is wrong."""

    exit_code = 2


def _with_cluster_options(command: click.Command) -> click.Command:
    return functools.reduce(lambda made, option: option(made), CLUSTER_OPTIONS, command)


@_with_cluster_options
@click.command()
@click.argument("files", nargs=-1, type=_file)
@click.option("--worker", "worker", type=_file, help="A worker's file, before it starts; asks no running worker.")
@as_json
def doctor(files: Sequence[Path], worker: Path | None, as_json: bool, url: str | None, context: str | None) -> None:
    """Find what is wrong, say why it matters and what mends it: of a cluster, or of the connectors in FILES.

    Of FILES, list what the connectors reach, too: files, hosts, classes, SQL.

    Nothing is changed or written. Exit code 0: no error was found; 1: one was; 2: nobody could be asked.
    """
    from connect.api.errors import ConnectError

    logging.getLogger().addHandler(logging.NullHandler())  # what clients log is among the findings
    try:
        found = _examined(files, worker, url, context)
    except ConnectError as error:
        fix = f" {error.fix}" if error.fix and error.fix not in str(error) else ""
        raise NobodyToAskError(printable(f"{error}{fix}")) from error
    if as_json:
        print_json({"findings": found})
    else:
        _show(found)
    sys.exit(any(finding["severity"] == "error" for finding in found))


def _examined(
    files: Sequence[Path], worker: Path | None, url: str | None, context: str | None
) -> list[Mapping[str, str]]:

    manifests = named_manifests(files)
    if worker is not None:
        from connect.cli.doctor.before_start import examined_before_start

        return examined_before_start(worker, manifests)
    client = client_of(url, context)
    found: dict[str, Mapping[str, str]] = {}
    wanted: list[Mapping[str, str] | None] = [{"name": one.name, **one.config} for one in manifests]
    for config in wanted or [None]:
        for finding in _asked(client, config)["findings"]:
            found[str(finding)] = finding  # what concerns the cluster is told once
    return [*found.values()]


def _asked(client: ConnectClient, config: Mapping[str, str] | None) -> Json:
    """Return the answer of a worker, about one connector by its configuration, or about the cluster."""
    from connect.api.errors import ConnectError
    from connect.client.rest import RefusedError

    try:
        return client.call("GET", "/doctor") if config is None else client.call("PUT", "/doctor", dict(config))
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        raise ConnectError(
            f"The cluster at {client.url} has no doctor, as a Java one does not.",
            fix="Examine its worker's file: connect doctor --worker worker.properties.",
        ) from error


def _show(found: Sequence[Mapping[str, str]]) -> None:
    for finding in found:
        severity, told = finding["severity"], {name: printable(text) for name, text in finding.items()}
        click.echo(f"{coloured(printable(severity.upper()), _COLOURS.get(severity))} {told['subject']}")
        echo_folded(finding["evidence"], "  ")
        echo_folded(finding["why"], "  ")
        for line in told["fix"].splitlines():
            click.echo(f"    {line}")
    counts = [sum(finding["severity"] == severity for finding in found) for severity in _COLOURS]
    words = zip(counts, ("error", "warning", "note"), strict=True)
    click.echo(f"{', '.join(counted(count, word) for count, word in words)}.")
