"""Checks the settings of the BigQuery sink: what is accepted, what is refused and with which words."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path as FilePath

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.config import KeyDefinition
from connect.api.errors import ConfigError
from connect.plugins.catalog import Catalog
from connectors.bigquery.dedup.rules import Deletes, Keep, placed
from connectors.bigquery.rows.paths import Path, Root
from connectors.bigquery.rows.table_schema import ColumnType
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.settings.java_keys import OLD_NAMES, WITHOUT_EFFECT

REQUIRED = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", **EVERYWHERE}
README = FilePath(__file__).parents[3] / "connectors" / "bigquery" / "README.md"
KEY = '{"type": "service_account", "private_key": "s3cr3t-key"}'


def parse(**others: str) -> BigQuerySinkConfig:
    """Others: keys with `__` for each dot."""
    return BigQuerySinkConfig.parse({**REQUIRED, **{name.replace("__", "."): value for name, value in others.items()}})


def problems(**others: str) -> dict[str, str]:
    with pytest.raises(ConfigError) as refused:
        parse(**others)
    return {problem.key: problem.message for problem in refused.value.problems}


def test_the_java_classes_are_found():
    for name in ("com.wepay.kafka.connect.bigquery.BigQuerySinkConnector", "BigQuerySinkConnector", "BigQuerySink"):
        assert Catalog.installed().connector(name).config is BigQuerySinkConfig


def test_every_missing_key_is_named_at_once():
    with pytest.raises(ConfigError) as refused:
        BigQuerySinkConfig.parse({})
    assert {problem.key for problem in refused.value.problems} == {"project", "defaultDataset"}


def test_dedup_fields_are_paths_into_value_key_header_and_topic():
    rules = parse(dedup__fields="id, order.id, __key, __key.region, __header.trace.id, __topic").dedup
    assert rules.fields == (
        Path(Root.VALUE, ("id",)), Path(Root.VALUE, ("order", "id")), Path(Root.KEY), Path(Root.KEY, ("region",)),
        Path(Root.HEADER, ("trace.id",)), Path(Root.TOPIC),
    )  # fmt: skip
    assert rules.order_by == (Path(Root.TIMESTAMP),)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ("__keys", "looks like one of __key"),
        ("order..id", "a name between two dots is empty"),
        ("__offset.x", "__offset has no fields"),
        ("__header", "needs the name of a header"),
        ("id,id", "named twice"),
        (",".join(f"f{i}" for i in range(17)), "At most 16"),
    ],
)
def test_what_is_no_path_is_refused(fields, why):
    assert why in problems(dedup__fields=fields)["dedup.fields"]


def test_deletes_are_told_by_a_field_and_its_value():
    rules = parse(dedup__delete="meta.op=d").dedup
    assert (rules.deletes, rules.delete_field, rules.delete_value) == (
        Deletes.FIELD, Path(Root.VALUE, ("meta", "op")), "d"
    )  # fmt: skip
    assert "Give tombstone" in problems(dedup__delete="hard")["dedup.delete"]


def test_rows_of_one_record_that_offsets_take_for_one_are_told():
    explode = {"transforms": "items", "transforms.items.type": "connect.transforms.Explode$Value"}
    fields = {"dedup__fields": "__topic_id,__partition,__offset"}
    by_row = {"dedup__fields": f"{fields['dedup__fields']},__row"}
    assert [note.key for note in parse(**fields, **explode).notes() if "Name __row" in note.message] == ["dedup.fields"]
    for given in (fields, {**by_row, **explode}):
        assert not [note for note in parse(**given).notes() if "Name __row" in note.message]


def test_fields_that_debezium_adds_are_fields_of_the_value():
    rules = parse(dedup__delete="__deleted=true", dedup__order__by="__lsn,__source_ts_ms,__op").dedup
    assert rules.delete_field == Path(Root.VALUE, ("__deleted",))
    assert [path.root for path in rules.order_by] == [Root.VALUE] * 3


@pytest.mark.parametrize("mode", ["merge", "compact", "view"])
def test_a_tombstone_that_takes_the_place_of_a_delete_is_told(mode):
    def told(delete: str) -> str:
        found = parse(dedup__mode=mode, dedup__fields="id", dedup__order__by="lsn", dedup__delete=delete)
        return " ".join(note.message for note in found.notes())

    assert "tombstones.on.delete=false" in told("__deleted=true")
    assert "tombstones.on.delete=false" not in told("tombstone")


def test_the_first_record_is_never_deleted():
    assert parse(dedup__keep="first").dedup.deletes is Deletes.IGNORE
    assert parse(dedup__keep="first").dedup.keep is Keep.FIRST
    assert "dedup.delete=ignore" in problems(dedup__keep="first", dedup__delete="soft")["dedup.delete"]


def test_a_key_is_a_secret_in_every_error():
    broken = {**REQUIRED, "keyfile": KEY, "keySource": "APPLICATION_DEFAULT", "dedup.keep": "none"}
    with pytest.raises(ConfigError) as refused:
        BigQuerySinkConfig.parse(broken)
    assert "s3cr3t" not in repr(BigQuerySinkConfig.validate_keys(broken)) + str(refused.value)
    assert "keyfile" in problems(keyfile=KEY, keySource="APPLICATION_DEFAULT")
    assert "keyfile" in problems(keySource="JSON")


@pytest.mark.parametrize("name", ["bigquery.endpoint", "bigquery.storage.endpoint"])
@pytest.mark.parametrize(
    ("endpoint", "is_googles"),
    [
        ("https://bigquery.googleapis.com", True),
        ("https://bigquery-private.p.googleapis.com/", True),
        ("bigquerystorage.googleapis.com:443", True),
        ("http://bigquery.googleapis.com", False),
        ("https://example.org", False),
        ("https://googleapis.com.example.org", False),
        ("https://bigquery.googleapis.com@example.org", False),
        ("https://example.org/bigquery.googleapis.com", False),
        ("https://example.org\\.googleapis.com", False),
    ],
)
def test_the_workers_own_credentials_go_to_google_alone(name, endpoint, is_googles):
    for own in ({}, {"keySource": "APPLICATION_DEFAULT"}, {"keyfile": "/etc/key.json"}):
        with nullcontext() if is_googles else pytest.raises(ConfigError, match="no address of Google's") as refused:
            parse(**{name: endpoint}, **own)
        assert is_googles or [problem.key for problem in refused.value.problems] == [name]
    assert parse(**{name: endpoint}, keySource="JSON", keyfile=KEY), "the user's own key goes where the user says"


def test_a_topic_has_the_table_of_the_map_or_a_clean_name():
    names = parse(topic2TableMap="a.b:first, c:second table", sanitizeTopics="true").table_names
    assert [names.table(topic) for topic in ("a.b", "c", "d-e.f", "9lives")] == [
        "first", "second table", "d_e_f", "_9lives"
    ]  # fmt: skip
    assert "no topic:table" in problems(topic2TableMap="a.b")["topic2TableMap"]


JAVA_KEYS = """
project defaultDataset keyfile keySource autoCreateTables sanitizeTopics sanitizeFieldNames topic2TableMap
schemaRetriever allowNewBigQueryFields allowBigQueryRequiredFieldRelaxation allowSchemaUnionization
allBQFieldsNullable kafkaKeyFieldName kafkaDataFieldName upsertEnabled deleteEnabled intermediateTableSuffix
mergeIntervalMs mergeRecordsThreshold enableBatchLoad batchLoadIntervalSec gcsBucketName gcsFolderName
autoCreateBucket threadPoolSize queueSize bigQueryRetry bigQueryRetryWait max.retries enableRetries
bigQueryPartitionDecorator bigQueryMessageTimePartitioning timestampPartitionFieldName timePartitioningType
clusteringPartitionFieldNames partitionExpirationMs convertDoubleSpecialValues
convertDebeziumTimestampToInteger avroDataCacheSize runtimeProvider useStorageWriteApi enableBatchMode
commitInterval ignoreUnknownFields useCredentialsProjectId decimalHandlingMode
convertDebeziumVariableScaleDecimal variableScaleDecimalHandlingMode preserveKafkaTopicPartitionOffset
trackPutAttempts mediateConcurrentSchemaUpdates concurrentSchemaUpdateRetryWaitMs
concurrentSchemaUpdateMaxRetries datasets autoUpdateSchemas useMessageTimeDatePartitioning
includeKafkaData topicsToTables
""".split()  # noqa: SIM905 - a list of names reads best as a text


def test_every_key_of_the_java_connectors_is_known():
    assert [*BigQuerySinkConfig.unknown_keys(JAVA_KEYS)] == []
    assert not set(WITHOUT_EFFECT) & {definition.name for definition in BigQuerySinkConfig.definitions()}
    assert [*BigQuerySinkConfig.unknown_keys(["dedup.field"])] == ["dedup.field"]


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("bigQueryMessageTimePartitioning", "true", "timestampPartitionFieldName"),
        ("convertDebeziumVariableScaleDecimal", "true", "decimal.handling.mode"),
        ("schemaRetriever", "com.example.Mine", "schemas of the records"),
        ("useMessageTimeDatePartitioning", "true", "timestampPartitionFieldName"),
        ("topicsToTables", "kafka-(.*)=$1", "topic2TableMap"),
        ("datasets", "a.*=first,b.*=second", "Run a connector for each dataset"),
        ("decimalHandlingMode", "RECORD", "NUMERIC"),
    ],
)
def test_what_is_refused_is_refused_by_name_with_what_to_set_instead(name, value, instead):
    assert instead in problems(**{name: value})[name]


def test_what_is_refused_is_named_beside_every_other_broken_key():
    found = problems(schemaRetriever="com.example.Mine", topicsToTables="a=b", decimalHandlingMode="RECORD")
    assert set(found) == {"schemaRetriever", "topicsToTables", "decimalHandlingMode"}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("kafkaKeyFieldName", "", "the column in which a tombstone finds the rows of its key"),
        ("dedup.keep", "first", "each record is a row"),
        ("dedup.delete", "soft", "each record is a row"),
        ("dedup.tombstone.retention.ms", "0", "leave it out"),
        ("dedup.order.by", "version", "no fields of the value"),
    ],
)
def test_deletes_without_upserts_run_as_in_java_but_for_what_they_cannot_rest_on(name, value, why):
    given = {"dedup__fields": "", "deleteEnabled": "true", "kafkaKeyFieldName": "k"}
    settings = parse(**given, mergeIntervalMs="5000")
    assert (settings.interval_ms, settings.dedup.fields) == (5000, (Path(Root.KEY),))
    assert "as many rows as it had values" in {n.key: n.message for n in settings.notes()}["deleteEnabled"]
    assert why in problems(**{**given, name: value})[name]


def test_names_of_version_1_stand_for_those_of_today():
    old = {"project": "p", "datasets": ".*=shop", "autoUpdateSchemas": "true", "includeKafkaData": "true"}
    settings = BigQuerySinkConfig.parse(old)
    assert (settings.dataset, settings.coordinates_column) == ("shop", "kafkaData")
    assert (settings.allow_new_fields, settings.allow_relaxation) == (True, True)
    given = BigQuerySinkConfig.parse({**old, "defaultDataset": "own", "allowNewBigQueryFields": "false"})
    assert (given.dataset, given.allow_new_fields, given.allow_relaxation) == ("own", False, True)
    assert not [value for value in BigQuerySinkConfig.validate_keys(old) if value.errors]


def test_keys_of_java_that_are_not_declared_say_what_becomes_of_them():
    given = {
        **EVERYWHERE, "project": "p", "datasets": ".*=d", "keyfile": "/key.json", "topics": "a", "queueSize": "10",
        "autoUpdateSchemas": "true",
        "schemaRetriever": "com.wepay.kafka.connect.bigquery.retrieve.IdentitySchemaRetriever",
    }  # fmt: skip
    told = {note.key: note.message for note in BigQuerySinkConfig.parse(given).notes()}
    assert told["queueSize"] == "This key has no effect here. What waits is bounded by buffer.max.bytes."
    assert told["autoUpdateSchemas"].startswith("This name of version 1 goes on working. Its value for allowNew")
    assert told["datasets"].startswith("This name of version 1 goes on working.")
    assert "columns follow from the schemas of the records" in told["schemaRetriever"]


def test_a_configuration_of_the_java_connector_runs_as_it_stands():
    given = {
        **EVERYWHERE, "project": "p", "defaultDataset": "d", "keyfile": "/key.json", "autoCreateTables": "true",
        "topics": "a", "bigQueryPartitionDecorator": "true", "queueSize": "10", "bigQueryRetry": "3",
        "sanitizeTopics": "true",
        "schemaRetriever": "com.wepay.kafka.connect.bigquery.retrieve.IdentitySchemaRetriever",
    }  # fmt: skip
    plain = BigQuerySinkConfig.parse(given)
    assert not plain.mode.merges_rows
    assert [str(path) for path in plain.mode.insert_id] == ["__topic", "__partition", "__offset", "__topic_id"]
    upserts = BigQuerySinkConfig.parse({**given, "upsertEnabled": "true", "kafkaKeyFieldName": "k",
                                        "mergeIntervalMs": "-1", "mergeRecordsThreshold": "7"})  # fmt: skip
    rules = upserts.dedup
    assert (str(rules.fields[0]), str(rules.order_by[0]), rules.deletes) == ("__key", "__timestamp", Deletes.IGNORE)
    assert (upserts.max_records, upserts.interval_ms >= 86_400_000) == (7, True)


@pytest.mark.parametrize("mode", ["none", "insert_id"])
def test_where_records_are_added_tombstones_are_refused_or_left_out_and_delete_nothing(mode):
    assert parse(dedup__mode=mode).dedup.deletes is Deletes.REFUSE
    assert parse(dedup__mode=mode, dedup__delete="ignore").dedup.deletes is Deletes.IGNORE
    assert "Set dedup.delete=ignore" in problems(dedup__mode=mode, dedup__delete="soft")["dedup.delete"]


def test_a_window_needs_a_column_that_says_which_partition():
    assert "timestampPartitionFieldName" in problems(dedup__window="3d")["dedup.window"]
    assert "dedup.window" in problems(dedup__late="drop")["dedup.late"]


@pytest.mark.parametrize("mode", ["compact", "view"])
def test_a_table_with_the_name_of_anothers_view_is_told(mode):
    """Task and view would take the name from each other for ever."""
    given = {"dedup__mode": mode, "topics": "o, o_latest, other"}
    assert "topic o is o_latest, which is the table of topic o_latest" in problems(**given)["dedup.view.suffix"]
    assert parse(**given, dedup__view__suffix="_now").view_suffix == "_now"
    assert parse(**given, topic2TableMap="o:orders").table_names.table("o") == "orders"
    assert parse(**{**given, "dedup__mode": "merge"}).named_topics == ("o", "o_latest", "other")


def test_auto_says_that_it_does_not_choose_compact_where_the_view_has_no_name():
    def noted(**given: str) -> str:
        return " ".join(note.message for note in parse(**given).notes() if note.key == "dedup.view.suffix")

    told = noted(topics="o, o_latest")
    assert "topic o is o_latest, which is the table of topic o_latest" in told
    assert "dedup.mode=auto does not choose compact" in told
    assert noted(topics="o, o_latest", dedup__view__suffix="_now") == noted(topics="o, p") == ""


@pytest.mark.parametrize("beside", ["_o_log", "_o_merges", "_o_deletes", "_o_cleared"])
def test_a_topic_with_the_name_of_a_table_beside_anothers_is_noted(beside):
    (note,) = (note for note in parse(topics=f"o, {beside}").notes() if note.key == "topic2TableMap")
    assert f"{beside} is where the sink keeps notes or rows of topic o" in note.message
    assert "topic2TableMap" not in {note.key for note in parse(topics="o, p_log, _p_log").notes()}


def test_types_and_labels_of_new_tables():
    given = parse(table__column__types="a.b:json, at:DATETIME", table__labels="team:shop,stage:")
    assert given.type_rules.chosen == {"a.b": ColumnType.JSON, "at": ColumnType.DATETIME}
    assert given.table_labels == {"team": "shop", "stage": ""}
    assert "a type of" in problems(table__column__types="at:RECORD")["table.column.types"]
    assert "lower-case" in problems(table__labels="Team:shop")["table.labels"]


def test_exactly_once_is_a_way_of_its_own():
    assert parse(exactly__once="true").mode.merges_rows, "one row per key is each record once, too"
    assert "dedup.mode=merge" in problems(exactly__once="true", dedup__mode="insert_id")["exactly.once"]
    loads = problems(exactly__once="true", enableBatchMode="true", dedup__fields="")
    assert "dedup.fields=__topic_id,__partition,__offset" in loads["exactly.once"]
    rules = parse(exactly__once="true", dedup__fields="").dedup
    assert [p.column for p in placed(rules, parse().field_names, None).order] == [
        "_kafka_partition", "_kafka_offset", "_kafka_topic", "_kafka_topic_id"
    ]  # fmt: skip


def test_what_a_configuration_weakens_is_noted_with_the_key_that_helps():
    def notes(**others: str) -> dict[str, str]:
        return {note.key: note.message for note in parse(**others).notes()}

    assert "exactly.once=true" in notes(dedup__fields="")["exactly.once"]
    assert notes(dedup__fields="", exactly__once="true") == {}
    assert "about a minute" in notes(dedup__mode="insert_id")["dedup.mode"]
    assert "dedup.keep=first" in notes()["dedup.window"]
    assert notes(dedup__window="3d", timestampPartitionFieldName="at") == {}
    assert notes(dedup__mode="view") == notes(dedup__mode="cdc") == notes(dedup__keep="first") == {}


@pytest.mark.parametrize(
    ("others", "is_noted"),
    [
        ({}, True),
        ({"dedup__delete": "gone=true"}, True),
        ({"dedup__delete": "soft"}, False),
        ({"dedup__delete": "soft", "dedup__order__by": "version"}, True),
        ({"dedup__delete": "ignore"}, False),
        ({"dedup__keep": "first"}, False),
        ({"dedup__mode": "view"}, False),
    ],
)
def test_deletes_that_are_not_remembered_are_noted_where_a_late_merge_could_undo_them(others, is_noted):
    told = {note.key: note.message for note in parse(dedup__tombstone__retention__ms="0", **others).notes()}
    assert ("brings the row back" in told.get("dedup.tombstone.retention.ms", "")) is is_noted
    assert "dedup.tombstone.retention.ms" not in {note.key for note in parse(**others).notes()}


def test_the_readme_has_the_settings_as_they_are_declared():
    assert _between("config") == "\n".join(
        [
            "| Key | Type | Default | What it does |",
            "| --- | --- | --- | --- |",
            *(_row(definition) for definition in BigQuerySinkConfig.definitions() if not definition.internal),
        ]
    )


def test_the_readme_has_the_keys_without_effect_with_their_reasons():
    rows = (f"| `{name}` | {reason} |" for name, reason in WITHOUT_EFFECT.items())
    assert _between("no-effect") == "\n".join(["| Key | Why it changes nothing |", "| --- | --- |", *rows])


def test_the_readme_has_the_names_of_version_1_with_what_they_stand_for():
    rows = (f"| `{name}` | {meaning} |" for name, meaning in OLD_NAMES.items())
    assert _between("old-names") == "\n".join(["| Key | What it stands for |", "| --- | --- |", *rows])


def _between(name: str) -> str:
    return README.read_text().split(f"<!-- {name}:start -->\n")[1].split(f"\n<!-- {name}:end -->")[0]


def _row(definition: KeyDefinition) -> str:
    default = "required" if definition.required else f"`{definition.default}`" if definition.default else ""
    choices = ", ".join(f"`{value}`" for value in definition.recommended_values if value)
    doc = f"{definition.doc} One of {choices}." if len(choices) > 0 else definition.doc
    return f"| `{definition.name}` | {definition.type.lower()} | {default} | {doc} |"


@pytest.mark.parametrize("mode", ["none", "insert_id"])
def test_a_mode_that_deletes_nothing_says_so_of_delete_enabled(mode):
    given = {"deleteEnabled": "true", "kafkaKeyFieldName": "k", "dedup.mode": mode, "dedup.fields": "key"}
    told = {note.key: note.message for note in parse(**given).notes()}
    assert f"deleteEnabled has no effect with dedup.mode={mode}" in told["deleteEnabled"]
    assert "deleteEnabled" not in {note.key for note in parse(**given | {"deleteEnabled": "false"}).notes()}
