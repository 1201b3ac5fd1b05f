"""Declares every metric once: name, unit, labels, meaning, and what a person has to do where that is needed.

The names that Kafka Connect's own metrics have for the same numbers are in `java_metrics`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from connect.telemetry.connector_metrics import CONNECTOR_METRICS

STATES: Final = ("running", "paused", "failed", "unassigned", "stopped", "restarting")


@dataclass(frozen=True, slots=True)
class Metric:
    """Describes a number that is reported under `figure`; `todo`: what a person does about it."""

    figure: str
    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    meaning: str
    todo: str = ""

    @property
    def doc(self) -> str:
        """Return all that there is to say, as sentences."""
        unit = f" Unit: {self.unit}." if self.unit else ""
        return f"{self.meaning}{f' What to do: {self.todo}' if self.todo else ''}{unit}"


def _task(figure: str, name: str, unit: str, meaning: str, todo: str = "") -> Metric:
    kind: Literal["counter", "gauge"] = "counter" if name.endswith("_total") else "gauge"
    return Metric(figure, f"kafka_connect_task_{name}", kind, unit, meaning, todo)


def _rows(figure: str, meaning: str, todo: str = "") -> Metric:
    return _task(figure, figure, "rows", meaning, todo)


def _seconds(step: str, meaning: str, todo: str = "") -> Metric:
    return _task(f"{step}_s_total", f"{step}_seconds_total", "seconds", meaning, todo)


TASK_METRICS: Final = (
    _rows("polled_rows_total", "Rows read from the source or from Kafka, before transforms."),
    _rows("rows_total", "Rows delivered to Kafka or put into the sink, after transforms.",
          "where it stands still while lag grows, ask connect connectors why NAME."),
    _task("bytes_total", "bytes_total", "bytes", "Bytes of keys and values written to or read from Kafka."),
    _task("batches_total", "batches_total", "", "Batches that went through the task."),
    _rows("errors_total", "Rows that failed in a converter, a transform or the sink.",
          "read the reasons in the log or in the dead letters, and mend the rows, the transform or the converter."),
    _rows("errors_logged_total", "Failed rows that the log tells of, as errors.log.enable asks for."),
    _rows("dead_letters_total", "Rows that were given to the dead-letter topic.",
          "connect dlq list shows them and their reasons; replay them when the cause is mended."),
    _task("dead_letter_failures_total", "dead_letter_failures_total", "", "Tries to write dead letters that failed.",
          "see that the dead-letter topic exists and may be written to; offsets wait for letters."),
    _rows("skipped_total", "Bad rows that errors.tolerance=all passed over, those with a dead letter among them.",
          "these rows are not in the target. Those beyond dead_letters_total are kept nowhere: set "
          "errors.deadletterqueue.topic.name to keep the next ones."),
    _rows("missed_rows_total", "Rows of its topics that a sink never reads: Kafka deleted them before (retention, "
          "delete-records), or auto.offset.reset passed them over. Offsets are counted, so that in compacted topics "
          "and those with transactions there are fewer rows. What a group passes over before its first commit is none.",
          "the rows are not in the target, and gone from Kafka: connect connectors why NAME says which. Give the topic "
          "a longer retention, and load what is missing from its origin (connect backfill)."),
    _task("offset_resets_total", "offset_resets_total", "",
          "How often the next offset of a sink's partition was not in the log, so that it reads on elsewhere.",
          "where missed_rows_total is still, a topic was made anew or an offset was set past its end: rows may come "
          "twice. connect connectors why NAME says where."),
    _task("last_missed_epoch_s", "last_missed_timestamp_seconds", "seconds",
          "When the next offset of a sink was last not in the log, as Unix time."),
    _task("last_error_epoch_s", "last_error_timestamp_seconds", "seconds", "When a row last failed, as Unix time."),
    _task("retries_total", "retries_total", "", "Calls made again after a retriable error.",
          "where it grows without a pause, a database, store or registry is away: connect connectors why NAME."),
    _task("restarts_total", "restarts_total", "", "Restarts of the task on this worker, automatic ones included.",
          "where it grows, the log has the cause of each failure."),
    _task("commits_total", "commits_total", "", "Commits or stores of offsets that succeeded and had news."),
    _task("flush_failures_total", "flush_failures_total", "", "Flushes that did not make offsets durable.",
          "see if the target or Kafka is slow; offset.flush.timeout.ms bounds a flush."),
    _seconds("poll", "Time in the source's poll or waiting for Kafka.",
             "where it is most of the time while lag grows, the source is the bottleneck: raise tasks.max."),
    _seconds("transform", "Time in transforms."),
    _seconds("convert", "Time in converters and transforms."),
    _seconds("send", "Time handing rows to the producer.",
             "where it is most of the time, Kafka is the bottleneck: see its brokers, batch.size, compression.type."),
    _seconds("put", "Time in the sink's put.",
             "where it is most of the time, the target is the bottleneck: see its load, or raise tasks.max."),
    _seconds("flush", "Time making rows and offsets durable."),
    _task("lag_rows", "lag_rows", "rows", "Rows in Kafka that the sink has not committed, at most: compaction and "
          "transactions leave gaps between them. Rows that Kafka deleted before they were read do not count: see "
          "missed_rows_total. 0 where nothing that can be read is left.",
          "where it grows, see which step takes the time (…_seconds_total); tasks.max may grow up to the partitions."),
    _task("lag_s", "lag_seconds", "seconds",
          "Age of the oldest row that is not committed, by its own time; of rows that were not read yet, since they "
          "were first seen; 0 when all is committed.", "as for lag_rows."),
    _task("source_lag_s", "source_lag_seconds", "seconds",
          "How far the source is behind: 0 when all that it had at the last look is in Kafka, else no row that is not "
          "in Kafka is older than this; as long as it is paused or cannot be asked, the time since the last look. A "
          "task whose first look is not over counts from its own start, also one that is made anew while its connector "
          "is paused: rows may wait for longer. Sources that tell of it: JDBC, Debezium's, Cassandra's; an agent tells "
          "that of its node.",
          "where it grows, the source is read too slowly, a table is left aside or the database is away: connect "
          "connectors why NAME."),
    _task("source_lag_rows", "source_lag_rows", "rows",
          "Rows that the source held at the last look and that are not in Kafka, so many at least; 0: it had no more. "
          "Missing where it cannot tell without a look at a whole table, and instead of 0 while it is paused. JDBC "
          "counts by the index that it reads by, up to 1,000,000 rows for a table. A log tells its rows only as they "
          "are read: its readers (mode=log, Debezium's, agents of Cassandra) count at its end alone what is read and "
          "not stored; before it see source_lag_bytes. Sweeps of Cassandra say 0 once all they found is stored.",
          "as for source_lag_seconds."),
    _task("source_lag_bytes", "source_lag_bytes", "bytes",
          "How much of its log the source had not read at the last look, changes of other tables included; 0 at its "
          "end. Sources that tell of it: JDBC by mode=log, Debezium's, agents of Cassandra.",
          "as for source_lag_seconds."),
    _task("caught_up_age_s", "caught_up_age_seconds", "seconds",
          "Age of the last look at the source after which all that it held was in Kafka; at first the age of the task. "
          "Between two looks (poll.interval.ms) nobody knows of newer rows."),
    _task("active_rows", "active_rows", "rows",
          "Rows in flight: of a sink taken and not committed, of a source sent and not acknowledged or committed."),
    _task("active_bytes", "active_bytes", "bytes", "Bytes in flight of a sink: read, taken and not committed.",
          "where memory is short, flush sooner: offset.flush.interval.ms, or the sink's own keys of size."),
    _task("assigned_partitions", "assigned_partitions", "", "Topic partitions the sink task reads.",
          "0 means that there are more tasks than partitions."),
    _task("last_flush_epoch_s", "last_flush_timestamp_seconds", "seconds",
          "When offsets were last made durable, as Unix time."),
    _task("host_cpu_s_total", "host_cpu_seconds_total", "seconds",
          "CPU time of the task host that the task is in, which it may share with other tasks."),
    _task("host_memory_bytes", "host_memory_bytes", "bytes",
          "Memory of the task host that the task is in, as task.host.memory.limit counts it.",
          "near the limit the host is restarted: lower batch sizes; connector.isolation=process shows whose it is."),
    _seconds("open", "Time in opening the task, tries that failed included."),
    _seconds("close", "Time in closing the task."),
    *(_task(figure, re.sub("_s$", "_seconds", figure), unit, f"{meaning} Of {whose}.", todo)
      for whose, declared in CONNECTOR_METRICS for figure, unit, meaning, todo in declared),
)  # fmt: skip
LATENCY: Final = Metric(
    "latency", "kafka_connect_task_latency_seconds", "gauge", "seconds",
    "Rows by the time from their own timestamp until they were durable in the target and committed, of sinks. A batch "
    "counts with its oldest row: no row took longer. A dead letter counts as a row.",
    "where the upper buckets grow while lag_rows stays small, the sink waits to fill what it writes: flush sooner.",
)  # fmt: skip
"""Declares the histogram, whose buckets are figures of the task: `latency_le_0.5` and so on, and `latency_sum_s`."""
WORKER_METRICS: Final = (
    Metric("start_epoch_s", "kafka_connect_start_time_seconds", "gauge", "seconds",
           "When the worker started, as Unix time."),
    Metric("leads", "kafka_connect_worker_leads", "gauge", "", "1 on the worker that leads the group, else 0."),
    Metric("cut_off", "kafka_connect_worker_cut_off", "gauge", "",
           "1 while Kafka does not hear this worker, so that its tasks have ended.",
           "see the way from this worker to the brokers."),
    Metric("overdue_tasks", "kafka_connect_worker_overdue_tasks", "gauge", "",
           "Tasks of the cluster that should run and have not for task.overdue.ms.",
           "connect status names them and why."),
)  # fmt: skip
KAFKA_METRICS: Final = tuple(
    Metric(figure, f"kafka_connect_kafka_{name}", "gauge", "", f"{meaning} Asked once a minute, by the leader.", todo)
    for figure, name, meaning, todo in (
        ("kafka_up", "up", "1 when a broker answered, else 0.", "see the brokers, and the way to them."),
        ("kafka_brokers", "brokers", "Brokers that are up.", "where it falls, a broker is away."),
        ("kafka_controller", "controller_known", "1 when the cluster has a controller, else 0.",
         "without one no leader is chosen: see the controllers' logs."),
        ("kafka_partitions", "partitions", "Partitions of all topics that the worker may see.", ""),
        ("kafka_offline", "offline_partitions", "Partitions without a leader: nobody reads or writes them.",
         "start the brokers that hold their replicas."),
        ("kafka_under_replicated", "under_replicated_partitions", "Partitions with replicas that are not in sync.",
         "see which broker is away or slow before another one goes."),
        ("kafka_own_missing", "internal_topics_missing", "Topics of the workers' own state that do not exist.",
         "connect doctor names them and the command that makes them."),
        ("kafka_own_refusing", "internal_partitions_under_min_isr",
         "Partitions of the workers' own topics that take no write: fewer replicas are in sync than they ask for.",
         "bring brokers back, or lower min.insync.replicas of these topics."),
    )
)  # fmt: skip
BACKFILL_METRICS: Final = tuple(
    Metric(figure, f"kafka_connect_backfill_{name}", "gauge", unit, f"{meaning} Told by the leader, each minute.", todo)
    for figure, name, unit, meaning, todo in (
        ("rows_done", "done_rows", "rows", "Rows of the backfill that are read and stored.",
         "where it stands still while the state is running, connect backfill status NAME says what it waits for."),
        ("rows", "planned_rows", "rows", "Rows that the backfill has, as estimated at its start.", ""),
        ("chunks_done", "done_chunks", "chunks", "Chunks of the backfill that are done.", ""),
        ("chunks", "planned_chunks", "chunks", "Chunks that the backfill has; it grows where one is cut.", ""),
        ("size_bytes", "written_bytes", "bytes", "Bytes that the backfill has written.", ""),
        ("lanes", "lanes", "", "Lanes that have written something.",
         "where it is less than asked for, see the executors that Spark has, and the job's limits."),
        ("rows_per_second", "rows_per_second", "rows/s",
         "Rows of the last half minute, in a second; 0 where the backfill does not run.",
         "where it is too low, see the load of the database and of Kafka, or raise the lanes or the limits."),
        ("eta_s", "eta_seconds", "seconds", "When it would be done at that pace; missing where that is not known.", ""),
        ("silent_s", "silent_seconds", "seconds", "Time since a lane or the driver told of anything.",
         "minutes while the state is running: the driver may be dead, or Spark has no executors for it."),
    )
)  # fmt: skip
BACKFILL_STATUS: Final = Metric(
    "", "kafka_connect_backfill_status", "gauge", "",
    "The backfill is in this state. Told once a minute, by the leader; one that is over is told for ten minutes.",
    "failed: connect backfill status NAME has the error; connect backfill resume NAME goes on.",
)  # fmt: skip
ALERT_METRICS: Final[Mapping[str, Metric]] = {
    count: Metric(count, f"kafka_connect_alerts_{count}_total", "counter", "alerts", meaning, todo)
    for count, meaning, todo in (
        ("sent", "Alerts that the webhook took.", ""),
        ("failed", "Tries to send an alert that failed.",
         "the log says alert_waits with the reason; see to the receiver, or to alerts.webhook.url."),
        ("dropped", "Alerts that nobody will hear of: too many waited, or the receiver refused them for good.",
         "see alert_dropped in the log, and look at /ui what needs a person."),
    )
}  # fmt: skip
