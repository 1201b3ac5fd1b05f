"""`connect import` brings the connectors of a Java cluster, or of another one of ours, to this cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import as_json, client_of, cluster_command, print_json
from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.client.imports import ImportReport
    from connect.client.rest import ConnectClient

_commands = click.Group()


@cluster_command(
    _commands,
    click.argument("names", nargs=-1),
    click.option("--from", "old", required=True, help="A worker of the old cluster, or the name of a context."),
    click.option("--dry-run", is_flag=True, help="Say what this cluster takes of each key, and change nothing."),
    click.option("--move", is_flag=True, help="Stop each there, take its last offsets, and let it run here."),
    as_json,
    name="import",
)
def import_(client: ConnectClient, names: Sequence[str], *, old: str, dry_run: bool, move: bool, as_json: bool) -> None:
    """Copy connectors with their offsets from another cluster, Java's or ours; NAMES, or all.

    They are made here STOPPED and go on running there. With --move each is stopped there first, and goes on here behind
    the last record; one that this cluster does not take is left running there. Exit code 1 when one was refused.
    """
    from connect.client.imports import ConnectorImport

    source = client_of(old, None) if "://" in old else client_of(None, old)
    imports = ConnectorImport(source, client)
    work = imports.examine if dry_run else imports.move if move else imports.copy
    reports = []
    for name in names or imports.names():
        reports.append(work(name))
        if not as_json:
            _show(reports[-1])
    if as_json:
        print_json([asdict(report) for report in reports])
    elif not reports:
        echo(f"{source.url} has no connectors.")
    sys.exit(any(report.verdict == "refused" for report in reports))


def _show(report: ImportReport) -> None:
    taken = sum(not key.errors for key in report.keys)
    offsets = f", {report.offsets} offsets" if report.offsets else ""
    echo(f"{report.name}: {report.verdict} ({taken} of {len(report.keys)} keys as they are{offsets})")
    if report.reason:
        echo(f"  {report.reason}")
    for key in report.keys:
        for error in key.errors:
            echo(f"  {key.key}: {error}")
    for note in report.notes:
        echo(f"  note: {note}")
