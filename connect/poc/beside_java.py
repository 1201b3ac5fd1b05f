"""Compares a source with Java Connect: runs one configuration in the sandbox and in a Java cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError
from connect.api.plugin import PluginKind
from connect.client.manifests import Manifest
from connect.client.rest import ConnectClient
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.poc.evaluation import worker_settings
from connect.poc.report.result_comparison import NONE, Line
from connect.poc.sandbox.children import asked_of, reason_of
from connect.poc.sandbox.connector_runs import SourceCluster
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.progress import Say
from connect.poc.sandbox.record_differences import Record, differences, records_of
from connect.poc.sandbox.run_comparison import compare
from connect.poc.sandbox.sandbox import Sandbox
from connect.poc.sandbox.timeline import rate
from connect.poc.sandbox.topic_rows import TopicRows
from connect.poc.source.java_cluster import JavaCluster
from connect.poc.source.source_run import SourceRun, SourceRunner
from connect.runtime.parts.connector_settings import ConnectorSettings
from connect.runtime.parts.task_parts import connector_plugin

COMPARED: Final = 10_000
"""At most this many records of each partition are compared part by part: key, fields, headers."""
_READ_S: Final = 300.0
_BUILD_S: Final = 60.0


@dataclass(slots=True)
class RunOutput:
    """Holds what one of the two runs wrote, and its first records."""

    run: SourceRun
    rows: TopicRows = field(default_factory=TopicRows)
    records: Mapping[str, list[Record]] = field(default_factory=dict)


def beside_java(
    manifest: Manifest, rest: ConnectClient, worker: Mapping[str, str], options: Options, say: Say
) -> list[Line]:
    """Run the source in the Java cluster and then in a sandbox, and compare the two runs.

    `worker` holds the properties of a worker of the Java cluster. ConfigError: the connector is no source, or keeps
    something where it reads. ConnectError: the connector fails on one of the sides.
    """
    catalog = Catalog.installed()
    plugin = connector_plugin(catalog, manifest.config)
    if plugin.kind is not PluginKind.SOURCE:
        raise ConfigError(f"{plugin.name} is no source: a sink would write to its real target.", key="connector.class")
    config = {**manifest.config, "name": manifest.name}
    # The person who typed the command chose the worker's file, so the connector may reach everything that this person
    # may.
    settings = {**worker_settings(catalog, worker, [config]), **EVERYWHERE}
    _require_nothing_kept(ConnectorSettings({**worker, **settings}, config))
    say("running it on Java")
    with JavaCluster(rest, worker) as java:
        theirs = _side(java, config, options)
    say("running it here")
    with Sandbox(settings) as sandbox:
        ours = _side(sandbox, config, options)
    return lines_of(ours, theirs)


def _require_nothing_kept(settings: ConnectorSettings) -> None:
    """Refuse a source of which both runs would use, move on and drop what belongs to the connector of its owner."""
    answer = asked_of(settings, "kept", _BUILD_S)
    reason = reason_of(answer)
    if reason is not None:
        raise ConnectError(f"The connector cannot be built here: {reason}")
    if answer["kept"] is not None:
        raise ConfigError(
            f"The connector keeps a {answer['kept']} in the source, and both runs would move it on for its owner.",
            key="connector.class", fix="Compare it on a copy of the database, or in another mode.",
        )  # fmt: skip


def _side(cluster: SourceCluster, config: Mapping[str, str], options: Options) -> RunOutput:
    run = SourceRunner(cluster, config, options).run("beside")
    if run.failure is not None:
        raise ConnectError(f"At {cluster.rest.url} the connector failed: {run.failure}")
    spans = {place: OffsetRange(0, min(end, COMPARED)) for place, end in run.ends.items()}
    records = records_of(read_spans(cluster.reading, spans, Deadline.after(_READ_S)), run.prefix)
    return RunOutput(run, run.rows(cluster), records)


def lines_of(ours: RunOutput, theirs: RunOutput) -> list[Line]:
    """Return the lines of the comparison: rate, latency, counts, and the parts in which records differ. Pure."""
    here, there = _figures(ours), _figures(theirs)
    told = compare(theirs.rows, ours.rows)
    only_here, only_there = told.invented + told.changed + told.duplicate, told.lost + told.changed
    parts = differences(ours.records, theirs.records)
    return [
        *(Line(what, here[what], there[what]) for what in here),
        Line("rows that the other has not", f"{only_here:,}", f"{only_there:,}"),
        Line("rows in another order", f"{told.reordered:,}", "0"),
        *(Line(f"records that differ in {part}", f"{count:,}", NONE) for part, count in sorted(parts.items())),
    ]


def _figures(side: RunOutput) -> dict[str, str]:
    run = side.run
    return {
        "rows": f"{side.rows.count:,}",
        "bytes of keys and values": f"{side.rows.size_bytes:,}",
        "came to the end of the data": "yes" if run.is_complete else "no",
        "seconds to the first row": next((f"{reading.at_s:.1f}" for reading in run.readings if reading.rows), NONE),
        "seconds from first to last row": f"{run.seconds:.1f}",
        "rows a second after the warm-up": f"{rate(run.readings):,.0f}",
    }
