"""Declares the settings of the CloudEvents converter. Source: CloudEventsConverterConfig of Debezium 3.7. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final

from pydantic import AfterValidator

from connect.api.config import Boolean, Config, String, key, one_of
from connect.api.errors import ConfigError, ConfigProblem
from connect.convert.avro.config import AvroConfig
from connect.convert.plain.config import JsonConfig

JSON: Final = "json."
AVRO: Final = "avro."
_METADATA: Final = "value,id:generate,type:generate,traceparent:header,dataSchemaName:generate"


def _metadata(given: str) -> str:
    if given != _METADATA:
        raise ValueError(f"only {_METADATA} is supported: attributes are made of the event")
    return given


class CloudEventsConfig(Config):
    """Says in which form the events and the data in them are written."""

    families = (JSON, AVRO)
    form: Annotated[String, one_of("json", "avro", ignore_case=True)] = key(
        "serializer.type", "json", doc="The form of the whole event: json or avro.", importance="high"
    )
    data_form: Annotated[String, one_of("json", "avro", ignore_case=True)] = key(
        "data.serializer.type", "json", importance="high",
        doc="The form of the data in it: json or avro. json.* and avro.* are settings of both converters.",
    )  # fmt: skip
    extensions: Boolean = key(
        "extension.attributes.enable", True, importance="low",
        doc="Write where the change came from as attributes iodebezium…, too.",
    )  # fmt: skip
    schema_name: String = key(
        "schema.cloudevents.name", "", importance="low", harmless="the name of a schema",
        doc="The name of the schema of events in Avro; empty: made of server and database.",
    )  # fmt: skip
    metadata: Annotated[String, AfterValidator(_metadata)] = key(
        "metadata.source", _METADATA, importance="low", doc="Where attributes come from: only the default is supported."
    )

    @property
    def is_avro(self) -> bool:
        """Tell if the whole event is Avro."""
        return self.form.lower() == "avro"

    @property
    def has_avro_data(self) -> bool:
        """Tell if the data in the event is Avro."""
        return self.data_form.lower() == "avro"

    @property
    def json_settings(self) -> JsonConfig:
        """Return the settings of json.*."""
        return JsonConfig.parse(self._part(JsonConfig, JSON))

    @property
    def avro_settings(self) -> AvroConfig:
        """Return the settings of avro.*. ConfigError: one is missing or wrong."""
        return AvroConfig.parse(self._part(AvroConfig, AVRO))

    def _part(self, kind: type[Config], prefix: str) -> dict[str, str]:
        """Return the settings behind a prefix, with the permissions of the worker's file, and none of their own."""
        return kind.with_leave(self.with_prefix(prefix), self._leave)

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield the problems of both converters' settings, and of forms that do not go together."""
        if self.is_avro and not self.has_avro_data:
            yield ConfigProblem(
                "data.serializer.type",
                "serializer.type=avro needs data.serializer.type=avro: no event of Avro has JSON.",
            )
        yield from self._problems_of(JsonConfig, JSON)
        if self.has_avro_data:
            yield from self._problems_of(AvroConfig, AVRO)

    def _problems_of(self, kind: type[Config], prefix: str) -> Iterator[ConfigProblem]:
        try:
            kind.parse(self._part(kind, prefix))
        except ConfigError as error:
            yield from (
                ConfigProblem(f"{prefix}{found.key}", found.message.replace(found.key, f"{prefix}{found.key}"))
                for found in error.problems
            )
