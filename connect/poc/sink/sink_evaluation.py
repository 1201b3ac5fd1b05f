"""Runs the checks of a sink, in their order. Nothing is written to its real target."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from connect.api.errors import ConnectError
from connect.api.optional.findings import Aspect
from connect.client.manifests import Manifest
from connect.poc.report.estimate import LOAD
from connect.poc.sandbox.children import asked_of, reason_of
from connect.poc.sandbox.config_checks import check_config
from connect.poc.sandbox.examination import examine
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.progress import CheckProgress
from connect.poc.sandbox.result import SCHEMA_CHANGE, Check, Outcome
from connect.poc.sandbox.sandbox import Sandbox
from connect.poc.sink.cost_check import judge_costs
from connect.poc.sink.sink_checks import (
    expected_rows,
    judge_round_trip,
    judge_sink_throughput,
    sample_checks_of,
    with_columns,
)
from connect.poc.sink.sink_delivery import check_sink_delivery
from connect.poc.sink.sink_records import Records, from_run, from_users_kafka, made
from connect.poc.sink.sink_run import SinkRunner
from connect.poc.sink.sink_schema_change import has_registry, judge_schema_change
from connect.poc.sink.trial import NoTargetApartError, Trial
from connect.poc.source.delivery_check import KILLS
from connect.poc.source.sample_checks import DISCOVER, ROUND_TRIP
from connect.poc.source.source_run import SourceRun
from connect.poc.source.throughput_check import THROUGHPUT
from connect.runtime.calls.newest_records import wanted_topics
from connect.runtime.parts.connector_settings import ConnectorSettings

_COSTS_S = 30.0
_AFTER_SAMPLE = (ROUND_TRIP, THROUGHPUT, KILLS, SCHEMA_CHANGE)


def check_sink(
    sandbox: Sandbox,
    manifest: Manifest,
    options: Options,
    progress: CheckProgress,
    worker: Mapping[str, str] | None,
    *,
    after: SourceRun | None = None,
    is_fed: bool = False,
) -> None:
    """Run the checks.

    With `is_fed` the records are those that a source's run, `after`, has written; it is None if the source did not get
    that far. Otherwise they are copied from the Kafka of `worker`, or made if there is no worker.
    """
    settings = ConnectorSettings(dict(sandbox.worker_properties), {**manifest.config, "name": manifest.name})
    _remove_left(settings, progress)
    target_error = _check_reach(sandbox, settings, progress)
    if progress.has_failed:
        return
    _tell_costs(settings, worker, progress)
    try:
        records = _records(sandbox, settings, options, worker, after, is_fed=is_fed)
    except ConnectError as error:
        progress.note(Check(*DISCOVER, Outcome.FAIL, f"There is nothing to give to the sink: {error}"))
        return
    sample = _sampled(settings, records, options)
    reason = reason_of(sample)
    if reason is not None:
        progress.note(Check(*DISCOVER, Outcome.FAIL, f"The records cannot be read: {reason}"))
        return
    progress.note(*sample_checks_of(sample, records.origin))
    if target_error is not None:
        why = str(target_error)
        outcome = Outcome.NOT_TESTED if isinstance(target_error, NoTargetApartError) else Outcome.FAIL
        progress.note(*(Check(number, name, outcome, why) for number, name in _AFTER_SAMPLE))
        return
    _run_checks(_Given(sandbox, settings, records, sample, options), progress)


def _check_reach(sandbox: Sandbox, settings: ConnectorSettings, progress: CheckProgress) -> ConnectError | None:
    """Run checks 1 and 2. Return why no target can be made beside the real one; None if one can.

    If it can, the connector checks its rights there, so that it does not try anything on the real target.
    """
    probe = Trial(settings, sandbox.new_name("check"))
    target_error: ConnectError | None = None
    try:
        probe.make()
    except ConnectError as error:
        target_error = error
        with suppress(ConnectError):  # what cannot be reached holds nothing of ours, or the next evaluation removes it
            probe.remove()
    try:
        name = settings.connector["name"]
        tried = settings.connector if target_error else {**probe.config, "name": name}
        checked, reach = check_config(sandbox.rest, tried)
        found = examine(ConnectorSettings(settings.worker, tried))
        progress.note(checked, found.added_to(reach, Aspect.REACH))
    finally:
        if target_error is None:
            probe.remove()
    return target_error


def _tell_costs(settings: ConnectorSettings, worker: Mapping[str, str] | None, progress: CheckProgress) -> None:
    """Note what the real target will cost a day, if the sink tells. The target is only read, not written."""
    answer = asked_of(settings, "costs", _COSTS_S, sampled=None if worker is None else dict(worker))
    reason = reason_of(answer)
    if reason is not None:
        progress.note(Check(*LOAD, Outcome.NOT_TESTED, f"What a day costs is not known: {reason}"))
    elif answer["tables"] is not None:
        progress.note(judge_costs(answer["tables"]))


def _remove_left(settings: ConnectorSettings, progress: CheckProgress) -> None:
    try:
        count = Trial.remove_left(settings)
    except ConnectError as error:
        progress.say(f"What a killed evaluation left behind cannot be removed now: {error}")
    else:
        if count:
            progress.say(f"removed {count} targets that evaluations left behind which were killed")


@dataclass(frozen=True, slots=True)
class _Given:
    """Holds what all runs of a sink have in common."""

    sandbox: Sandbox
    settings: ConnectorSettings
    records: Records
    sample: Mapping[str, Any]
    options: Options


def _run_checks(given: _Given, progress: CheckProgress) -> None:
    sandbox, options, sample = given.sandbox, given.options, given.sample
    runner = SinkRunner(sandbox, given.settings, given.records.ends, options)
    try:
        baseline = runner.run("baseline")
    except ConnectError as error:
        progress.note(Check(*THROUGHPUT, Outcome.FAIL, f"The sink could not be run to the end: {error}"))
        return
    came_back = with_columns(judge_round_trip(baseline, sample), baseline.columns)
    progress.note(came_back, judge_sink_throughput(baseline, given.records.count))
    if baseline.failure is not None or "stuck" in came_back.defects:
        return
    if options.crashes:
        progress.attempt(*KILLS, lambda: check_sink_delivery(sandbox, runner, baseline, sample, options))
    progress.attempt(*SCHEMA_CHANGE, lambda: _schema_change(given))


def _schema_change(given: _Given) -> Check:
    settings, records, options = given.settings, given.records, given.options
    if given.sandbox.registry_url is None and has_registry(settings.connector, settings.worker):
        why = "A new schema would be written into the user's registry."
        return Check(*SCHEMA_CHANGE, Outcome.NOT_TESTED, why)
    place, end = max(records.ends.items(), key=lambda pair: pair[1])
    partitions = sum(1 for other in records.ends if other.topic == place.topic)
    written = asked_of(
        settings, "write_changed", options.duration_s, topic=place.topic, partition=place.partition, end=end,
        partitions=partitions,
    )  # fmt: skip
    reason = reason_of(written)
    if reason is not None:
        return Check(*SCHEMA_CHANGE, Outcome.NOT_TESTED, f"No records with a field more could be made: {reason}")
    run = SinkRunner(given.sandbox, settings, {**records.ends, place: written["end"]}, options).run("change")
    taken = max(0, run.committed.get(place, 0) - end)
    expected = expected_rows(given.sample["kept"], run.committed) + taken
    return judge_schema_change(run, written["end"] - end, taken, expected)


def _records(
    sandbox: Sandbox,
    settings: ConnectorSettings,
    options: Options,
    worker: Mapping[str, str] | None,
    after: SourceRun | None,
    *,
    is_fed: bool,
) -> Records:
    if is_fed:
        if after is None:
            raise ConnectError("the source wrote nothing.")
        topics = wanted_topics(settings.connector, {place.topic.removeprefix(after.prefix) for place in after.ends})
        return from_run(sandbox, after.ends, after.prefix, topics)
    if worker is not None:
        return from_users_kafka(worker, settings.connector, options.sink_records, sandbox.worker_properties)
    return made(settings, options.sink_records)


def _sampled(settings: ConnectorSettings, records: Records, options: Options) -> dict[str, object]:
    spans = [(place.topic, place.partition, 0, end) for place, end in records.ends.items()]
    return asked_of(settings, "sample_records", options.duration_s, spans=spans, show_values=options.show_values)
