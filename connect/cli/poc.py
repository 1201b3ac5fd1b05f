"""Defines `connect poc`, which tells if a connector fits the user's data, in one report that can be handed on."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from connect.cli.shared.terminal import echo
from connect.cli.shared.worker_settings import read_worker_settings
from connect.poc.sandbox.defaults import BUDGET_ROWS, CRASHES, DURATION_S, SAMPLE_ROWS

if TYPE_CHECKING:
    from connect.client.manifests import Manifest
    from connect.poc.report.result_comparison import Line
    from connect.poc.sandbox.options import Options
    from connect.poc.sandbox.result import Result

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SOME = click.IntRange(min=1)
_ANY = click.IntRange(min=0)
_DURATION = f"{DURATION_S:g}s"


class NothingTestedError(click.UsageError):
    """An option is wrong. click's own exit code 2 would say that the connector does not fit."""

    exit_code = 3


class PocGroup(click.Group):
    """`connect poc FILE` is `connect poc run FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the command before what is no command and no question for help."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a wrong option ends it with exit code 3."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise NothingTestedError(error.format_message(), error.ctx) from error


@click.group(cls=PocGroup)
def poc() -> None:
    """Does this connector fit these data? `connect poc FILE` tries it in a sandbox and writes a report."""


@poc.command()
@click.argument("what", nargs=-1, required=True)
@click.option("--table", "tables", multiple=True, help="With a URL of a database: a table; may be given again.")
@click.option("--to", "target", help="With a URL of a database: where to, as s3://bucket/folder.")
@click.option("--set", "settings", multiple=True, help="With a URL: a key=value of the source.")
@click.option(
    "--worker",
    "worker_file",
    type=_FILE,
    help="File of your worker: its converters are used, and a sink is tried with your topics.",
)
@click.option(
    "--sample", "sample_rows", type=_SOME, default=SAMPLE_ROWS, show_default=True, help="Rows compared value by value."
)
@click.option("--duration", default=_DURATION, show_default=True, help="Longest time of each run, as 90s or 5m.")
@click.option("--crash", "crashes", type=_ANY, default=CRASHES, show_default=True, help="Kills of the task.")
@click.option("--budget-rows", type=_SOME, default=BUDGET_ROWS, show_default=True, help="Most rows of a run.")
@click.option("--prices", "prices_file", type=_FILE, help="YAML with prices of your own for the estimate.")
@click.option("--out", type=click.Path(path_type=Path), default="report.html", show_default=True, help="The report.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the result as JSON, too.")
@click.option("--fail-on", default="", help="Defects that mean exit code 2, as lossy,lost,duplicate,invented.")
@click.option("--show-values", is_flag=True, help="Show values of rows in the report.")
@click.option("--seed", type=int, help="Draws the moments of the kills.")
def run(
    *, what: Sequence[str], tables: Sequence[str], target: str | None, settings: Sequence[str],
    worker_file: Path | None, sample_rows: int, duration: str, crashes: int, budget_rows: int,
    prices_file: Path | None, out: Path, json_file: Path | None, fail_on: str, show_values: bool, seed: int | None,
) -> None:  # fmt: skip
    """Try a connector in a sandbox that leaves nothing behind.

    WHAT: a file of a connector, one of a source and one of a sink, or a URL of a database with --table; the files that
    say the same as a URL are written beside the report.

    Exit code 0: it fits, 1: with warnings, 2: it does not fit, 3: it could not be tested.
    """
    from connect.api.errors import ConnectError
    from connect.poc.sandbox.options import Options, seconds_of
    from connect.poc.sandbox.prices import Prices, read_prices
    from connect.poc.sandbox.result import defects_of

    try:
        _require_folders(out, json_file)
        prices, wanted = Prices() if prices_file is None else read_prices(prices_file), defects_of(fail_on)
        options = Options(sample_rows, seconds_of(duration), crashes, budget_rows, show_values, seed, prices)
        worker = None if worker_file is None else read_worker_settings(worker_file).originals
        manifests = _manifests(what, tables, target, settings, out.parent)
        from connect.cli.shared.stop_signals import interrupt_once
        from connect.poc.report.report import html_report

        # Ended by another program, it cleans up as after Ctrl-C.
        interrupt_once()
        result = _evaluated(manifests, options, worker)
        out.write_text(html_report(result), encoding="utf-8")
    except ConnectError as error:
        _stop(f"Error: {error}")
    except KeyboardInterrupt:
        _stop("Interrupted; all that was made is removed.")
    except ModuleNotFoundError as error:
        _stop(f"Error: {error}. Install what it needs: pip install 'connect-for-kafka[poc]'.")
    _end(result, out, json_file, wanted)


def _evaluated(manifests: Sequence[Manifest], options: Options, worker: Mapping[str, str] | None) -> Result:
    """Who typed the command named the connector, which reaches what that person may."""
    from connect.api.allowed_paths import EVERYWHERE
    from connect.poc.evaluation import evaluate
    from connect.runtime.settings.config_providers import usual_providers

    providers = usual_providers([manifest.config for manifest in manifests]) if worker is None else {}
    return evaluate(manifests, options, _say, worker, {**providers, **EVERYWHERE})


def _say(text: str) -> None:
    echo(text, err=True)


def _stop(text: str) -> NoReturn:
    echo(text, err=True)
    sys.exit(3)


@poc.command()
@click.argument("left", type=_FILE)
@click.argument("right", type=_FILE, required=False)
@click.option("--java", "java_url", help="REST address of a Java worker: LEFT is a source's file, run there and here.")
@click.option("--worker", "worker_file", type=_FILE, help="With --java: file of a worker of that cluster.")
@click.option("--duration", default=_DURATION, show_default=True, help="With --java: longest time of each run.")
@click.option("--budget-rows", default=BUDGET_ROWS, show_default=True, help="With --java: most rows of a run.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
def compare(
    *, left: Path, right: Path | None, java_url: str | None, worker_file: Path | None, duration: str, budget_rows: int,
    as_json: bool,
) -> None:  # fmt: skip
    """Set two results beside each other, as `--json` of an evaluation has written them. `*` marks what differs.

    With --java and --worker: the rate, latency, counts and records of a source here beside those of a Java cluster, in
    topics of the evaluation's own that are removed in the end.
    """
    from connect.api.errors import ConfigError, ConnectError
    from connect.poc.report.result_comparison import as_text, compare_results

    try:
        if java_url is not None and worker_file is not None and right is None:
            names = ("here", "Java")
            lines = _beside_java(left, java_url, worker_file, duration, budget_rows)
        elif right is not None and java_url is None:
            names = (left.name, right.name)
            lines = compare_results(*map(_result_of, (left, right)))
        else:
            raise ConfigError("Give two results, or the file of a source with --java and --worker.", key="java")
    except ConnectError as error:
        _stop(f"Error: {error}")
    if as_json:
        echo(json.dumps([{"what": one.what, "left": one.left, "right": one.right} for one in lines]))
        return
    echo(as_text(lines, names))


def _result_of(file: Path) -> Any:
    from connect.api.errors import ConnectError

    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConnectError(f"{file} is no result of connect poc: {error}.") from error


def _beside_java(file: Path, url: str, worker_file: Path, duration: str, budget_rows: int) -> Sequence[Line]:
    from connect.api.errors import ConfigError
    from connect.cli.shared.cluster_options import client_of
    from connect.client.manifests import read_manifests
    from connect.poc.beside_java import beside_java
    from connect.poc.sandbox.options import Options, seconds_of

    manifest, *others = read_manifests([file])
    if others:
        raise ConfigError(f"{file} holds {len(others) + 1} connectors; one is set beside Java's.")
    options = Options(duration_s=seconds_of(duration), budget_rows=budget_rows)
    worker = read_worker_settings(worker_file).originals
    return beside_java(manifest, client_of(url, None), worker, options, _say)


def _require_folders(*files: Path | None) -> None:
    """Refuse a report without its folder before anything runs, as it would have run for nothing."""
    from connect.api.errors import ConnectError

    for file in files:
        if file is not None and not file.absolute().parent.is_dir():
            raise ConnectError(f"{file} cannot be written: there is no folder {file.absolute().parent}.")


def _end(result: Result, report: Path, json_file: Path | None, fail_on: frozenset[str]) -> NoReturn:
    """Write the result where that is wanted, say the verdict, and end with its exit code."""
    if json_file is not None:
        json_file.write_text(json.dumps(result.as_json(), indent=2, ensure_ascii=False), encoding="utf-8")
    echo(f"{result.connector}: {result.verdict.value}. Report: {report}")
    sys.exit(result.exit_code(fail_on))


def _manifests(
    what: Sequence[str], tables: Sequence[str], target: str | None, settings: Sequence[str], folder: Path
) -> Sequence[Manifest]:
    from connect.cli.shared.overrides import parse_overrides
    from connect.client.manifests import read_manifests
    from connect.plugins.catalog import Catalog
    from connect.poc.addresses import is_url, manifests_of, write_manifest

    if len(what) != 1 or not is_url(what[0]):
        return read_manifests(map(Path, what))
    manifests = manifests_of(Catalog.installed(), what[0], tables, target, parse_overrides(settings))
    for manifest in manifests:
        echo(f"written: {write_manifest(manifest, folder)}", err=True)
    return manifests
