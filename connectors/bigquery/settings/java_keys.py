"""Lists settings of the Java connector and Aiven's fork that have no effect here, or are refused with an alternative.

Source: BigQuerySinkConfig of confluentinc/kafka-connect-bigquery 2.6 and of Aiven's fork 2.14; and of 1.x.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from connect.api.errors import ConfigProblem

_RETRIES: Final = "What passes is tried again by the framework, with growing waits, for as long as it takes."
_NO_BUCKET: Final = "Load jobs upload their file themselves and need no bucket."
_SCHEMA_RACES: Final = "A change of a schema that meets another one is made again."
WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType({
    "allowSchemaUnionization": "Columns that records lack always stay in the table.",
    "autoCreateBucket": _NO_BUCKET,
    "avroDataCacheSize": "Schemas are compared by value; there is no cache.",
    "bigQueryPartitionDecorator": "Rows without a decorator are of today's partition, as with one by the wall clock.",
    "bigQueryRetry": _RETRIES,
    "bigQueryRetryWait": _RETRIES,
    "concurrentSchemaUpdateMaxRetries": _SCHEMA_RACES,
    "concurrentSchemaUpdateRetryWaitMs": _SCHEMA_RACES,
    "convertDoubleSpecialValues": "NaN and the infinities are written as they are: BigQuery holds them.",
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
"""Keys that are accepted and have no effect, each with the reason."""

_ANY_TOPIC: Final = ".*="
OLD_NAMES: Final[Mapping[str, str]] = MappingProxyType({
    "autoUpdateSchemas": "Its value for allowNewBigQueryFields and allowBigQueryRequiredFieldRelaxation.",
    "datasets": "With .*=NAME as defaultDataset=NAME; one dataset alone is supported.",
    "includeKafkaData": "With true as kafkaDataFieldName=kafkaData.",
})  # fmt: skip
"""Keys of version 1 of the Java connector, each with a sentence on the key that replaces it."""


def with_new_names(properties: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the settings, and those that replace given keys of version 1, unless these are given themselves."""
    found: dict[str, str | None] = {}
    updates = properties.get("autoUpdateSchemas")
    if updates is not None:
        found |= dict.fromkeys(("allowNewBigQueryFields", "allowBigQueryRequiredFieldRelaxation"), updates)
    dataset = (properties.get("datasets") or "").strip()
    if dataset.startswith(_ANY_TOPIC) and "," not in dataset:
        found["defaultDataset"] = dataset.removeprefix(_ANY_TOPIC)
    if (properties.get("includeKafkaData") or "").strip().lower() == "true":
        found["kafkaDataFieldName"] = "kafkaData"
    return {**found, **properties}


_IDENTITY: Final = "com.wepay.kafka.connect.bigquery.retrieve.IdentitySchemaRetriever"
_ONLY: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({
    "bigQueryMessageTimePartitioning": (
        "false",
        (
            "partitions by the time of the record are made by timestampPartitionFieldName, and a field of that time by "
            "the transform InsertField$Value with timestamp.field"
        ),
    ),
    "convertDebeziumVariableScaleDecimal": (
        "false",
        "VariableScaleDecimal is a record of scale and value; Debezium writes others by decimal.handling.mode",
    ),
    "schemaRetriever": (_IDENTITY, "columns follow from the schemas of the records"),
    "topicsToTables": ("", "set topic2TableMap=topic:table, or the transform RegexRouter"),
    "useMessageTimeDatePartitioning": ("false", "set timestampPartitionFieldName"),
})  # fmt: skip
"""Keys with their only supported value, and what to do instead of other values."""
KNOWN: Final = frozenset({*WITHOUT_EFFECT, *OLD_NAMES, *_ONLY})


def notes_of_names(properties: Iterable[str]) -> Iterator[ConfigProblem]:
    """Yield a note on each given key that is an old name, has one supported value, or has no effect."""
    for name in properties:
        if name in WITHOUT_EFFECT:
            yield ConfigProblem(name, f"This key has no effect here. {WITHOUT_EFFECT[name]}")
        elif name in OLD_NAMES:
            yield ConfigProblem(name, f"This name of version 1 goes on working. {OLD_NAMES[name]}")
        elif name in _ONLY:
            yield ConfigProblem(name, f"Its one supported value has no effect: {_ONLY[name][1]}.")


def problems_of(properties: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Yield a problem for each key with a value that is not supported."""
    for name, (supported, why) in _ONLY.items():
        given = properties.get(name, supported).strip()
        if given.lower() not in {supported.lower(), ""}:
            allowed = f"only {supported} is supported" if supported else "it is not supported"
            yield ConfigProblem(name, f"Invalid value {given} for configuration {name}: {allowed}: {why}.")
    datasets = properties.get("datasets", "").strip()
    if datasets and not (datasets.startswith(_ANY_TOPIC) and "," not in datasets):
        yield ConfigProblem(
            "datasets",
            f"Invalid value {datasets} for configuration datasets: one dataset for all topics alone is supported, as "
            "in .*=NAME or defaultDataset=NAME. Run a connector for each dataset.",
        )
