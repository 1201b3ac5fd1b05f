"""Declares the settings for files and their records that all of Aiven's sinks for stores have. Values only.

Source of names and defaults: the fragments of commons in Aiven's cloud-storage-connectors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator

from connect.api.config import Boolean, ConnectorConfig, Int, ListOf, String, at_least, key, one_of
from connect.api.errors import ConfigProblem
from connectors.s3.aiven.template import Template
from connectors.s3.formats.compression import Compression
from connectors.s3.formats.format_specs import FormatSpec, aiven_formats
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.limits import timezone_name

FIELDS: Final = ("key", "value", "offset", "timestamp", "headers")
_ROWS_MAX: Final = 2**31 - 1


def _check_template(value: str) -> str:
    if value:
        Template.of(value)
    return value


class AivenFileConfig(ConnectorConfig):
    """Holds the settings of files, which are the same for every store."""

    without_effect: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """These keys change nothing here; each has the reason."""

    name_prefix: String = key(
        "file.name.prefix", "", harmless="a part of an object's key", doc="What all names begin with.", group="File"
    )
    template: Annotated[String, AfterValidator(_check_template)] = key(
        "file.name.template", "",
        harmless="a part of an object's key",
        doc="Names of objects: {{topic}}, {{partition}}, {{start_offset}} (padding=true), "
        "{{timestamp:unit=yyyy}} (MM, dd, HH). Empty: topic-partition-offset and the ending of the compression.",
        group="File",
    )  # fmt: skip
    compression: Annotated[String, one_of("none", "gzip", "snappy", "zstd", ignore_case=True)] = key(
        "file.compression.type", "gzip", doc="Compression of files; inside those of Avro and Parquet.", group="File"
    )
    max_records: Annotated[Int, at_least(0)] = key(
        "file.max.records", 0, doc="Records after which a file ends; 0: only when offsets are committed.", group="File"
    )
    timezone: Annotated[String, timezone_name] = key(
        "file.name.timestamp.timezone", "UTC", harmless="a time zone", doc="Time zone of times in names.", group="File"
    )
    timestamp_source: Annotated[String, one_of("wallclock", "event", ignore_case=True)] = key(
        "file.name.timestamp.source", "wallclock", doc="Time in names: now, or that of Kafka's record. By wallclock a "
        "restart can write a record twice, below another name.", group="File",
    )  # fmt: skip
    output_type: Annotated[String, one_of(*aiven_formats(), ignore_case=True)] = key(
        "format.output.type", "csv", doc="Format of the objects.", group="Format"
    )
    fields: Annotated[ListOf, one_of(*FIELDS)] = key(
        "format.output.fields", ("value",), doc="Parts of each record that are written.", group="Format"
    )
    value_encoding: Annotated[String, one_of("none", "base64", ignore_case=True)] = key(
        "format.output.fields.value.encoding", "base64", doc="csv: how values are written.", group="Format"
    )
    envelope: Boolean = key(
        "format.output.envelope", True, doc="json, jsonl, avro, parquet: records are structs of these parts; false: "
        "the only part itself.", group="Format",
    )  # fmt: skip

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Return the keys that are neither declared nor without effect."""
        return super().unknown_keys(name for name in properties if name not in cls.without_effect)

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys."""
        if not self.envelope and len(self.fields) != 1:
            yield ConfigProblem(
                "format.output.envelope", "format.output.envelope=false needs one format.output.fields."
            )

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield the settings with which a record can be written twice."""
        if self.parsed_template.reads_time and self.timestamp_source.lower() == "wallclock":
            yield ConfigProblem(
                "file.name.timestamp.source",
                "file.name.timestamp.source=wallclock gives a record another file name when it is read again later, so "
                "that a restart can write it twice. Set file.name.timestamp.source=event.",
            )

    @property
    def default_names(self) -> str:
        """Return the template that counts if none is given, without extensions."""
        return "{{topic}}-{{partition}}-{{start_offset}}"

    @property
    def parsed_template(self) -> Template:
        """Return the template of the names of objects, with their extensions."""
        if self.template:
            return Template.of(self.template)
        ending = self.format_spec.aiven_ending + Compression(self.compression.lower()).extension
        return Template.of(self.default_names + ending)

    @property
    def format_spec(self) -> FormatSpec:
        """Return the format of the objects."""
        return aiven_formats()[self.output_type.lower()]

    @abstractmethod
    def settings(self) -> S3SinkConfig:
        """Return the settings of this sink that do the same, if it has such settings."""

    def file_settings(self) -> dict[str, str]:
        """Return those of these settings that are for files."""
        return {
            "format.class": self.format_spec.class_name,
            **self.format_spec.aiven_settings(self.compression.lower()),
            "flush.size": str(self.max_records or _ROWS_MAX), "timezone": self.timezone,
            "timestamp.extractor": "Wallclock" if self.timestamp_source.lower() == "wallclock" else "Record",
        }  # fmt: skip
