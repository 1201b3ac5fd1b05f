"""Holds the plan of Aiven's sink: object names and record forms are Aiven's, and all else is as in the S3 sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from connect.api.errors import ConfigProblem
from connectors.s3.aiven.file_config import AivenFileConfig
from connectors.s3.aiven.template import TemplateLayout, TemplatePartitioner
from connectors.s3.files.intake import Intake
from connectors.s3.files.rotation import Rotation
from connectors.s3.files.schedule import Schedule
from connectors.s3.formats.compression import Compression
from connectors.s3.formats.format_specs import Envelope
from connectors.s3.settings.bucket_config import BucketConfig
from connectors.s3.sink.build import ConfluentPlan, WritesAvro, extractor_of, format_settings_of


class AivenPlan:
    """Ends files when offsets are committed, or when they have file.max.records rows."""

    def __init__(self, config: AivenFileConfig) -> None:
        self._config = config
        self._settings = config.settings()
        self._base = ConfluentPlan(self._settings)

    @property
    def bucket(self) -> BucketConfig:
        """Return the settings for access to the bucket."""
        return self._settings

    @property
    def probe_prefix(self) -> str:
        """Return an empty prefix, as the names of objects need not have a common folder."""
        return ""

    @property
    def open_bytes_max(self) -> int | None:
        """Return the limit of bytes in open files that this sink's own settings give."""
        return self._base.open_bytes_max

    @property
    def schedule(self) -> Schedule:
        """Return the schedule by which each commit ends all files."""
        return Schedule(None, None, self._settings.timezone or "UTC", each_flush=True)

    def intake(self, now_ms: Callable[[], int], avro: WritesAvro) -> Intake:
        """Return the intake that decides how a batch is written, and where."""
        config = self._config
        base, template = self._base.intake(now_ms, avro), config.parsed_template
        is_base64, compression = config.value_encoding.lower() == "base64", Compression(config.compression.lower())
        envelope = Envelope(config.fields, config.envelope, is_base64, compression)
        file_format = config.format_spec.aiven_writer(envelope, format_settings_of(self._settings, avro))
        zone, extractor = self._settings.timezone or "UTC", extractor_of(self._settings, now_ms)
        return replace(
            base,
            format=file_format,
            layout=TemplateLayout("", "/", "-", template.offset_digits, ""),
            partitioner=TemplatePartitioner(template, self._config.name_prefix, extractor, zone),
        )

    def rotation(self, topic_id: str | None) -> Rotation:
        """Return the rotation that ends files by file.max.records alone."""
        return self._base.rotation(topic_id)

    def weaknesses(self) -> Iterator[ConfigProblem]:
        """Yield the settings with which a record can be written twice."""
        yield from self._config.notes()
