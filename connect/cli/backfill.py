"""`connect backfill` moves a source into Kafka in bulk, each row once, and lets its connector go on from there."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from connect.backfill.job.states import JobAction
from connect.cli.shared.cluster_options import CLUSTER_OPTIONS, client_of
from connect.cli.shared.command_errors import one_line_errors
from connect.cli.shared.terminal import echo
from connect.lib.printable import counted

if TYPE_CHECKING:
    from connect.api.records import SourcePosition
    from connect.backfill.driver import Driver
    from connect.backfill.job.spec import BackfillSpec
    from connect.client.rest import ConnectClient
    from connect.runtime.settings.worker_config import WorkerConfig

_READ_S = 60.0
_FEW_ROWS = 5_000_000
_RUNS_BY = {JobAction.RUN: "connect backfill run", JobAction.RESUME: "connect backfill resume"}


@click.group()
def backfill() -> None:
    """Move a source into Kafka in bulk, each row once; then let its connector go on from there.

    JOB is the job's YAML file or, once it was run, its name; --worker names the settings of the cluster's workers.
    """


def _command(*after: Callable[[Any], Any]) -> Callable[[Callable[..., None]], Any]:
    """Return a command with the arguments that every command here has, then those of `after`."""

    def decorate(function: Callable[..., None]) -> Any:
        file = click.Path(dir_okay=False, path_type=Path)
        worker = click.option("--worker", required=True, type=file, help="The worker's settings, as for a worker.")
        topic = click.option("--jobs-topic", help="Where jobs are known by name; by default connect-backfill-jobs.")
        job = click.argument("job")
        command = backfill.command()(one_line_errors()(function))
        return functools.reduce(lambda made, option: option(made), (*after, topic, worker, job), command)

    return decorate


_ENGINE = click.option(
    "--engine",
    help="The engine as in a job's file, as '{type: local}'. A job that is run by its name takes none that runs code "
    "or is elsewhere from its record in Kafka.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="As one JSON object.")


@_command(_JSON)
def plan(job: str, worker: Path, jobs_topic: str | None, as_json: bool) -> None:
    """Show the chunks that a run would read, the mark, a statement, how long it takes by the speed of the last job like
    it or else by a rule of thumb, and what is not exact. Runs and writes nothing.
    """
    from connect.backfill.engines import engine_of
    from connect.backfill.estimate import estimated
    from connect.backfill.job.markers import stored_positions
    from connect.backfill.lane.run_snapshot import length_warnings

    driver = _driver(job, worker, jobs_topic)
    # What it needs on this machine is told now, and not when somebody runs the plan.
    engine_of(driver.spec).close()
    found = driver.planner.plan()
    estimate = estimated(driver, found)
    warnings = [*found.warnings, *(length_warnings(estimate.duration_s) if driver.spec.in_one_snapshot else ())]
    rows = sum(split.rows for split in found.splits)
    if as_json:
        told = {
            "rows": rows,
            "following": stored_positions(found.following),
            "statements": list(found.statements),
            "estimate": asdict(estimate),
        }
        chunks = [{"id": s.id, "bounds": dict(s.bounds), "rows": s.rows} for s in found.splits]
        echo(json.dumps({**told, "warnings": warnings, "chunks": chunks}))
        return
    engine = driver.spec.engine
    where = f"Spark at {engine.master}" if engine.type == "spark" else "processes of this machine"
    echo(
        f"{counted(len(found.splits), 'chunk')} of about {counted(rows, 'row')} in "
        f"{counted(driver.spec.chunking.lanes, 'lane')}, by {where}"
    )
    takes = "how long it takes is not known" if estimate.duration_s is None else f"takes {_time(estimate.duration_s)}"
    echo(f"{takes}: {estimate.basis}")
    for position in found.following:
        echo(f"following begins at {dict(position.partition)}: {_offset(position)}")
    for statement in found.statements:
        echo(f"reads by: {statement}")
    for warning in warnings:
        echo(f"warning: {warning}")
    if engine.type == "spark" and engine.master.startswith("local") and rows < _FEW_ROWS:
        echo("advice: engine: {type: local} moves so few rows sooner than Spark takes to start")


@_command(_ENGINE, *CLUSTER_OPTIONS)
def run(  # noqa: PLR0917 - click calls it by name
    job: str, worker: Path, jobs_topic: str | None, engine: str | None, url: str | None, context: str | None
) -> None:
    """Run a job to its end, or go on with it: one that was killed is run again by the same command."""
    cluster = functools.partial(client_of, url, context)
    _run(_driver(job, worker, jobs_topic, cluster, action=JobAction.RUN, engine=engine))


@_command(_ENGINE)
def resume(job: str, worker: Path, jobs_topic: str | None, engine: str | None) -> None:
    """Go on with a job that was paused, has failed or whose driver died."""
    _run(_driver(job, worker, jobs_topic, action=JobAction.RESUME, engine=engine))


@_command()
def pause(job: str, worker: Path, jobs_topic: str | None) -> None:
    """Let every lane end behind the chunk it is writing."""
    paused = _looking_on(job, worker, jobs_topic).pause()
    ending = ": lanes end behind their chunks" if paused.state.is_running else f" is {paused.state}"
    echo(f"backfill {paused.name}{ending}; go on by `connect backfill resume {paused.name}`")


@_command(
    click.option("--max-rows-per-second", type=click.IntRange(0), help="Over all lanes; 0: no limit."),
    click.option("--max-bytes-per-second", help="Over all lanes, as 20MiB; 0: no limit."),
    click.option("--window", help="When chunks may be begun, as '22:00-06:00 Europe/Berlin'; empty: at any time."),
    click.option(
        "--max-active-sessions",
        type=click.IntRange(0),
        help="No chunk is begun while more sessions of the source work, the job's own included; 0: no limit.",
    ),
    click.option(
        "--max-replica-lag",
        help="While a replica of the source is farther behind, no chunk is begun; as 30s; 0: however far.",
    ),
    click.option(
        "--source-connections",
        type=click.IntRange(0),
        help="How many connections lanes have to the source at a time, one lane at least; 0: no limit.",
    ),
)
def limit(job: str, worker: Path, jobs_topic: str | None, **given: Any) -> None:
    """Let a job that runs go faster or slower from now on. What is not given stays as it is."""
    driver = _looking_on(job, worker, jobs_topic)
    pace = driver.limit({key: value for key, value in given.items() if value is not None})
    echo(f"limits of backfill {driver.spec.name} from now on: {pace.line()}")


@_command()
def cancel(job: str, worker: Path, jobs_topic: str | None) -> None:
    """End a job for good. What it has written stays; nothing more is written when this returns."""
    with _looking_on(job, worker, jobs_topic) as driver:
        ended = driver.cancel()
    echo(f"backfill {ended.name} is {ended.state}")


@_command(_JSON, click.option("--follow", "-f", is_flag=True, help="Go on until the job runs no longer."))
def status(job: str, worker: Path, jobs_topic: str | None, follow: bool, as_json: bool) -> None:
    """Say how far a job is, from its markers in Kafka alone: also from another machine, and when its driver is dead."""
    from connect.backfill.job.progress import Watch
    from connect.cli.shared.backfill_screen import show
    from connect.cli.shared.sparkline import POINTS, sparkline
    from connect.lib.deadline import Deadline

    if follow and as_json:
        raise click.UsageError("--json tells how far the job is now, and --follow goes on telling it. Say one of them.")
    driver = _looking_on(job, worker, jobs_topic)
    known = driver.ownership.require_known()
    if follow:
        show(driver.store, driver.spec.name)
        return
    with closing(Watch(driver.store, driver.spec.name, Deadline.after(_READ_S))) as watch:
        if as_json:
            told = {"progress": asdict(watch.progress()), "limits": asdict(watch.pace)}
            echo(json.dumps({"name": known.name, "state": known.state, **told, "warnings": list(known.warnings)}))
            return
        echo(watch.progress().line())
        rates = watch.rates(POINTS)
        if line := sparkline(rates, sys.stdout.encoding or "ascii"):
            echo(f"since it began: {line}, up to {max(rates):,.0f} rows/s")
        echo(f"limits: {watch.pace.line()}")
    for warning in known.warnings:
        echo(f"warning: {warning}")


@_command(
    _JSON,
    click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the report to this file, too."),
    click.option("--sample", default=100.0, type=click.FloatRange(0, 100, min_open=True),
                 help="Read the records of so many percent of the chunks; the markers of all count."),
    click.option("--count-source/--no-count-source", default=True,
                 help="Count rows in the source, and compare some with it value by value."),
    click.option("--seed", help="Draws the chunks whose values are compared; by default others each time."),
)  # fmt: skip
def verify(
    job: str, worker: Path, jobs_topic: str | None, *, as_json: bool, html: Path | None, sample: float,
    count_source: bool, seed: str | None,
) -> None:  # fmt: skip
    """Read target and source again and compare: every row once, unchanged. Exit code 1 where not."""
    from connect.backfill.verify.report import html_report
    from connect.backfill.verify.verify import verify as verified

    driver = _driver(job, worker, jobs_topic)
    verdict = verified(driver, count_source=count_source, sample=sample / 100, seed=seed)
    if as_json:
        echo(json.dumps(verdict.as_json()))
    else:
        for line in verdict.lines():
            echo(line)
    if html is not None:
        html.write_text(html_report(verdict), encoding="utf-8")
    sys.exit(0 if verdict.is_good else 1)


@_command(
    click.option("--force", is_flag=True, help="Also where the last `verify` found something wrong."), *CLUSTER_OPTIONS
)
def handover(
    job: str, worker: Path, jobs_topic: str | None, *, force: bool, url: str | None, context: str | None
) -> None:
    """Write the connector's offsets where following begins, and resume it."""
    from connect.backfill.handover import ConnectorsByRest, hand_over
    from connect.backfill.job.states import JobState
    from connect.lib.deadline import Deadline

    with _driver(job, worker, jobs_topic) as driver:
        cluster = ConnectorsByRest(client_of(url, context))
        was_done = driver.ownership.require_known().state is JobState.DONE
        done = hand_over(driver, cluster, Deadline.after(_READ_S), is_forced=force)
        if was_done:
            echo(f"backfill {driver.spec.name} was handed over before, and its connector's offsets stay as they are")
        for position in done.positions:
            does = "began" if was_done else "goes on"
            echo(f"{dict(position.partition)} {does} at {_offset(position)}")
        resumed = driver.spec.handover.start_connector
        echo(f"connector {driver.settings.name} {'is resumed' if resumed else 'stays stopped'}")


@_command()
def export_state(job: str, worker: Path, jobs_topic: str | None) -> None:
    """Print all that Kafka holds of a job as one JSON object: its record, plan, markers and handover."""
    from connect.backfill.verify.export import exported
    from connect.lib.deadline import Deadline

    driver = _looking_on(job, worker, jobs_topic)
    echo(json.dumps(exported(driver.store, driver.spec.name, Deadline.after(_READ_S)), indent=1))


@backfill.command()
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--extra", "extras", multiple=True, help="An extra of the product that lanes need; by default all here.")
@click.option("--python", type=click.Path(path_type=Path), help="Python on the cluster's machines; by default as here.")
def package(output: Path, extras: tuple[str, ...], python: Path | None) -> None:
    """Write an archive (OUTPUT.tar.gz) of all that a lane needs, for executors that have nothing of ours.

    Name it under engine.python_env. Run this with the operating system and the minor version of Python that the
    machines of the cluster have.
    """
    from connect.backfill.package import package as packed

    with one_line_errors():
        made = packed(output, extras=extras or None, python=python)
    echo(f"{made.path}: {made.size_bytes / 1e6:,.0f} MB, {counted(len(made.distributions), 'distribution')}")


def _offset(position: SourcePosition) -> str:
    return "its beginning" if position.offset is None else str(dict(position.offset))


def _time(duration_s: float) -> str:
    for unit, unit_s in (("h", 3600), ("min", 60)):
        if duration_s >= 2 * unit_s:
            return f"about {duration_s / unit_s:,.1f} {unit}"
    return f"about {duration_s:,.0f} s"


def _run(driver: Driver) -> None:
    from connect.cli.shared.backfill_screen import shown_beside

    try:
        with driver:
            job = driver.begin()
            echo(f"backfill {job.name}: {counted(job.chunks, 'chunk')} of about {counted(job.rows, 'row')}")
            for warning in job.warnings:
                echo(f"warning: {warning}")
            with shown_beside(driver.store, job.name):
                job = driver.run()
    except KeyboardInterrupt:
        stays = "What is in Kafka stays; go on by the same command, here or on another machine."
        echo(f"\nbackfill {driver.spec.name} was interrupted. {stays}", err=True)
        sys.exit(130)
    echo(f"backfill {job.name} is {job.state}")
    sys.exit(0 if job.state.is_copied else 3)


def _driver(
    job: str,
    worker: Path,
    jobs_topic: str | None,
    cluster: Callable[[], ConnectClient] | None = None,
    *,
    action: JobAction | None = None,
    engine: str | None = None,
) -> Driver:
    """Return the driver of a job that is named, or in a file.

    `cluster` is where a connector that is missing is created.

    `action`: the one that runs its lanes, by the `engine` that was given; None: none are run. JobStateError: the job
    is known, and does not allow it.
    """
    from connect.backfill.driver import Driver
    from connect.backfill.job.connectors import connectors_of
    from connect.cli.shared.worker_settings import read_worker_settings, with_every_file

    config = read_worker_settings(worker)
    spec, folder = _spec(job, config, jobs_topic, action and _RUNS_BY[action], engine)
    if action is not None and (known := Driver(spec, config, {}).ownership.look()) is not None:
        known.require_allowed(action)  # before a connector is created for it
    found = connectors_of(spec, folder, config, cluster)
    if folder is not None and found.are_typed:
        config = with_every_file(config)
    return Driver(spec, config, found.connector, found.target)


def _looking_on(job: str, worker: Path, jobs_topic: str | None) -> Driver:
    """Return the driver of a job of which the state in Kafka is all that is asked for: it has no connectors."""
    from connect.backfill.driver import Driver
    from connect.cli.shared.worker_settings import read_worker_settings

    config = read_worker_settings(worker)
    spec, _ = _spec(job, config, jobs_topic, None, None)
    return Driver(spec, config, {})


def _spec(
    job: str, config: WorkerConfig, jobs_topic: str | None, runs_by: str | None, engine: str | None
) -> tuple[BackfillSpec, Path | None]:
    """Return the spec of a job, and the folder of its file; None: it is known by its name."""
    from connect.backfill.job.job_store import known_spec
    from connect.backfill.job.spec_file import parse_engine, read_spec
    from connect.backfill.job.stored_spec import runnable, without_choices
    from connect.lib.deadline import Deadline

    file = Path(job)
    folder = file.parent if file.suffix in {".yaml", ".yml"} or file.exists() else None
    if folder is not None:
        spec = read_spec(file)
    else:
        stored = known_spec(config, job, jobs_topic, Deadline.after(_READ_S))
        is_given = engine is not None or runs_by is None
        spec = without_choices(stored) if is_given else runnable(stored, by=f"`{runs_by} {job}` with")
    return spec if engine is None else spec.model_copy(update={"engine": parse_engine(engine)}), folder
