"""Settings of the Java connector and of Aiven's fork that change nothing here, or are refused with what to set instead.

Source: BigQuerySinkConfig of confluentinc/kafka-connect-bigquery 2.6 and of Aiven's fork 2.14; and of 1.x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from connect.api.errors import ConfigProblem

_RETRIES: Final = "What passes is tried again by the framework, with growing waits, for as long as it takes."
_NO_BUCKET: Final = "Load jobs upload their file themselves and need no bucket."
_SCHEMA_RACES: Final = "A change of a schema that meets another one is made again."
WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType({
    "allowSchemaUnionization": "Columns that records lack always stay in the table.",
    "autoCreateBucket": _NO_BUCKET,
    "autoUpdateSchemas": "A name of version 1: set allowNewBigQueryFields and allowBigQueryRequiredFieldRelaxation.",
    "avroDataCacheSize": "Schemas are compared by value; there is no cache.",
    "bigQueryPartitionDecorator": "Rows without a decorator are of today's partition, as with one by the wall clock.",
    "bigQueryRetry": _RETRIES,
    "bigQueryRetryWait": _RETRIES,
    "concurrentSchemaUpdateMaxRetries": _SCHEMA_RACES,
    "concurrentSchemaUpdateRetryWaitMs": _SCHEMA_RACES,
    "convertDoubleSpecialValues": "NaN and the infinities are written as they are: BigQuery holds them.",
    "datasets": "A name of version 1: set defaultDataset.",
    "enableRetries": _RETRIES,
    "gcsBucketName": _NO_BUCKET,
    "gcsFolderName": _NO_BUCKET,
    "max.retries": _RETRIES,
    "mediateConcurrentSchemaUpdates": _SCHEMA_RACES,
    "preserveKafkaTopicPartitionOffset": "Coordinates are always those that the record had before transforms.",
    "queueSize": "What waits is bounded by buffer.max.bytes.",
    "runtimeProvider": "It only named the program to Google.",
    "trackPutAttempts": "A row that is put again has the same coordinates; dedup.fields keeps one of them.",
    "variableScaleDecimalHandlingMode": "Debezium's VariableScaleDecimal is a record of scale and value.",
})  # fmt: skip
"""Keys that are accepted and change nothing, each with the reason."""

_IDENTITY: Final = "com.wepay.kafka.connect.bigquery.retrieve.IdentitySchemaRetriever"
_ONLY: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({
    "bigQueryMessageTimePartitioning": (
        "false",
        "partitions by the time of the record are made by timestampPartitionFieldName, and a field of that time by the "  # noqa: ISC004
        "transform InsertField$Value with timestamp.field",
    ),
    "convertDebeziumVariableScaleDecimal": (
        "false",
        "VariableScaleDecimal is a record of scale and value; Debezium writes others by decimal.handling.mode",
    ),
    "schemaRetriever": (_IDENTITY, "columns follow from the schemas of the records"),
    "useMessageTimeDatePartitioning": ("false", "set timestampPartitionFieldName"),
})  # fmt: skip
"""Keys of which one value alone is supported, and what to do instead of others."""
KNOWN: Final = frozenset({*WITHOUT_EFFECT, *_ONLY})


def problems_of(properties: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Keys that are given a value which is not supported."""
    for name, (supported, why) in _ONLY.items():
        given = properties.get(name, supported).strip()
        if given.lower() not in {supported.lower(), ""}:
            message = f"Invalid value {given} for configuration {name}: only {supported} is supported: {why}."
            yield ConfigProblem(name, message)
