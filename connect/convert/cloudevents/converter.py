"""Converts change events to CloudEvents, as io.debezium.converters.CloudEventsConverter does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import ConfigError, RejectedRowsError, SchemaError
from connect.api.records import Column
from connect.api.schema import Schema
from connect.convert.cloudevents.config import CloudEventsConfig
from connect.convert.cloudevents.events import Origin, attributes_of, data_of, is_change, origins
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig
from connect.convert.plain.header import ColumnHeaderConverter
from connect.convert.registry.transport import without_user

if TYPE_CHECKING:
    from connect.convert.registry.converter import RegistryConverter
from connect.convert.plain.columns import spread

_JSON, _AVRO = "application/json", "application/avro"


def cloud_events(config: CloudEventsConfig, *, is_key: bool = False) -> CloudEventsConverter:
    """Return the converter for these settings."""
    return CloudEventsConverter(config, is_key=is_key)


def cloud_events_header(config: CloudEventsConfig, *, is_key: bool = False) -> ColumnHeaderConverter:
    """Return the header converter for these settings."""
    return ColumnHeaderConverter(cloud_events(config, is_key=is_key))


class CloudEventsConverter:
    """Converts change events to CloudEvents; what is no change event becomes a null, as in Java. One thread owns it."""

    def __init__(self, config: CloudEventsConfig, *, is_key: bool) -> None:
        self._config, self._is_key = config, is_key
        if config.has_avro_data:
            _avro_factory()  # What is missing is told before there are events.
        self._data_json = JsonConverter(config.json_settings)
        self._attributes_json = JsonConverter(JsonConfig.parse({"schemas.enable": "false"}))

    def encode(self, topic: str, column: Column) -> pa.BinaryArray:
        """Return one event per row, null for a null row."""
        if column.schema is None:
            error = SchemaError(
                "The row has no schema, and CloudEvents are made of change events alone.",
                fix="Use the converter with a connector of Debezium's, and JsonConverter for other rows.",
            )
            rows = [row for row, value in enumerate(column.rows()) if value is not None]
            if rows:
                raise RejectedRowsError(dict.fromkeys(rows, error))
        if column.schema is None or not is_change(column.schema):
            return pa.nulls(len(column), pa.binary())
        events = column.arrow()
        present = pc.indices_nonzero(events.is_valid()).to_pylist()
        if not present:
            return pa.nulls(len(column), pa.binary())
        whole = events.drop_null()
        made: list[pa.BinaryArray] = []
        rejected: dict[int, Exception] = {}
        for start, stop, origin in origins(whole):
            try:
                made.append(self._encoded(topic, whole.slice(start, stop - start), column.schema, origin))
            except RejectedRowsError as error:
                rejected |= {present[start + row]: reason for row, reason in error.rows.items()}
        if rejected:
            raise RejectedRowsError(rejected)
        texts = pa.concat_arrays(made)
        return texts if len(present) == len(column) else spread(texts, events.is_valid())

    def decode(self, topic: str, data: pa.BinaryArray) -> Sequence[Column]:
        """Return nulls. Raise RejectedRowsError for all else, as no sink reads CloudEvents here."""
        error = SchemaError(
            f"CloudEvents of topic {topic} are not read here.", fix="Use JsonConverter with schemas.enable=false."
        )
        present = pc.indices_nonzero(data.is_valid()).to_pylist()
        if present:
            raise RejectedRowsError(dict.fromkeys(present, error))
        return [Column.nulls(len(data))]

    @cached_property
    def _avro(self) -> RegistryConverter:
        return _avro_factory()(self._config.avro_settings, is_key=self._is_key)

    def _encoded(self, topic: str, events: pa.StructArray, schema: Schema, origin: Origin) -> pa.BinaryArray:
        data, data_schema = data_of(events, schema, origin)
        column = Column.from_arrow(data, data_schema)
        if not self._config.has_avro_data:
            return self._with_json(events, schema, origin, self._data_json.encode(topic, column))
        is_avro = self._config.is_avro
        # One topic has one schema for its values, which is the whole event's where that is Avro, too.
        written = self._avro.encode(f"{topic}-data" if is_avro else topic, column)
        # Debezium writes the address as it is given; a record must not tell its readers the registry's password.
        registry = without_user(self._config.avro_settings.url[0]).rstrip("/")
        place = f"{registry}/schemas/ids/{int.from_bytes(written[0].as_py()[1:5], 'big')}"
        members = attributes_of(events, schema, origin, _AVRO, place, extensions=self._config.extensions)
        members["data"] = written, s.BYTES
        name = self._config.schema_name or origin.event_schema_name
        whole = _struct(members, name)
        return self._avro.encode(topic, whole) if is_avro else self._attributes_json.encode(topic, whole)

    def _with_json(
        self, events: pa.StructArray, schema: Schema, origin: Origin, data: pa.BinaryArray
    ) -> pa.BinaryArray:
        members = attributes_of(events, schema, origin, _JSON, None, extensions=self._config.extensions)
        told = self._attributes_json.encode("", _struct(members, None))
        opened = pc.binary_slice(told, 0, -1)
        return pc.binary_join_element_wise(opened, b',"data":', data, b"}", b"").cast(pa.binary())


def _avro_factory() -> Callable[..., RegistryConverter]:
    try:
        from connect.convert.avro.converter import avro
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"CloudEvents in Avro need the package {error.name}, which is not installed.", key="data.serializer.type",
            fix="Install it with: pip install 'connect-for-kafka[registry]', or set it to json.",
        ) from error  # fmt: skip
    return avro


def _struct(members: dict[str, tuple[pa.Array, Schema]], name: str | None) -> Column:
    schema = s.struct({member: own for member, (_, own) in members.items()}, name=name)
    kind = arrow_type(schema)
    arrays = [array.cast(field.type) for (array, _), field in zip(members.values(), kind, strict=True)]
    return Column.from_arrow(pa.StructArray.from_arrays(arrays, fields=list(kind)), schema)
