"""Declares the built-in transforms and predicates."""

from __future__ import annotations

from connect import __version__
from connect.api.plugin import Plugin, PluginKind, hookimpl

KAFKA_VERSION = "4.1.0"
_PACKAGE = "org.apache.kafka.connect.transforms."
_SETTINGS = "connect.transforms.settings."
_SIDED: tuple[tuple[str, str, str, str], ...] = (
    ("Cast", "cast.cast", "config:CastConfig", "Changes the type of fields or of the whole."),
    ("ExtractField", "extract_field", "config:ExtractFieldConfig", "Replaces the whole with one of its fields."),
    ("Flatten", "flatten", "config:FlattenConfig", "Lifts nested fields to the top level."),
    ("HeaderFrom", "header_from", "config:HeaderFromConfig", "Moves or copies fields into headers."),
    ("HoistField", "hoist_field", "config:HoistFieldConfig", "Wraps the whole in a field."),
    (
        "InsertField",
        "insert_field",
        "config:InsertFieldConfig",
        "Adds fields with the record's metadata or a fixed text.",
    ),
    ("MaskField", "mask_field", "config:MaskFieldConfig", "Replaces fields with an empty or given value."),
    ("ReplaceField", "replace_field", "config:ReplaceFieldConfig", "Drops and renames fields."),
    ("SetSchemaMetadata", "set_schema_metadata", "config:SetSchemaMetadataConfig", "Names and numbers the schema."),
    (
        "TimestampConverter",
        "time.timestamp_converter",
        "config:TimestampConverterConfig",
        "Changes the form of a timestamp.",
    ),
)
_WHOLE: tuple[tuple[str, str, str, str], ...] = (
    ("DropHeaders", "headers:DropHeaders", "config:DropHeadersConfig", "Removes headers."),
    ("Filter", "predicates:Filter", "config:NoConfig", "Drops every record; meant to be used with a predicate."),
    ("InsertHeader", "headers:InsertHeader", "config:InsertHeaderConfig", "Adds a header."),
    ("RegexRouter", "routing:RegexRouter", "config:RegexRouterConfig", "Changes the topic by a regular expression."),
    (
        "TimestampRouter",
        "routing:TimestampRouter",
        "config:TimestampRouterConfig",
        "Adds the record's time to the topic.",
    ),
    ("ValueToKey", "value_to_key:ValueToKey", "config:ValueToKeyConfig", "Makes the key from fields of the value."),
)
_OURS: tuple[tuple[str, str, str, str], ...] = (
    ("Explode", "explode", "extra_config:ExplodeConfig", "Makes one record of each element of an array."),
    (
        "PythonFunction",
        "code.python_function",
        "extra_config:PythonFunctionConfig",
        "Calls a Python function per row or per batch.",
    ),
    (
        "Redact",
        "redact",
        "extra_config:RedactConfig",
        "Empties, masks or hashes fields by patterns of their names, at any depth.",
    ),
    ("Sql", "code.sql", "extra_config:SqlConfig", "Filters rows and computes columns by DuckDB's SQL."),
)
_COMMON = "com.github.jcustenborder.kafka.connect.transform.common."
_COMMON_SIDED: tuple[tuple[str, str, str, str], ...] = (
    (
        "ExtractTimestamp", "time.extract_timestamp", "transform_common_config:ExtractTimestampConfig",
        "Makes a field the record's time.",
    ),
    (
        "TimestampNowField", "time.timestamp_now_field", "transform_common_config:TimestampNowFieldConfig",
        "Sets fields to the present time of the worker.",
    ),
)  # fmt: skip
_DEBEZIUM: tuple[tuple[str, str, str, str], ...] = (
    (
        "ByLogicalTableRouter", "logical_table_router:ByLogicalTableRouter",
        "debezium_config:ByLogicalTableRouterConfig",
        "Routes the change events of several tables into one topic.",
    ),
    (
        "ExtractChangedRecordState", "changed_record_state:ExtractChangedRecordState",
        "debezium_config:ExtractChangedRecordStateConfig", "Names the columns that an update changed in headers.",
    ),
    (
        "HeaderToValue", "header_to_value:HeaderToValue", "debezium_config:HeaderToValueConfig",
        "Puts headers into fields of the value.",
    ),
    (
        "TimezoneConverter", "timezone_converter:TimezoneConverter", "debezium_config:TimezoneConverterConfig",
        "Changes the zone of times in change events.",
    ),
    (
        "partitions.PartitionRouting", "partition_routing:PartitionRouting", "debezium_config:PartitionRoutingConfig",
        "Sends change events to the partition that some of their fields tell.",
    ),
    (
        "outbox.EventRouter", "event_router:EventRouter", "outbox_config:EventRouterConfig",
        "Routes rows of an outbox table as the events that they hold.",
    ),
)  # fmt: skip
_CONFLUENT = "io.confluent.connect.transforms."
_CONFLUENT_SIDED: tuple[tuple[str, str, str, str], ...] = (
    (
        "Filter", "confluent.filter", "confluent_config:ConfluentFilterConfig",
        "Keeps or drops the rows in which a JSONPath finds something.",
    ),
)  # fmt: skip
_FURTHER: tuple[tuple[str, str, str, str], ...] = (
    (
        f"{_COMMON}ChangeTopicCase", "routing:ChangeTopicCase", "transform_common_config:ChangeTopicCaseConfig",
        "Tells the words of the topic apart in another way, as shop-orders becomes ShopOrders.",
    ),
    (
        "io.debezium.transforms.openlineage.OpenLineage", "debezium.open_lineage:OpenLineage", "config:NoConfig",
        "Lets records through as they are, as Debezium's does; no lineage is sent to OpenLineage from here.",
    ),
    (
        f"{_CONFLUENT}MessageTimestampRouter", "confluent.message_timestamp_router:MessageTimestampRouter",
        "confluent_config:MessageTimestampRouterConfig", "Adds the time that a field tells to the topic.",
    ),
    (
        "connect.transforms.Throttle", "throttle:Throttle", "extra_config:ThrottleConfig",
        "Lets no more than so many rows a second through.",
    ),
)  # fmt: skip
_UNWRAP = "io.debezium.transforms.ExtractNewRecordState"
_PREDICATES: tuple[tuple[str, str, str], ...] = (
    ("HasHeaderKey", "config:HasHeaderKeyConfig", "The record has a header of this name."),
    ("RecordIsTombstone", "config:NoConfig", "The record's value is null."),
    ("TopicNameMatches", "config:TopicNameMatchesConfig", "The topic's name matches a regular expression."),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return every transform and predicate: Java's under Java's class names, and those that Java lacks."""
    plugins: list[Plugin] = []
    for name, module, config, doc in _SIDED:
        sides = ("Key", "Value")
        plugins.extend(_transform(f"{name}${side}", f"{module}:{side.lower()}", config, doc) for side in sides)
    plugins.extend(_transform(name, factory, config, doc) for name, factory, config, doc in _WHOLE)
    sided_packages = (("connect.transforms.", _OURS), (_COMMON, _COMMON_SIDED), (_CONFLUENT, _CONFLUENT_SIDED))
    for package, sided in sided_packages:
        for name, module, config, doc in sided:
            for side in ("Key", "Value"):
                target = f"connect.transforms.{module}:{side.lower()}"
                plugins.append(
                    Plugin(
                        PluginKind.TRANSFORMATION,
                        f"{package}{name}${side}",
                        target,
                        _SETTINGS + config,
                        __version__,
                        doc,
                    )
                )
    doc = "A Debezium change event becomes the row after the change."
    target = "connect.transforms.unwrap:Unwrap"
    aliases = (
        "connect.transforms.Unwrap",
        "io.debezium.transforms.UnwrapFromEnvelope",
    )  # This was its name before Debezium 0.10.
    plugins.append(
        Plugin(
            PluginKind.TRANSFORMATION,
            _UNWRAP,
            target,
            f"{_SETTINGS}extra_config:UnwrapConfig",
            __version__,
            doc,
            aliases,
        )
    )
    for name, factory, config, doc in _DEBEZIUM:
        target, full = f"connect.transforms.debezium.{factory}", f"io.debezium.transforms.{name}"
        plugins.append(Plugin(PluginKind.TRANSFORMATION, full, target, _SETTINGS + config, __version__, doc))
    for full, factory, config, doc in _FURTHER:
        target = f"connect.transforms.{factory}"
        plugins.append(Plugin(PluginKind.TRANSFORMATION, full, target, _SETTINGS + config, __version__, doc))
    for name, config, doc in _PREDICATES:
        target = f"connect.transforms.predicates:{name}"
        full = f"{_PACKAGE}predicates.{name}"
        plugins.append(Plugin(PluginKind.PREDICATE, full, target, _SETTINGS + config, KAFKA_VERSION, doc))
    return plugins


def _transform(name: str, factory: str, config: str, doc: str) -> Plugin:
    target = f"connect.transforms.{factory}"
    return Plugin(PluginKind.TRANSFORMATION, _PACKAGE + name, target, _SETTINGS + config, KAFKA_VERSION, doc)
