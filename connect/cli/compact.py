"""Defines `connect compact`, which makes few large files of many small ones, where a sink's target can have that done
to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from connect.cli.shared.terminal import echo
from connect.cli.shared.worker_settings import reach_of, resolved
from connect.lib.printable import counted

if TYPE_CHECKING:
    from connect.api.optional.compaction import CompactedFiles, Compaction
    from connect.backfill.job.spec import Engine
    from connect.client.manifests import Manifest
    from connect.plugins.catalog import Catalog

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_MIB = 2**20
_HOUR_S = 3600.0


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--worker",
    "worker_file",
    type=_FILE,
    help="File of your worker: what it lets connectors reach counts; left out: what you may reach.",
)
@click.option(
    "--target-mib", default=128, show_default=True, type=click.IntRange(1), help="Size of the files made, in MiB."
)
@click.option(
    "--min-age-hours", default=24.0, show_default=True, type=click.FloatRange(0),
    help="Objects that are younger are left alone; of tables, files of any age are taken.",
)  # fmt: skip
@click.option("--spark", "master", help="Do the work on Spark: its master, such as spark://host:7077 or local[4,4].")
@click.option("--python-env", help="For --spark: an archive of `connect backfill package`.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
def compact(
    *, files: tuple[Path, ...], worker_file: Path | None, target_mib: int, min_age_hours: float, master: str | None,
    python_env: str | None, dry_run: bool,
) -> None:  # fmt: skip
    """Join small files of sinks, of which FILES are the configurations.

    For objects and Iceberg tables of the S3 sink, which may go on meanwhile. Readers of tables see each row once at
    every moment; those of objects may see rows twice until the former objects are deleted. Killed anywhere, it is run
    again. Exit code 1: something could not be done.
    """
    from connect.api.errors import ConnectError
    from connect.api.optional.compaction import Compaction
    from connect.backfill.job.spec import Engine
    from connect.client.manifests import read_manifests
    from connect.plugins.catalog import Catalog

    wish = Compaction(target_mib * _MIB, min_age_hours * _HOUR_S)
    failed = False
    try:
        engine = None if master is None else Engine(master=master, python_env=python_env)
        catalog = Catalog.installed()
        for manifest in read_manifests(files):
            try:
                worker = reach_of(worker_file, manifest.config)
                found = replace(manifest, config=resolved(manifest.config, worker))
                if dry_run:
                    _tell_groups(catalog, found.config, worker, wish)
                else:
                    for done in _compacted(catalog, found, worker, wish, engine):
                        _tell(done)
            except ConnectError as error:
                echo(f"Error: {manifest.name}: {error}", err=True)
                failed = True
    except (ConnectError, ValueError) as error:
        echo(f"Error: {error}", err=True)
        failed = True
    sys.exit(failed)


def _compacted(
    catalog: Catalog, manifest: Manifest, worker: Mapping[str, str], wish: Compaction, engine: Engine | None
) -> Iterator[CompactedFiles]:
    """Group by group here, or all at once on Spark."""
    from connect.backfill.engines.compaction import GroupTask, compact_on_spark, compactable

    sink = compactable(catalog, manifest.config, worker)
    groups = sink.compaction_groups(wish)
    if engine is not None:
        # Spark's processes get copies, and what a worker's file is read as cannot be pickled.
        config, own = dict(manifest.config), dict(worker)
        yield from compact_on_spark(engine, manifest.name, [GroupTask(config, own, group) for group in groups])
        return
    for group in groups:
        done = sink.compact(group)
        if done is not None:
            yield done


def _tell_groups(catalog: Catalog, config: Mapping[str, str], worker: Mapping[str, str], wish: Compaction) -> None:
    from connect.backfill.engines.compaction import compactable

    for group in compactable(catalog, config, worker).compaction_groups(wish):
        echo(f"{group.where}: {counted(len(group.files), 'file')} of {group.size_bytes / _MIB:.1f} MiB would become 1")


def _tell(done: CompactedFiles) -> None:
    echo(
        f"{done.where}: {done.files_before} files of {done.bytes_before / _MIB:.1f} MiB became {done.files_after}, "
        f"with {done.rows} rows"
    )
