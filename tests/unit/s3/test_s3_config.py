"""Checks the settings: what is refused, with which words; and that the documentation is theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import connectors.s3
from connect.api.config import KeyDefinition
from connect.api.errors import ConfigError
from connect.testing.fakes import FakeSinkContext
from connectors.s3.aiven.config import AivenS3SinkConfig
from connectors.s3.formats.format_specs import AVRO_FORMAT, BYTES_FORMAT, JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.plugin import connect_plugins
from connectors.s3.settings.classes import (
    DAILY_PARTITIONER,
    FIELD_AND_TIME_PARTITIONER,
    FIELD_PARTITIONER,
    TIME_PARTITIONER,
)
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.limits import WITHOUT_EFFECT
from connectors.s3.sink.build import ConfluentPlan, intake_of, rules_of, schedule_of
from connectors.s3.sink.sink import S3SinkTask

README = Path(connectors.s3.__file__).parent / "README.md"
SMALL = {"s3.bucket.name": "b", "format.class": PARQUET_FORMAT, "flush.size": "10"}


def messages(**others: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        S3SinkConfig.parse({**SMALL, **{name.replace("_", "."): value for name, value in others.items()}})
    return [problem.message for problem in raised.value.problems]


def test_the_plug_ins_bear_confluents_and_aivens_names_and_need_no_heavy_import():
    assert [plugin.name for plugin in connect_plugins()][:2] == [
        "io.confluent.connect.s3.S3SinkConnector",
        "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",
    ]
    code = "import sys, connectors.s3.plugin; print([m for m in ('pyarrow', 'polars', 'obstore') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_three_keys_are_required_and_all_are_named_at_once():
    with pytest.raises(ConfigError) as raised:
        S3SinkConfig.parse({})
    assert {p.key for p in raised.value.problems} == {"s3.bucket.name", "format.class", "flush.size"}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("s3_object_tagging_key_value_pairs", "team:a,owner", "Give tags as key:value, not as 'owner'"),
        ("partitioner_class", FIELD_AND_TIME_PARTITIONER, "FieldAndTimeBasedPartitioner needs partition.field.name"),
        ("avro_codec", "lzo", "String must be one of: null, deflate, snappy, bzip2"),
        (
            "schema_compatibility",
            "SOME",
            "String must be one of (case insensitive): NONE, BACKWARD, FORWARD, FULL, MERGE",
        ),
        ("behavior_on_null_values", "write", "set store.kafka.keys=true"),
        ("timezone", "Mars/Olympus", "Not a time zone"),
        ("path_format", "'year=YYYY", "A quote is not closed"),
        ("path_format", "/d" * 600, "It has 1200 characters; at most 1024 are taken"),
        ("topics_dir", "/topics", "Give directories without a / at either end"),
        ("rotate_schedule_interval_ms", "0", "Value must be at least 1, or -1 for off"),
        ("s3_compression_type", "gzip", "is for text and byte files"),
        ("aws_access_key_id", "id", "go together"),
        ("partitioner_class", FIELD_PARTITIONER, "needs partition.field.name"),
    ],
)
def test_what_the_sink_cannot_honour_is_refused_in_words(key, value, message):
    assert any(message in text for text in messages(**{key: value}))


@pytest.mark.parametrize(("locale", "path"), [("de_DE", "YYYY/MM/dd"), ("US", "MMM"), ("en-GB", "EEE"), ("", "MMMM")])
def test_a_locale_counts_only_where_the_path_has_names(locale, path):
    timed = {
        **SMALL, "partitioner.class": TIME_PARTITIONER, "timestamp.extractor": "Record", "path.format": path,
        "partition.duration.ms": "1000",
    }  # fmt: skip
    assert S3SinkConfig.parse({**timed, "locale": locale}).locale == locale
    with pytest.raises(ConfigError, match="Names of months and days are English only, not pt_BR"):
        S3SinkConfig.parse({**timed, "locale": "pt_BR", "path.format": "MMM"})


def test_a_time_partitioner_needs_a_duration_and_a_format():
    assert len(messages(partitioner_class=TIME_PARTITIONER, timestamp_extractor="Record")) == 2


def open_and_close(config: S3SinkConfig) -> None:
    task = S3SinkTask(ConfluentPlan(config))
    task.open(FakeSinkContext())
    task.close()


@pytest.mark.parametrize(
    ("weak", "key", "stronger"),
    [
        (
            {"partitioner.class": DAILY_PARTITIONER},
            "timestamp.extractor",
            "Set timestamp.extractor to Record or RecordField",
        ),
        (
            {"rotate.schedule.interval.ms": "60000", "enable.conditional.writes": "false"},
            "enable.conditional.writes",
            "exactly-once only with enable.conditional.writes=true",
        ),
    ],
)
def test_what_weakens_exactly_once_runs_with_a_word_unless_exactly_once_is_asked_for(weak, key, stronger, caplog):
    config = S3SinkConfig.parse({**SMALL, **weak})
    assert [(problem.key, stronger in problem.message) for problem in config.weaknesses()] == [(key, True)]
    open_and_close(config)
    assert stronger in caplog.text
    with pytest.raises(ConfigError, match=r"leave exactly\.once out") as raised:
        S3SinkConfig.parse({**SMALL, **weak, "exactly.once": "true"})
    assert raised.value.key == key


def test_who_accepts_duplicates_is_not_told_of_them_again(caplog):
    open_and_close(S3SinkConfig.parse({**SMALL, "partitioner.class": DAILY_PARTITIONER, "exactly.once": "false"}))
    assert caplog.text == ""


def test_a_secret_is_in_no_message_and_no_repr():
    with pytest.raises(ConfigError) as raised:
        S3SinkConfig.parse({**SMALL, "aws.secret.access.key": "canary", "s3.sse.customer.key": "canary"})
    assert "canary" not in repr(raised.value) + str(raised.value)
    config = S3SinkConfig.parse({**SMALL, "aws.access.key.id": "id", "aws.secret.access.key": "canary"})
    assert "canary" not in repr(config)


def test_keys_without_effect_are_known_and_are_not_settings():
    assert not set(WITHOUT_EFFECT) & {definition.name for definition in S3SinkConfig.definitions()}
    assert list(S3SinkConfig.unknown_keys(["s3.part.size", "flush.sizes"])) == ["flush.sizes"]


@pytest.mark.parametrize(
    ("others", "extension"),
    [
        ({"parquet.codec": "snappy"}, ".snappy.parquet"),
        ({"parquet.codec": "none"}, ".parquet"),
        ({"parquet.codec": "gzip"}, ".gz.parquet"),
        ({"format.class": JSON_FORMAT, "s3.compression.type": "gzip"}, ".json.gz"),
        ({"format.class": AVRO_FORMAT, "avro.codec": "snappy"}, ".avro"),
        ({"format.class": BYTES_FORMAT, "format.bytearray.extension": ".raw"}, ".raw"),
    ],
)
def test_the_extension_tells_format_and_compression(others, extension):
    config = S3SinkConfig.parse({**SMALL, **others})
    assert intake_of(config, lambda: 0, FakeSinkContext().avro).layout.extension == extension


def test_rules_and_schedule_are_off_unless_asked_for():
    config = S3SinkConfig.parse(SMALL)
    rules, schedule = rules_of(config), schedule_of(config)
    assert (rules.rows, rules.size_bytes, rules.interval_ms, rules.max_paths) == (10, None, None, None)
    assert (schedule.interval_ms, schedule.idle_ms, schedule.timezone) == (None, None, "UTC")


def test_the_readme_has_the_settings_as_they_are_declared():
    assert _between("config") == "\n".join(
        [
            "| Key | Type | Default | What it does |",
            "| --- | --- | --- | --- |",
            *(_row(definition) for definition in S3SinkConfig.definitions() if not definition.internal),
        ]
    )


def test_the_readme_has_aivens_settings_as_they_are_declared():
    rows = (_row(definition) for definition in AivenS3SinkConfig.definitions())
    head = ["| Key | Type | Default | What it does |", "| --- | --- | --- | --- |"]
    assert _between("aiven") == "\n".join([*head, *rows])


def test_the_readme_has_the_keys_without_effect_with_their_reasons():
    rows = (f"| `{name}` | {reason} |" for name, reason in WITHOUT_EFFECT.items())
    assert _between("no-effect") == "\n".join(["| Key | Why it changes nothing |", "| --- | --- |", *rows])


def _between(name: str) -> str:
    text = README.read_text()
    return text.split(f"<!-- {name}:start -->\n")[1].split(f"\n<!-- {name}:end -->")[0]


def _row(definition: KeyDefinition) -> str:
    default = "required" if definition.required else f"`{definition.default}`" if definition.default else ""
    choices = ", ".join(f"`{value}`" for value in definition.recommended_values if value)
    doc = f"{definition.doc} One of {choices}." if len(choices) > 0 else definition.doc
    return f"| `{definition.name}` | {definition.type.lower()} | {default} | {doc} |"


def noted(**more):
    return [(note.key, note.message) for note in S3SinkConfig.parse({**SMALL, "flush.size": "1000", **more}).notes()]


def test_a_sink_whose_tail_waits_for_more_records_says_so():
    ((key, message),) = noted()
    assert key == "flush.size"
    assert message.startswith("The last records of a topic are not in S3 before flush.size=1000 are there or a later")
    assert "Set rotate.schedule.interval.ms or rotate.idle.ms" in message
    assert len(noted(**{"rotate.interval.ms": "60000", "timestamp.extractor": "Record"})) == 1


@pytest.mark.parametrize(
    "more", [{"rotate.schedule.interval.ms": "60000"}, {"rotate.idle.ms": "60000"}, {"flush.size": "1"}]
)
def test_a_sink_whose_tail_is_written_in_time_does_not(more):
    assert "flush.size" not in [key for key, _ in noted(**more)]


def test_what_can_write_twice_is_noted_unless_it_is_accepted():
    daily = {"partitioner.class": DAILY_PARTITIONER}
    assert [key for key, _ in noted(**daily)] == ["timestamp.extractor", "flush.size"]
    assert [key for key, _ in noted(**daily, **{"exactly.once": "false"})] == ["flush.size"]
