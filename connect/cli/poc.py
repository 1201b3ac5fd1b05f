"""`connect poc`: does this connector fit these data? One report that can be handed on."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click


@click.command()
@click.argument("files", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True)
@click.option(
    "--worker",
    "worker_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of your worker: its converters are used, and a sink is tried with your topics.",
)
@click.option("--sample", "sample_rows", default=10_000, show_default=True, help="Rows compared value by value.")
@click.option("--duration", default="60s", show_default=True, help="Longest time of each run, as 90s or 5m.")
@click.option("--crash", "crashes", default=3, show_default=True, help="Kills of the task.")
@click.option("--budget-rows", default=500_000, show_default=True, help="Most rows of a run.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the result as JSON, too.")
@click.option("--fail-on", default="", help="Defects that mean exit code 2, as lossy,lost,duplicate,invented.")
@click.option("--show-values", is_flag=True, help="Show values of rows in the report.")
@click.option("--seed", type=int, help="Draws the moments of the kills.")
def poc(
    *, files: Sequence[Path], worker_file: Path | None, sample_rows: int, duration: str, crashes: int,
    budget_rows: int, out: Path, json_file: Path | None,
    fail_on: str, show_values: bool, seed: int | None,
) -> None:  # fmt: skip
    """Try the connector of FILES, or a source and a sink together, in a sandbox that leaves nothing behind.

    Exit code 0: it fits, 1: with warnings, 2: it does not fit, 3: it could not be tested.
    """
    from connect.api.errors import ConnectError
    from connect.client.manifests import read_manifests
    from connect.evaluate.options import Options, seconds_of

    try:
        options = Options(sample_rows, seconds_of(duration), crashes, budget_rows, show_values, seed)
        manifests = read_manifests(files)
        worker = None if worker_file is None else _worker_of(worker_file)
        from connect.evaluate.evaluation import evaluate
        from connect.evaluate.report import html_report

        result = evaluate(manifests, options, lambda text: click.echo(text, err=True), worker)
        out.write_text(html_report(result), encoding="utf-8")
    except ConnectError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(3)
    except ModuleNotFoundError as error:
        click.echo(f"Error: {error}. Install what it needs: pip install 'connect-for-kafka[poc]'.", err=True)
        sys.exit(3)
    if json_file is not None:
        json_file.write_text(json.dumps(result.as_json(), indent=2, ensure_ascii=False), encoding="utf-8")
    click.echo(f"{result.connector} {result.verdict.value}. Report: {out}")
    sys.exit(result.exit_code(frozenset(name.strip() for name in fail_on.split(",") if name.strip())))


def _worker_of(file: Path) -> Mapping[str, str]:
    """The properties of a worker's file, with what they refer to looked up. ConfigError lists every broken key."""
    from connect.cluster.worker_file import read_worker_file, worker_config
    from connect.plugins import Catalog

    return worker_config(read_worker_file(file).properties, Catalog.installed()).originals
