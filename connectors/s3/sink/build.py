"""Builds the parts of an S3 sink's task from its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from connect.api.codec import AvroValues
from connect.api.errors import ConfigProblem
from connect.api.schema import Schema
from connectors.s3.files.commit_each_path import EachPath
from connectors.s3.files.commit_together import CommonRotation
from connectors.s3.files.intake import Intake
from connectors.s3.files.rotation import Rotation, Rules
from connectors.s3.files.schedule import Schedule
from connectors.s3.formats.compatibility import COMPATIBILITIES
from connectors.s3.formats.compression import Compression
from connectors.s3.formats.file_format import Format, Merger
from connectors.s3.formats.format_specs import FORMATS, FormatSettings
from connectors.s3.formats.key_header_files import HeaderSide, KeyHeaderFormat, KeySide, Side, StoredSide
from connectors.s3.formats.shape import Shape
from connectors.s3.paths.layout import Layout
from connectors.s3.paths.partitioners import (
    DefaultPartitioner,
    FieldAndTimePartitioner,
    FieldPartitioner,
    Partitioner,
    SchemaNamePartitioner,
    TimePartitioner,
    TombstonePartitioner,
)
from connectors.s3.paths.path_format import PathFormat
from connectors.s3.paths.timestamps import FieldTime, RecordTime, TimestampExtractor, TombstoneTime, Wallclock
from connectors.s3.settings.bucket_config import BucketConfig
from connectors.s3.settings.classes import (
    DAILY_PARTITIONER,
    DEFAULT_PARTITIONER,
    FIELD_AND_TIME_PARTITIONER,
    FIELD_PARTITIONER,
    FOLDER_STORAGES,
    HOURLY_PARTITIONER,
)
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.bulk_layout import BulkLayout

WritesAvro = Callable[[Schema, Mapping[str, str]], AvroValues]
"""Has the signature of `SinkContext.avro`."""
_HOUR_MS = 3_600_000
_FILE_NAME_BYTES = 255
"""A name of a file or folder may have this many bytes on Linux (NAME_MAX), and on HDFS by default."""


class Plan(Protocol):
    """Holds the parts of a task that are made from a connector's settings."""

    @property
    def bucket(self) -> BucketConfig:
        """Return the settings for access to the bucket, and for metadata and tags of its objects."""

    @property
    def probe_prefix(self) -> str:
        """Return the folder in which a check may create an object."""

    @property
    def schedule(self) -> Schedule:
        """Return the schedule by which the clock ends files."""

    @property
    def open_bytes_max(self) -> int | None:
        """Return the limit on the bytes of open files, at which the largest of them end.

        Return None if there is no limit.
        """

    def intake(self, now_ms: Callable[[], int], avro: WritesAvro) -> Intake:
        """Return the intake that decides how a batch is written, and where."""

    def rotation(self, topic_id: str | None) -> Rotation:
        """Return the rotation by which records end the files of a topic partition."""

    def weaknesses(self) -> Iterator[ConfigProblem]:
        """Yield why a restart can write a record twice, unless that was accepted."""


class ConfluentPlan:
    """Holds a plan that follows Confluent's settings."""

    def __init__(self, config: S3SinkConfig) -> None:
        self._config = config

    @property
    def bucket(self) -> BucketConfig:
        """Return the sink's settings, which include those of the bucket."""
        return self._config

    @property
    def probe_prefix(self) -> str:
        """Return the value of topics.dir."""
        return self._config.topics_dir

    @property
    def schedule(self) -> Schedule:
        """Return the schedule by which the clock ends files."""
        return schedule_of(self._config)

    @property
    def open_bytes_max(self) -> int | None:
        """Return buffer.max.bytes; None if it has no effect."""
        return self._config.open_bytes_max

    def intake(self, now_ms: Callable[[], int], avro: WritesAvro) -> Intake:
        """Return the intake that decides how a batch is written, and where."""
        return intake_of(self._config, now_ms, avro)

    def rotation(self, topic_id: str | None) -> Rotation:
        """Return the rotation by which records end the files of a topic partition."""
        return rotation_of(self._config, topic_id)

    def weaknesses(self) -> Iterator[ConfigProblem]:
        """Yield why a restart can write a record twice, unless that was accepted."""
        yield from self._config.weaknesses() if self._config.exactly_once is None else ()


def intake_of(config: S3SinkConfig, now_ms: Callable[[], int], avro: WritesAvro) -> Intake:
    """Return the intake that decides how a batch is written, and where."""
    settings = format_settings_of(config, avro)
    extractor, beside = extractor_of(config, now_ms), _beside(config, settings)
    values = FORMATS[config.format_class].writer(settings)
    file_format: Format = KeyHeaderFormat(values, beside, config.writes_tombstones) if beside else values
    return Intake(
        format=file_format,
        layout=_layout_of(config, values, beside),
        partitioner=_partitioner_of(config, extractor),
        rotation_times=_rotation_times_of(config, extractor) if config.rotate_interval_ms > 0 else None,
        counts_bytes=config.rotate_size_bytes > 0,
        ignores_nulls=config.null_values.lower() == "ignore",
        shape=_shape_of(config),
    )


def _rotation_times_of(config: S3SinkConfig, extractor: TimestampExtractor) -> TimestampExtractor:
    """Return the extractor of times for rotation. Records without a value have no field, so Kafka's time is theirs."""
    by_field = isinstance(extractor, FieldTime)
    return TombstoneTime(extractor) if by_field and config.writes_tombstones else extractor


def rotation_of(config: S3SinkConfig, topic_id: str | None) -> Rotation:
    """Return the rotation by which records end a topic partition's files, together or each by itself."""
    rules = rules_of(config)
    if topic_id is None or not config.conditional_writes or rules.on_path_change:
        return CommonRotation(rules)
    return EachPath(rules)


def rules_of(config: S3SinkConfig) -> Rules:
    """Return the rules by which records end files."""
    ends_by_time = max(config.rotate_interval_ms, config.rotate_schedule_ms, config.rotate_idle_ms) > 0
    return Rules(
        rows=config.flush_size,
        size_bytes=_or_none(config.rotate_size_bytes),
        interval_ms=_or_none(config.rotate_interval_ms),
        on_path_change=(
            config.rotate_interval_ms > 0 and config.is_time_partitioned and config.rotate_on_partition_change
        ),
        max_paths=_or_none(config.max_open_files),
        ends_slow_files=not ends_by_time,
    )


def schedule_of(config: S3SinkConfig) -> Schedule:
    """Return the schedule by which the clock ends files."""
    return Schedule(_or_none(config.rotate_schedule_ms), _or_none(config.rotate_idle_ms), config.timezone or "UTC")


def _layout_of(config: S3SinkConfig, values: Format, beside: Sequence[StoredSide]) -> Layout:
    """Return the layout that names objects."""
    return Layout(
        config.topics_dir,
        config.directory_delim,
        config.file_delim,
        config.offset_pad_width,
        values.extension,
        (config.tombstone_path, beside[-1].extension) if config.writes_tombstones else None,
        max((stored.extension for stored in beside), key=len, default=""),
        _FILE_NAME_BYTES if config.storage_class in FOLDER_STORAGES else 0,
    )


def bulk_layout_of(config: S3SinkConfig, file_format: Format) -> BulkLayout:
    """Return the layout that names objects of a backfill."""
    return BulkLayout(config.topics_dir, config.directory_delim, file_format.extension)


@dataclass(frozen=True, slots=True)
class MergerPlan:
    """Tells how objects of a configuration are joined: the end of their keys, their media type, and the merger."""

    extension: str
    content_type: str
    merger: Callable[[], Merger]


def merger_plan_of(config: S3SinkConfig) -> MergerPlan:
    """Return the merger, extension and content type that format.class asks for."""
    spec, settings = FORMATS[config.format_class], format_settings_of(config)
    values = spec.writer(settings)
    return MergerPlan(values.extension, values.content_type, lambda: spec.merger(settings))


def _no_values(schema: Schema, properties: Mapping[str, str]) -> AvroValues:  # noqa: ARG001 - as WritesAvro
    raise AssertionError("objects are joined and read without what encodes values")


def format_settings_of(config: S3SinkConfig, avro: WritesAvro = _no_values) -> FormatSettings:
    """Return the settings of formats. Without `avro` they are for reading and joining objects only."""
    return FormatSettings(
        compression=Compression(config.compression_type, config.compression_level),
        parquet_codec=config.parquet_codec,
        avro_codec=config.avro_codec,
        avro_values=lambda schema: avro(schema, config.avro_properties),
        numeric_decimals=config.json_decimal_format.upper() == "NUMERIC",
        bytes_extension=config.bytes_extension,
        bytes_separator=("\n" if config.bytes_separator is None else config.bytes_separator).encode(),
    )


def _or_none(value: int) -> int | None:
    return None if value == -1 else value


def _beside(config: S3SinkConfig, settings: FormatSettings) -> Sequence[StoredSide]:
    """Return the sides that are stored beside values, in the order in which their files are created."""
    keys = [_stored_side(KeySide(), config.keys_format, settings)] if config.store_keys else []
    headers = [_stored_side(HeaderSide(), config.headers_format, settings)] if config.store_headers else []
    return [*keys, *headers]


def _stored_side(side: Side, class_name: str, settings: FormatSettings) -> StoredSide:
    spec = FORMATS[class_name]
    return StoredSide(side, spec.writer(settings), spec.holds_structs_alone)


def _shape_of(config: S3SinkConfig) -> Shape:
    dropped = frozenset(config.field_names) if config.drop_partition_fields else frozenset()
    return Shape(dropped, COMPATIBILITIES[config.schema_compatibility.upper()])


def _partitioner_of(config: S3SinkConfig, extractor: TimestampExtractor) -> Partitioner:
    """Return the partitioner of the configured class, wrapped by those for schema names and records without values."""
    found = _partitioner_of_class(config, extractor)
    if config.affix_type.upper() != "NONE":
        found = SchemaNamePartitioner(found, config.directory_delim, config.affix_type.upper() == "PREFIX")
    return TombstonePartitioner(found, config.tombstone_path) if config.writes_tombstones else found


def _partitioner_of_class(config: S3SinkConfig, extractor: TimestampExtractor) -> Partitioner:
    delimiter, timezone = config.directory_delim, config.timezone or "UTC"
    if config.partitioner_class == DEFAULT_PARTITIONER:
        return DefaultPartitioner()
    if config.partitioner_class == FIELD_PARTITIONER:
        return FieldPartitioner(config.field_names, delimiter)
    day = delimiter.join(("'year'=YYYY", "'month'=MM", "'day'=dd"))
    if config.partitioner_class == HOURLY_PARTITIONER:
        return TimePartitioner(extractor, _HOUR_MS, PathFormat(f"{day}{delimiter}'hour'=HH"), timezone)
    if config.partitioner_class == DAILY_PARTITIONER:
        return TimePartitioner(extractor, 24 * _HOUR_MS, PathFormat(day), timezone)
    # As in Java, a delimiter at the end of the format makes no folder without a name.
    path_format = PathFormat(config.path_format.removesuffix(delimiter))
    by_time = TimePartitioner(extractor, config.duration_ms, path_format, timezone)
    if config.partitioner_class == FIELD_AND_TIME_PARTITIONER:
        return FieldAndTimePartitioner(FieldPartitioner(config.field_names, delimiter), by_time)
    return by_time


def extractor_of(config: S3SinkConfig, now_ms: Callable[[], int]) -> TimestampExtractor:
    """Return the extractor that tells the time of each record."""
    if config.timestamp_extractor == "Wallclock":
        return Wallclock(now_ms)
    return RecordTime() if config.timestamp_extractor == "Record" else FieldTime(config.timestamp_field)
