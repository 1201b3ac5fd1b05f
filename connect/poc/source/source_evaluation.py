"""Runs the checks of a source, in their order. A check that fails may leave nothing to run for those after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from connect.api.errors import ConnectError
from connect.api.optional.findings import Aspect
from connect.client.manifests import Manifest
from connect.plugins.catalog import Catalog
from connect.poc.report.estimate import LOAD, Load, judge_load
from connect.poc.sandbox.children import asked_of, reason_of
from connect.poc.sandbox.config_checks import check_config, with_statement_limit
from connect.poc.sandbox.examination import examine
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.progress import CheckProgress
from connect.poc.sandbox.result import SCHEMA_CHANGE, Check, Outcome
from connect.poc.sandbox.row_values import without_values
from connect.poc.sandbox.sandbox import Sandbox
from connect.poc.sandbox.timeline import rate, rate_range
from connect.poc.sandbox.topic_rows import TopicRows
from connect.poc.source.delivery_check import KILLS, check_delivery
from connect.poc.source.sample_checks import CURSOR, DISCOVER, check_sample
from connect.poc.source.source_run import SourceRun, SourceRunner
from connect.poc.source.source_schema_change import ChangeSeen, judge_source_change
from connect.poc.source.throughput_check import THROUGHPUT, judge_throughput
from connect.runtime.parts.connector_settings import ConnectorSettings
from connect.runtime.parts.task_parts import connector_plugin

CHUNK_ROWS: Final = 30_000
CHUNK_BYTES: Final = 32 * 2**20
"""A backfill's chunk has this many rows and bytes, by the defaults of `connect.backfill.job.spec`."""
PLAN_S: Final = 20.0


def check_source(sandbox: Sandbox, manifest: Manifest, options: Options, progress: CheckProgress) -> SourceRun | None:
    """Run the checks. Return the run without faults, whose topics are kept; None if the checks ended before it."""
    config = {**manifest.config, "name": manifest.name}
    checked, reach = check_config(sandbox.rest, config)
    found = examine(ConnectorSettings(dict(sandbox.worker_properties), config))
    progress.note(checked, found.added_to(reach, Aspect.REACH))
    if progress.has_failed:
        return None
    definitions = connector_plugin(Catalog.installed(), config).config.definitions()
    config = with_statement_limit(sandbox.rest, config, definitions, options.duration_s)
    settings = ConnectorSettings(dict(sandbox.worker_properties), dict(config))
    sampled = check_sample(settings, options.sample_rows, options.duration_s, show_values=options.show_values)
    progress.note(*(found.added_to(check, Aspect.CURSOR) if check.number == CURSOR[0] else check for check in sampled))
    if progress.outcome_of(DISCOVER[0]) is not Outcome.PASS:
        return None
    return _run_checks(sandbox, config, settings, options, progress)


def _run_checks(
    sandbox: Sandbox,
    config: Mapping[str, str],
    settings: ConnectorSettings,
    options: Options,
    progress: CheckProgress,
) -> SourceRun | None:
    runner = SourceRunner(sandbox, config, options)
    try:
        baseline = runner.run("baseline")
        rows = baseline.rows(sandbox)
    except ConnectError as error:
        progress.note(Check(*THROUGHPUT, Outcome.FAIL, f"The source could not be run to the end: {error}"))
        return None
    progress.note(judge_throughput(baseline, rows.count, rows.size_bytes))
    if baseline.failure is not None or not rows.count:
        return None
    if options.crashes:
        exactly_once = config.get("exactly.once.support", "").strip().lower() == "required"
        progress.attempt(
            *KILLS,
            lambda: check_delivery(sandbox, runner, baseline, rows, options=options, exactly_once=exactly_once),
        )
    progress.note(_schema_change(sandbox, settings, options))
    progress.note(_load(settings, baseline, rows, options))
    return baseline


def _schema_change(sandbox: Sandbox, settings: ConnectorSettings, options: Options) -> Check:
    answer = asked_of(settings, "change", options.duration_s, registry_url=sandbox.registry_url)
    reason = reason_of(answer)
    if reason is not None:
        return Check(*SCHEMA_CHANGE, Outcome.NOT_TESTED, f"No rows of a changed table could be made: {reason}")
    seen = [ChangeSeen(**one) for one in answer["seen"]]
    if not options.show_values:
        known = [text for pair in settings.connector.items() for text in pair] + [one.what for one in seen]
        seen = [replace(one, refused=one.refused and without_values(one.refused, known)) for one in seen]
    return judge_source_change(seen)


def _load(settings: ConnectorSettings, run: SourceRun, rows: TopicRows, options: Options) -> Check:
    plan = asked_of(settings, "plan", PLAN_S, chunk_rows=CHUNK_ROWS, chunk_bytes=CHUNK_BYTES)
    reason = reason_of(plan)
    if reason is not None and not run.is_complete:
        return Check(*LOAD, Outcome.NOT_TESTED, f"How many rows there are is not known: {reason}")
    slowest, fastest = rate_range(run.readings)
    load = Load(
        rows=rows.count if run.is_complete else plan["rows"],
        is_exact=run.is_complete,
        row_bytes=rows.size_bytes / rows.count,
        rate=rate(run.readings),
        slowest=slowest,
        fastest=fastest,
        tasks=run.tasks,
        chunks=None if reason else plan["chunks"],
    )
    return judge_load(load, options.prices, [] if reason else plan["warnings"])
