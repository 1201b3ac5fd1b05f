"""Declares the built-in transforms and predicates."""

from __future__ import annotations

from connect import __version__
from connect.api.plugin import Plugin, PluginKind, hookimpl

KAFKA_VERSION = "4.1.0"
_PACKAGE = "org.apache.kafka.connect.transforms."
_OWN = "connect.transforms."
"""Modules of factories and settings are named behind it."""
_SIDED: tuple[tuple[str, str, str, str], ...] = (
    ("Cast", "cast.cast", "settings.config:CastConfig", "Changes the type of fields or of the whole."),
    (
        "ExtractField",
        "extract_field",
        "settings.config:ExtractFieldConfig",
        "Replaces the whole with one of its fields.",
    ),
    ("Flatten", "flatten", "settings.config:FlattenConfig", "Lifts nested fields to the top level."),
    ("HeaderFrom", "header_from", "settings.config:HeaderFromConfig", "Moves or copies fields into headers."),
    ("HoistField", "hoist_field", "settings.config:HoistFieldConfig", "Wraps the whole in a field."),
    (
        "InsertField",
        "insert_field",
        "settings.config:InsertFieldConfig",
        "Adds fields with the record's metadata or a fixed text.",
    ),
    ("MaskField", "mask_field", "settings.config:MaskFieldConfig", "Replaces fields with an empty or given value."),
    ("ReplaceField", "replace_field", "settings.config:ReplaceFieldConfig", "Drops and renames fields."),
    (
        "SetSchemaMetadata",
        "set_schema_metadata",
        "settings.config:SetSchemaMetadataConfig",
        "Names and numbers the schema.",
    ),
    (
        "TimestampConverter",
        "time.timestamp_converter",
        "settings.config:TimestampConverterConfig",
        "Changes the form of a timestamp.",
    ),
)
_WHOLE: tuple[tuple[str, str, str, str], ...] = (
    ("DropHeaders", "headers:DropHeaders", "settings.config:DropHeadersConfig", "Removes headers."),
    (
        "Filter",
        "predicates:Filter",
        "settings.config:NoConfig",
        "Drops every record; meant to be used with a predicate.",
    ),
    ("InsertHeader", "headers:InsertHeader", "settings.config:InsertHeaderConfig", "Adds a header."),
    (
        "RegexRouter",
        "routing:RegexRouter",
        "settings.config:RegexRouterConfig",
        "Changes the topic by a regular expression.",
    ),
    (
        "TimestampRouter",
        "routing:TimestampRouter",
        "settings.config:TimestampRouterConfig",
        "Adds the record's time to the topic.",
    ),
    (
        "ValueToKey",
        "value_to_key:ValueToKey",
        "settings.config:ValueToKeyConfig",
        "Makes the key from fields of the value.",
    ),
)
_OURS: tuple[tuple[str, str, str, str], ...] = (
    ("Explode", "explode", "settings.extra_config:ExplodeConfig", "Makes one record of each element of an array."),
    (
        "PythonFunction",
        "code.python_function",
        "settings.extra_config:PythonFunctionConfig",
        "Calls a Python function per row or per batch.",
    ),
    (
        "Redact",
        "redact",
        "settings.extra_config:RedactConfig",
        "Empties, masks or hashes fields by patterns of their names, at any depth.",
    ),
    ("Sql", "code.sql", "settings.extra_config:SqlConfig", "Filters rows and computes columns by DuckDB's SQL."),
)
_COMMON = "com.github.jcustenborder.kafka.connect.transform.common."
_COMMON_SIDED: tuple[tuple[str, str, str, str], ...] = (
    (
        "ExtractTimestamp", "time.extract_timestamp", "settings.transform_common_config:ExtractTimestampConfig",
        "Makes a field the record's time.",
    ),
    (
        "TimestampNowField", "time.timestamp_now_field", "settings.transform_common_config:TimestampNowFieldConfig",
        "Sets fields to the present time of the worker.",
    ),
)  # fmt: skip
_DEBEZIUM: tuple[tuple[str, str, str, str], ...] = (
    (
        "ByLogicalTableRouter", "logical_table_router:ByLogicalTableRouter",
        "settings.debezium_config:ByLogicalTableRouterConfig",
        "Routes the change events of several tables into one topic.",
    ),
    (
        "ExtractChangedRecordState", "changed_record_state:ExtractChangedRecordState",
        "settings.debezium_config:ExtractChangedRecordStateConfig",
        "Names the columns that an update changed in headers.",
    ),
    (
        "HeaderToValue", "header_to_value:HeaderToValue", "settings.debezium_config:HeaderToValueConfig",
        "Puts headers into fields of the value.",
    ),
    (
        "TimezoneConverter", "timezone_converter:TimezoneConverter", "settings.debezium_config:TimezoneConverterConfig",
        "Changes the zone of times in change events.",
    ),
    (
        "partitions.PartitionRouting", "partition_routing:PartitionRouting",
        "settings.debezium_config:PartitionRoutingConfig",
        "Sends change events to the partition that some of their fields tell.",
    ),
    (
        "outbox.EventRouter", "event_router:EventRouter", "settings.outbox_config:EventRouterConfig",
        "Routes rows of an outbox table as the events that they hold.",
    ),
)  # fmt: skip
_CONFLUENT = "io.confluent.connect.transforms."
_CONFLUENT_SIDED: tuple[tuple[str, str, str, str], ...] = (
    (
        "Filter", "confluent.filter", "settings.confluent_config:ConfluentFilterConfig",
        "Keeps or drops the rows in which a JSONPath finds something.",
    ),
)  # fmt: skip
_FURTHER: tuple[tuple[str, str, str, str], ...] = (
    (
        f"{_COMMON}ChangeTopicCase", "routing:ChangeTopicCase",
        "settings.transform_common_config:ChangeTopicCaseConfig",
        "Tells the words of the topic apart in another way, as shop-orders becomes ShopOrders.",
    ),
    (
        "io.debezium.transforms.openlineage.OpenLineage", "debezium.open_lineage:OpenLineage",
        "settings.config:NoConfig",
        "Lets records through as they are, as Debezium's does; no lineage is sent to OpenLineage from here.",
    ),
    (
        f"{_CONFLUENT}MessageTimestampRouter", "confluent.message_timestamp_router:MessageTimestampRouter",
        "settings.confluent_config:MessageTimestampRouterConfig", "Adds the time that a field tells to the topic.",
    ),
    (
        "connect.transforms.Throttle", "throttle:Throttle", "settings.extra_config:ThrottleConfig",
        "Lets no more than so many rows a second through.",
    ),
)  # fmt: skip
_UNWRAP = "io.debezium.transforms.ExtractNewRecordState"
_PREDICATES: tuple[tuple[str, str, str], ...] = (
    ("HasHeaderKey", "settings.config:HasHeaderKeyConfig", "The record has a header of this name."),
    ("RecordIsTombstone", "settings.config:NoConfig", "The record's value is null."),
    ("TopicNameMatches", "settings.config:TopicNameMatchesConfig", "The topic's name matches a regular expression."),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return every transform and predicate: Java's under Java's class names, and those that Java lacks."""
    plugins: list[Plugin] = []
    for name, module, config, doc in _SIDED:
        sides = ("Key", "Value")
        plugins.extend(_transform(f"{name}${side}", f"{module}:{side.lower()}", config, doc) for side in sides)
    plugins.extend(_transform(name, factory, config, doc) for name, factory, config, doc in _WHOLE)
    sided_packages = ((_OWN, _OURS), (_COMMON, _COMMON_SIDED), (_CONFLUENT, _CONFLUENT_SIDED))
    for package, sided in sided_packages:
        for name, module, config, doc in sided:
            for side in ("Key", "Value"):
                target = f"{_OWN}{module}:{side.lower()}"
                plugins.append(
                    Plugin(
                        PluginKind.TRANSFORMATION,
                        f"{package}{name}${side}",
                        target,
                        _OWN + config,
                        __version__,
                        doc,
                    )
                )
    doc = "A Debezium change event becomes the row after the change."
    target = _OWN + "unwrap:Unwrap"
    aliases = (
        "connect.transforms.Unwrap",
        "io.debezium.transforms.UnwrapFromEnvelope",
    )  # This was its name before Debezium 0.10.
    plugins.append(
        Plugin(
            PluginKind.TRANSFORMATION,
            _UNWRAP,
            target,
            _OWN + "settings.extra_config:UnwrapConfig",
            __version__,
            doc,
            aliases,
        )
    )
    for name, factory, config, doc in _DEBEZIUM:
        target, full = f"{_OWN}debezium.{factory}", f"io.debezium.transforms.{name}"
        plugins.append(Plugin(PluginKind.TRANSFORMATION, full, target, _OWN + config, __version__, doc))
    for full, factory, config, doc in _FURTHER:
        target = _OWN + factory
        plugins.append(Plugin(PluginKind.TRANSFORMATION, full, target, _OWN + config, __version__, doc))
    for name, config, doc in _PREDICATES:
        target = f"{_OWN}predicates:{name}"
        full = f"{_PACKAGE}predicates.{name}"
        plugins.append(Plugin(PluginKind.PREDICATE, full, target, _OWN + config, KAFKA_VERSION, doc))
    return plugins


def _transform(name: str, factory: str, config: str, doc: str) -> Plugin:
    target = _OWN + factory
    return Plugin(PluginKind.TRANSFORMATION, _PACKAGE + name, target, _OWN + config, KAFKA_VERSION, doc)
