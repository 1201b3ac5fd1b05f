"""`connect backfill`: move a source into Kafka in bulk, each row once, and let its connector go on from there."""

from __future__ import annotations

import functools
import json
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from connect.backfill.driver import Driver
    from connect.backfill.job_store import JobStore
    from connect.backfill.progress import Progress

_REST = "http://127.0.0.1:8083"
_SHOW_S = 1.0
_READ_S = 60.0


@click.group()
def backfill() -> None:
    """Move a source into Kafka in bulk, each row once; then let its connector go on from there.

    SPEC is the job's YAML file; --worker names the settings of the cluster's workers.
    """


def _command(*after: Callable[[Any], Any]) -> Callable[[Callable[..., None]], Any]:
    """The arguments that every command has, then those of `after`; errors as one line and exit code 1."""

    def decorate(function: Callable[..., None]) -> Any:
        @functools.wraps(function)
        def run(**given: Any) -> None:
            from connect.api.errors import ConnectError

            try:
                function(**given)
            except ConnectError as error:
                raise click.ClickException(str(error)) from error

        file = click.Path(dir_okay=False, path_type=Path)
        worker = click.option("--worker", required=True, type=file, help="The worker's settings, as for a worker.")
        spec = click.argument("spec", type=file)
        return functools.reduce(lambda made, option: option(made), (*after, worker, spec), backfill.command()(run))

    return decorate


_rest = click.option("--rest", default=_REST, show_default=True, help="REST address of a worker of the cluster.")


@_command(click.option("--json", "as_json", is_flag=True, help="As one JSON object."))
def plan(spec: Path, worker: Path, as_json: bool) -> None:
    """Show the chunks that a run would read, the mark, a statement and what is not exact. Runs and writes nothing."""
    driver = _driver(spec, worker)
    found = driver.plan()
    rows = sum(split.rows for split in found.splits)
    if as_json:
        splits = [
            {"id": s.id, "bounds": dict(s.bounds), "rows": s.rows, "size_bytes": s.size_bytes} for s in found.splits
        ]
        following = [{"partition": dict(p.partition), "offset": dict(p.offset or {})} for p in found.following]
        told = {"chunks": splits, "rows": rows, "following": following, "statements": list(found.statements)}
        click.echo(json.dumps({**told, "warnings": list(found.warnings)}))
        return
    engine = driver.spec.engine
    where = engine.master if engine.type == "spark" else "processes of this machine"
    click.echo(f"{len(found.splits)} chunks of about {rows:,} rows in {driver.spec.chunking.lanes} lanes, by {where}")
    for position in found.following:
        click.echo(f"following begins at {dict(position.partition)}: {dict(position.offset or {})}")
    for statement in found.statements:
        click.echo(f"reads by: {statement}")
    for warning in found.warnings:
        click.echo(f"warning: {warning}")


@_command(_rest)
def run(spec: Path, worker: Path, rest: str) -> None:
    """Run a job to its end, or go on with it. A run that was killed is started again by the same command."""
    from connect.backfill.job import Job, JobState

    driver = _driver(spec, worker, rest)
    with driver:
        ended = threading.Event()
        shows: list[threading.Thread] = []

        def begin(job: Job) -> None:
            click.echo(f"backfill {job.name}: {job.chunks} chunks of about {job.rows:,} rows")
            shows.append(threading.Thread(target=_show, args=(driver.store, job.name, ended), daemon=True))
            shows[0].start()

        try:
            job = driver.run(on_begin=begin)
        finally:
            ended.set()
            for thread in shows:
                thread.join()
        click.echo(f"backfill {job.name} is {job.state}")
        sys.exit(0 if job.state in {JobState.COPIED, JobState.DONE} else 3)


@_command(click.option("--follow", "-f", is_flag=True, help="Go on until the job ends."))
def status(spec: Path, worker: Path, follow: bool) -> None:
    """Say how far a job is, from its markers in Kafka alone: also from another machine, and when its driver is dead."""
    driver = _driver(spec, worker)
    if follow:
        _show(driver.store, driver.spec.name, threading.Event())
        return
    from connect.api.deadline import Deadline
    from connect.backfill.progress import Watch

    driver.store.make_topics(Deadline.after(_READ_S))
    with closing(Watch(driver.store, driver.spec.name, Deadline.after(_READ_S))) as watch:
        click.echo(watch.progress().line())


@_command(
    click.option("--json", "as_json", is_flag=True, help="As one JSON object."),
    click.option("--count-source/--no-count-source", default=True, help="Count each chunk in the source, too."),
)
def verify(spec: Path, worker: Path, as_json: bool, count_source: bool) -> None:
    """Read the topics again and compare: every row once, unchanged. Exit code 1 where not."""
    from connect.backfill.verify import verify as verified

    verdict = verified(_driver(spec, worker), count_source=count_source)
    if as_json:
        click.echo(json.dumps(verdict.as_json()))
    else:
        for line in verdict.lines():
            click.echo(line)
    sys.exit(0 if verdict.is_good else 1)


@_command(_rest)
def handover(spec: Path, worker: Path, rest: str) -> None:
    """Write the connector's offsets where following begins, and resume it."""
    from connect.api.deadline import Deadline
    from connect.backfill.handover import hand_over
    from connect.backfill.rest_client import RestClient

    with _driver(spec, worker) as driver:
        job = hand_over(driver, RestClient(rest), Deadline.after(_READ_S))
        for position in job.positions:
            click.echo(f"{dict(position.partition)} goes on at {dict(position.offset or {})}")
        resumed = driver.spec.handover.start_connector
        click.echo(f"connector {driver.settings.name} {'is resumed' if resumed else 'stays stopped'}")


def _driver(spec: Path, worker: Path, rest: str | None = None) -> Driver:
    from connect.backfill.connectors import connector_of
    from connect.backfill.driver import Driver
    from connect.backfill.spec_file import read_spec
    from connect.cluster.worker_file import read_worker_file, worker_config
    from connect.plugins import Catalog

    wanted = read_spec(spec)
    config = worker_config(read_worker_file(worker, ()).properties, Catalog.installed())
    return Driver(wanted, config, connector_of(wanted, spec.parent, config, rest))


def _show(store: JobStore, job: str, ended: threading.Event) -> None:
    """A line, or on a terminal a bar, until the job ends or `ended` is set."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    from connect.api.deadline import Deadline
    from connect.backfill.progress import Watch

    store.make_topics(Deadline.after(_READ_S))
    console = Console()
    with closing(Watch(store, job, Deadline.after(_READ_S))) as watch:
        if not console.is_terminal:
            _say_lines(watch.progress, ended)
            return
        with Bar(BarColumn(), TextColumn("{task.description}"), console=console) as bar:
            shown = bar.add_task("", total=1)
            while True:
                is_over = ended.wait(_SHOW_S)
                now = watch.progress()
                bar.update(shown, completed=now.chunks_done, total=now.chunks or 1, description=now.line())
                if is_over or now.is_over:
                    return


def _say_lines(progress: Callable[[], Progress], ended: threading.Event) -> None:
    said = ""
    while True:
        is_over = ended.wait(_SHOW_S)
        now = progress()
        line = now.line()
        if line != said:
            click.echo(line)
            said = line
        if is_over or now.is_over:
            return
