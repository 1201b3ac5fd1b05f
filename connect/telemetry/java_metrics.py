"""Declares Kafka Connect's own metrics, under the names that Prometheus' JMX exporter gives them.

By the exporter's usual rules a name is `kafka_connect_`, the group without `-metrics` (and without `connect-`), and the
attribute, with `_` for `-`. Dashboards and alerts for Kafka Connect use these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_MS: Final = 1000.0


@dataclass(frozen=True, slots=True)
class JavaMetric:
    """Says which of our figures, times `factor`, a metric of Java shows. `tasks_of` is a kind of connector, or any."""

    group: str
    attribute: str
    figure: str
    meaning: str
    factor: float = 1.0
    tasks_of: str = ""

    @property
    def name(self) -> str:
        """Return the exporter's name."""
        group = self.group.removesuffix("-metrics").removeprefix("connect-")
        return f"kafka_connect_{group}_{self.attribute}".replace("-", "_")

    @property
    def doc(self) -> str:
        """Return the meaning, and where Java has it."""
        return f"{self.meaning} Java: {self.attribute} of {self.group}."


def _of(group: str, tasks_of: str, *rows: tuple[str, str, str] | tuple[str, str, str, float]) -> list[JavaMetric]:
    return [
        JavaMetric(group, attribute, figure, meaning, factor[0] if factor else 1.0, tasks_of)
        for attribute, figure, meaning, *factor in rows
    ]


JAVA_TASK_METRICS: Final = (
    *_of("connector-task-metrics", "",
         ("running-ratio", "running_ratio", "Share of the task's time in which it ran."),
         ("pause-ratio", "paused_ratio", "Share of the task's time in which it was paused."),
         ("offset-commit-max-time-ms", "flush_s_max", "Longest flush of late, in milliseconds.", _MS),
         ("offset-commit-avg-time-ms", "flush_s_avg", "Average flush of late, in milliseconds.", _MS),
         ("batch-size-max", "batch_rows_max", "Most rows of one poll of late."),
         ("batch-size-avg", "batch_rows_avg", "Average rows of one poll of late."),
         ("offset-commit-failure-percentage", "flush_failure_ratio", "Share of failed flushes of late, from 0 to 1."),
         ("offset-commit-success-percentage", "flush_success_ratio", "Share of good flushes of late, from 0 to 1.")),
    *_of("sink-task-metrics", "sink",
         ("sink-record-read-rate", "polled_rows_per_s", "Rows read from Kafka in a second of late."),
         ("sink-record-read-total", "polled_rows_total", "Rows read from Kafka, before transforms."),
         ("sink-record-send-rate", "rows_per_s", "Rows put into the sink in a second of late."),
         ("sink-record-send-total", "rows_total", "Rows put into the sink, after transforms."),
         ("sink-record-active-count", "active_rows", "Rows that the sink has taken and not committed."),
         ("sink-record-active-count-max", "active_rows_max", "The most of these of late."),
         ("sink-record-active-count-avg", "active_rows_avg", "The average of these of late."),
         ("partition-count", "assigned_partitions", "Topic partitions that the task reads."),
         ("offset-commit-seq-no", "commits_total", "Number of the last commit of offsets."),
         ("offset-commit-completion-rate", "commits_per_s", "Commits of offsets in a second of late."),
         ("offset-commit-completion-total", "commits_total", "Commits of offsets that succeeded and had news."),
         ("put-batch-max-time-ms", "put_s_max", "Longest put of late, in milliseconds.", _MS),
         ("put-batch-avg-time-ms", "put_s_avg", "Average put of late, in milliseconds.", _MS)),
    *_of("source-task-metrics", "source",
         ("source-record-poll-rate", "polled_rows_per_s", "Rows read from the source in a second of late."),
         ("source-record-poll-total", "polled_rows_total", "Rows read from the source, before transforms."),
         ("source-record-write-rate", "rows_per_s", "Rows given to the producer in a second of late."),
         ("source-record-write-total", "rows_total", "Rows given to the producer, after transforms."),
         ("poll-batch-max-time-ms", "poll_s_max", "Longest poll of late, in milliseconds.", _MS),
         ("poll-batch-avg-time-ms", "poll_s_avg", "Average poll of late, in milliseconds.", _MS),
         ("source-record-active-count", "active_rows", "Rows sent and not acknowledged, or not committed."),
         ("source-record-active-count-max", "active_rows_max", "The most of these of late."),
         ("source-record-active-count-avg", "active_rows_avg", "The average of these of late."),
         ("transaction-size-min", "transaction_rows_min", "Rows of the smallest transaction of late."),
         ("transaction-size-max", "transaction_rows_max", "Rows of the largest transaction of late."),
         ("transaction-size-avg", "transaction_rows_avg", "Average rows of a transaction of late.")),
    *_of("task-error-metrics", "",
         ("total-record-failures", "errors_total", "Rows that failed in a converter, a transform or the sink."),
         ("total-record-errors", "errors_total", "Rows that failed for good; a retry is a retry of a batch here."),
         ("total-records-skipped", "skipped_total", "Bad rows passed over, those with a dead letter among them."),
         ("total-retries", "retries_total", "Calls made again after a retriable error."),
         ("total-errors-logged", "errors_logged_total", "Failed rows that the log tells of."),
         ("deadletterqueue-produce-requests", "dead_letters_total", "Rows given to the dead-letter topic."),
         ("deadletterqueue-produce-failures", "dead_letter_failures_total", "Failed writes of dead letters."),
         ("last-error-timestamp", "last_error_epoch_s", "When a row last failed, in epoch milliseconds.", _MS)),
)  # fmt: skip
JAVA_WORKER_METRICS: Final = (
    *_of("connect-worker-metrics", "",
         ("connector-count", "connectors", "Connectors of this worker."),
         ("task-count", "tasks", "Tasks of this worker."),
         *((f"{what}-startup-{attribute}", f"{what}_starts{figure}", meaning.format(what))
           for what in ("connector", "task")
           for attribute, figure, meaning in (
               ("attempts-total", "_total", "Starts of a {} that were tried here."),
               ("success-total", "_good_total", "Starts of a {} that succeeded here."),
               ("failure-total", "_failed_total", "Starts of a {} that failed here."),
               ("success-percentage", "_good_ratio", "Share of good starts of a {} here, from 0 to 1."),
               ("failure-percentage", "_failed_ratio", "Share of failed starts of a {} here, from 0 to 1.")))),
    *_of("connect-worker-rebalance-metrics", "",
         ("epoch", "epoch", "Generation of the sharing of work that this worker goes by; it grows."),
         ("rebalancing", "rebalancing", "1 while the group shares its work anew and this worker waits for its part."),
         ("completed-rebalances-total", "rebalances_total", "Times that this worker got its part of the work."),
         ("rebalance-max-time-ms", "rebalance_s_max", "Longest wait for a part since the start, in milliseconds.", _MS),
         ("rebalance-avg-time-ms", "rebalance_s_avg", "Average wait for a part since the start, in milliseconds.", _MS),
         ("time-since-last-rebalance-ms", "rebalance_age_s", "Time since the last part, in milliseconds.", _MS)),
    *_of("connect-coordinator-metrics", "",
         ("assigned-connectors", "connectors", "Connectors of this worker."),
         ("assigned-tasks", "tasks", "Tasks of this worker.")),
)  # fmt: skip
JAVA_INFOS: Final[Mapping[tuple[str, str], str]] = {
    ("connector-metrics", "connector-class"): "kafka_connect_connector_connector_class",
    ("connector-metrics", "connector-type"): "kafka_connect_connector_connector_type",
    ("connector-metrics", "connector-version"): "kafka_connect_connector_connector_version",
    ("connector-metrics", "status"): "kafka_connect_connector_status",
    ("connector-task-metrics", "status"): "kafka_connect_connector_task_status",
    ("connect-worker-rebalance-metrics", "leader-name"): "kafka_connect_worker_rebalance_leader_name",
    ("app-info", "version"): "kafka_connect_version_info",
    ("app-info", "commit-id"): "kafka_connect_commit_id_info",
    ("app-info", "start-time-ms"): "kafka_connect_start_time_seconds",
    **{
        (
            "connect-worker-metrics",
            f"connector-{state}-task-count",
        ): f"kafka_connect_worker_connector_{state}_task_count"
        for state in ("total", "running", "paused", "failed", "unassigned", "restarting")
    },
}
"""Holds metrics of Java whose value is a text, by group and attribute. The text is a label here."""
_CLIENT: Final = "the Kafka client here (librdkafka) keeps no such number for the group of workers."
_PLUGINS: Final = "the exporter's usual rules pass texts of tasks over; GET /connectors/NAME/status has the versions."
WITHOUT_VALUE: Final[Mapping[tuple[str, str], str]] = {
    ("sink-task-metrics", "offset-commit-skip-rate, offset-commit-skip-total"):
        "a commit is waited for here, so that none comes too late to count.",
    ("sink-task-metrics", "sink-record-lag-max"):
        "Java documents it and never shows it; kafka_connect_task_lag_rows is the lag.",
    ("connect-worker-metrics", "connector-destroyed-task-count"): "a task that has ended for good is forgotten.",
    ("connect-worker-rebalance-metrics", "connect-protocol"):
        "workers share their work by a consumer group, without a protocol of Java's.",
    ("connect-coordinator-metrics",
     "heartbeat-…, join-…, sync-…, rebalance-…, last-heartbeat-…, last-rebalance-…, failed-rebalance-…"): _CLIENT,
    ("connect-metrics, connect-node-metrics, kafka-metrics-count", "all"): _CLIENT,
    ("connector-task-metrics", "all texts of 4.1: connector-, task- and converter-class, -version, -type"): _PLUGINS,
    ("connector-transform-metrics, connector-predicate-metrics", "class, version"): _PLUGINS,
}  # fmt: skip
"""Maps metrics of Java, by group and attributes, to the reason why they have no value here."""
