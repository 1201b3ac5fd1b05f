"""Declares the settings of the S3 sink, with Confluent's names if Confluent has them. Values only: no I/O, no Arrow.

Source of names and defaults: S3SinkConnectorConfig of confluentinc/kafka-connect-storage-cloud 12.1, and
StorageCommonConfig, PartitionerConfig and StorageSinkConnectorConfig of kafka-connect-storage-common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import BeforeValidator

from connect.api.allowed import OneOf
from connect.api.config import (
    Boolean,
    ClassName,
    Int,
    ListOf,
    Long,
    String,
    at_least,
    between,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigProblem
from connectors.s3.paths.path_format import PathFormat
from connectors.s3.settings.classes import (
    DEFAULT_PARTITIONER,
    FIELD_AND_TIME_PARTITIONER,
    FIELD_PARTITIONER,
    PARTITIONERS,
    TIME_PARTITIONER,
    TIME_PARTITIONERS,
)
from connectors.s3.settings.iceberg_config import IcebergConfig
from connectors.s3.settings.limits import (
    WITHOUT_EFFECT,
    any_package,
    key_part,
    off_or_positive,
    one_class,
    path_pattern,
    timezone_name,
)
from connectors.s3.settings.notes import waiting_records, weaknesses


class S3SinkConfig(IcebergConfig):
    """Holds Confluent's S3 sink settings, and some of ours.

    Ours are rotate.size.bytes, rotate.idle.ms, buffer.max.bytes, exactly.once, partition.field.drop,
    s3.request.timeout.ms.
    """

    flush_size: Annotated[Int, at_least(1)] = key(
        "flush.size", doc="Records after which a file ends.", importance="high", group="Rotation"
    )
    rotate_interval_ms: Annotated[Long, off_or_positive] = key(
        "rotate.interval.ms", -1, doc="A file ends when a record of its topic partition is this much later than its "
        "first one.", importance="high", group="Rotation",
    )  # fmt: skip
    rotate_schedule_ms: Annotated[Long, off_or_positive] = key(
        "rotate.schedule.interval.ms",
        -1,
        doc="Files end at multiples of this time on the wall clock, counted from midnight in `timezone`, "
        "at the next offset.flush.interval.ms.",
        group="Rotation",
    )
    rotate_idle_ms: Annotated[Long, off_or_positive] = key(
        "rotate.idle.ms", -1, doc="A file ends when it had no record for this long, at the next "
        "offset.flush.interval.ms.", group="Rotation",
    )  # fmt: skip
    rotate_size_bytes: Annotated[Long, off_or_positive] = key(
        "rotate.size.bytes", -1, doc="Uncompressed bytes of values after which a file ends.",
        group="Rotation",
    )  # fmt: skip
    rotate_on_partition_change: Boolean = key(
        "rotate.file.on.partition.change",
        True,
        doc="With rotate.interval.ms and a time partitioner: all files of a topic partition end when the path of its "
        "records changes.",
        importance="low",
        group="Rotation",
    )
    max_open_files: Annotated[Int, off_or_positive] = key(
        "partitioner.max.open.files", -1, doc="Files of a topic partition that are open behind a poll; beyond, the "
        "oldest end.", importance="low", group="Rotation",
    )  # fmt: skip
    buffer_max_bytes: Annotated[Long, off_or_positive] = key(
        "buffer.max.bytes",
        134_217_728,
        doc="When a task's open files hold more bytes than this, the largest end early, so that "
        "memory is bounded whatever flush.size is; -1: no bound. Counts only where files that end early are still "
        "exactly-once: with enable.conditional.writes=true, or exactly.once=false.",
        group="Rotation",
    )
    exactly_once: Boolean | None = key(
        "exactly.once",
        None,
        doc="Settings under which a restart can write a record twice: true refuses them, false accepts them, and where "
        "nothing is given they are accepted with a warning in the log.",
        group="Rotation",
    )

    partitioner_class: Annotated[
        ClassName,
        BeforeValidator(any_package),
        one_class(*PARTITIONERS),
        OneOf(PARTITIONERS),
    ] = key("partitioner.class", DEFAULT_PARTITIONER, doc="What makes the path of a record.", group="Partitioner")
    field_names: ListOf = key(
        "partition.field.name", (),
        harmless="names of fields",
        doc="Partitioners by field: fields of the path, nested ones with dots.",
        group="Partitioner",
    )  # fmt: skip
    duration_ms: Annotated[Long, off_or_positive] = key(
        "partition.duration.ms", -1, doc="TimeBasedPartitioner: times are rounded down to multiples of this.",
        group="Partitioner",
    )  # fmt: skip
    path_format: Annotated[String, path_pattern] = key(
        "path.format",
        "",
        harmless="a part of an object's key",
        doc="TimeBasedPartitioner: path by the letters of Joda-Time, such as 'year'=YYYY/'month'=MM/'day'=dd.",
        group="Partitioner",
    )
    locale: String = key(
        "locale", "",
        harmless="a name",
        doc="Counts where path.format has names of months or days, which are English.", importance="low",
        group="Partitioner",
    )  # fmt: skip
    timezone: Annotated[String, timezone_name] = key(
        "timezone",
        "",
        harmless="a time zone",
        doc="IANA time zone of paths and schedules. Empty: UTC.",
        group="Partitioner",
    )
    timestamp_extractor: Annotated[String, one_of("Wallclock", "Record", "RecordField")] = key(
        "timestamp.extractor", "Wallclock", doc="Time of a record: now, Kafka's timestamp, or a field. By Wallclock a "
        "time partitioner gives a record another path when it is read again later, so that a restart can write it "
        "twice; with Record and RecordField each record is written once.", group="Partitioner",
    )  # fmt: skip
    timestamp_field: String = key(
        "timestamp.field", "timestamp", doc="Field of RecordField, nested ones with dots.", group="Partitioner"
    )

    topics_dir: Annotated[String, key_part] = key(
        "topics.dir",
        "topics",
        harmless="a part of an object's key",
        doc="First part of every object key; empty: keys begin with the topic.",
        group="Names",
    )
    directory_delim: Annotated[String, non_empty] = key(
        "directory.delim",
        "/",
        harmless="a part of an object's key",
        doc="Between the directories of a key.",
        group="Names",
    )
    file_delim: Annotated[String, non_empty] = key(
        "file.delim",
        "+",
        harmless="a part of an object's key",
        doc="Between topic, partition and offset in a file name.",
        group="Names",
    )
    offset_pad_width: Annotated[Int, between(0, 99)] = key(
        "filename.offset.zero.pad.width", 10, doc="Digits of the start offset in a file name.", importance="low",
        group="Names",
    )  # fmt: skip

    affix_type: Annotated[String, one_of("NONE", "PREFIX", "SUFFIX", ignore_case=True)] = key(
        "s3.schema.partition.affix.type", "NONE", doc="The name of the values' schema as a directory schema_name=NAME, "
        "before the path or behind it.", importance="low", group="Partitioner",
    )  # fmt: skip

    @property
    def is_time_partitioned(self) -> bool:
        """Return True if paths depend on the time of a record."""
        return self.partitioner_class in TIME_PARTITIONERS

    @property
    def open_bytes_max(self) -> int | None:
        """Return buffer.max.bytes if it has an effect, or None if there is no limit on the bytes of open files."""
        counts = self.conditional_writes or self.exactly_once is False
        return self.buffer_max_bytes if counts and self.buffer_max_bytes != -1 else None

    @property
    def has_wall_clock_rotation(self) -> bool:
        """Return True if the offsets at which files end can depend on the times at which records arrive."""
        reads_clock = self.timestamp_extractor == "Wallclock" and self.rotate_interval_ms > 0
        return reads_clock or self.rotate_schedule_ms > 0 or self.rotate_idle_ms > 0

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Yield the keys that are neither declared nor accepted without effect."""
        return super().unknown_keys(name for name in properties if name not in WITHOUT_EFFECT)

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys of the sink."""
        yield from self._partitioner_problems()
        yield from self._delivery_problems()
        yield from self.format_problems()
        yield from self.iceberg_problems()
        yield from self.bucket_problems()

    def _partitioner_problems(self) -> Iterator[ConfigProblem]:
        name = self.partitioner_class.rpartition(".")[2]
        by_field = {FIELD_PARTITIONER, FIELD_AND_TIME_PARTITIONER}
        if self.partitioner_class in by_field and not all(self.field_names or ("",)):
            yield ConfigProblem("partition.field.name", f"{name} needs partition.field.name.")
        if self.drop_partition_fields and any("." in field for field in self.field_names):
            yield ConfigProblem(
                "partition.field.drop", "Only fields of the topmost struct can be left out, and one of "
                "partition.field.name has a dot.",
            )  # fmt: skip
        if self.partitioner_class not in {TIME_PARTITIONER, FIELD_AND_TIME_PARTITIONER}:
            return
        if self.duration_ms == -1:
            yield ConfigProblem("partition.duration.ms", f"{name} needs partition.duration.ms.")
        if not self.path_format:
            yield ConfigProblem("path.format", f"{name} needs path.format, such as 'year'=YYYY.")
        if PathFormat(self.path_format).has_names and self.locale.lower()[:2] not in {"", "en", "us"}:
            yield ConfigProblem(
                "locale", f"Names of months and days are English only, not {self.locale}; use numbers in path.format."
            )

    def _delivery_problems(self) -> Iterator[ConfigProblem]:
        for weakness in self.weaknesses() if self.exactly_once else ():
            yield ConfigProblem(weakness.key, f"{weakness.message} Or accept duplicates: leave exactly.once out.")

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield settings with which a record can be written twice, or the last records of a topic stay unwritten."""
        yield from self.weaknesses() if self.exactly_once is None else ()
        yield from waiting_records(self)

    def weaknesses(self) -> Iterator[ConfigProblem]:
        """Yield the settings with which a restart can write a record twice, and what to set instead."""
        return weaknesses(self)
