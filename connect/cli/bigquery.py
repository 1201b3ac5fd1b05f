"""Defines `connect bigquery`, which tells what a sink costs, before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from connect.cli.shared.cluster_options import as_json, print_json
from connect.cli.shared.command_errors import one_line_errors

if TYPE_CHECKING:
    from connect.api.optional.costs import CostQuestion, TableCost, TopicRate
    from connect.lib.deadline import Deadline

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
_TIMEOUT_S: Final = 120.0


@click.group()
def bigquery() -> None:
    """Say what a BigQuery sink costs a day, by each way to write."""


@bigquery.command()
@click.argument("config", type=_FILE)
@click.option(
    "--prices", type=_FILE,
    help="A YAML file of your own prices: query_tib: 6.25 (USD), or slots and slot_hour of a reservation.",
)  # fmt: skip
@click.option("--worker", type=_FILE, help="File of your worker: its topics are sampled for what comes a day.")
@click.option("--rows-per-day", type=click.IntRange(0), help="Records a day; else sampled, or as the table grew.")
@click.option("--row-bytes", type=click.IntRange(1), help="Bytes of a row; else as in the table.")
@as_json
def plan(
    *, config: Path, prices: Path | None, worker: Path | None, rows_per_day: int | None, row_bytes: int | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Show bytes and money a day of each mode for the tables of CONFIG, and which mode fits.

    CONFIG is the file of a sink's connector. Tables are looked at, and nothing is changed.
    """
    from connect.api.optional.costs import CostQuestion

    with one_line_errors():
        question = CostQuestion(rows_per_day, row_bytes, None if prices is None else prices.read_bytes())
        costs = [cost for manifest in _manifests(config) for cost in _costs(manifest, question, worker)]
    if as_json:
        print_json([asdict(cost) for cost in costs])
        return
    for cost in costs:
        _tell(cost)


def _manifests(file: Path) -> list[Mapping[str, str]]:
    from connect.client.manifests import read_manifests

    return [manifest.config for manifest in read_manifests([file])]


def _rates(config: Mapping[str, str], worker: Path, deadline: Deadline) -> Mapping[str, TopicRate]:
    from connect.cli.shared.worker_settings import read_worker_settings
    from connect.runtime.topics.topic_rates import rates_now

    topics = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]
    return rates_now(read_worker_settings(worker).originals, topics, deadline)


def _costs(config: Mapping[str, str], question: CostQuestion, worker: Path | None) -> list[TableCost]:
    from connect.api.allowed_paths import EVERYWHERE
    from connect.api.errors import ConnectError
    from connect.api.optional.costs import PricedSink
    from connect.cli.shared.worker_settings import reach_of, resolved
    from connect.lib.deadline import Deadline
    from connect.plugins.catalog import Catalog
    from connect.runtime.parts.task_parts import build_connector

    reach = {**reach_of(worker, config), **EVERYWHERE}
    connector = build_connector(Catalog.installed(), resolved(config, reach), reach)
    if not isinstance(connector, PricedSink):
        raise ConnectError(f"{config.get('connector.class')} tells no costs; the BigQuery sink does.")
    deadline = Deadline.after(_TIMEOUT_S)
    if worker is not None:
        question = replace(question, rates=_rates(config, worker, deadline))
    return list(connector.costs(question, deadline))


def _tell(cost: TableCost) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(soft_wrap=True)
    console.print(f"{cost.table}: {cost.facts}", highlight=False, markup=False)
    if not cost.modes:
        return
    table = Table(box=None)
    for column in ("mode", "bytes a day", "USD a day", "freshness", "fits"):
        table.add_column(column, no_wrap=True)
    for mode in cost.modes:
        more = "+" if mode.is_lower_bound else ""
        fits = "yes" if mode.fits else ""
        table.add_row(mode.mode, _bytes(mode.bytes_per_day), f"{mode.usd_per_day:,.2f}{more}", mode.freshness, fits)
    console.print(table, highlight=False, markup=False)
    # These are sentences, which no column of a terminal holds.
    for mode in cost.modes:
        console.print(f" {mode.mode}: {mode.why}", highlight=False, markup=False)


def _bytes(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024:
            return f"{number:,.1f} {unit}"
        number /= 1024
    return f"{number:,.1f} PiB"
