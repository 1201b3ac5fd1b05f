"""`connect compact`: few large files of many small ones, where a sink's target can have that done to it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_MIB = 2**20


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--worker", "worker_file", type=_FILE, help="File of your worker: what it lets connectors reach counts.")
@click.option(
    "--target-mib", default=128, show_default=True, type=click.IntRange(1), help="Size of the files made, in MiB."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
def compact(*, files: tuple[Path, ...], worker_file: Path | None, target_mib: int, dry_run: bool) -> None:
    """Rewrite small files of sinks, of which FILES are the configurations.

    For Iceberg tables of the S3 sink. Readers see each row once at every moment, and the sink may go on meanwhile.
    Killed anywhere, it is run again. Exit code 1: something could not be done.
    """
    from connect.api.compaction import CompactableSink, Compaction
    from connect.api.errors import ConnectError
    from connect.client.manifests import read_manifests
    from connect.cluster.worker_file import read_worker_file, worker_config
    from connect.plugins import Catalog
    from connect.runtime.build import build_connector

    failed = False
    try:
        catalog = Catalog.installed()
        given = {} if worker_file is None else read_worker_file(worker_file).properties
        worker = worker_config(given, catalog).originals if given else {}
        for manifest in read_manifests(files):
            connector = build_connector(catalog, manifest.config, worker)
            if not isinstance(connector, CompactableSink):
                click.echo(
                    f"{manifest.name}: its files cannot be compacted; Iceberg tables of the S3 sink can.", err=True
                )
                failed = True
                continue
            for done in connector.compact(Compaction(target_mib * _MIB, dry_run)):
                click.echo(
                    f"{done.where}: {done.files_before} files of {done.bytes_before / _MIB:.1f} MiB, {done.rows} rows "
                    f"{'would become' if dry_run else 'became'} {done.files_after}"
                )
    except ConnectError as error:
        click.echo(f"Error: {error}", err=True)
        failed = True
    sys.exit(failed)
