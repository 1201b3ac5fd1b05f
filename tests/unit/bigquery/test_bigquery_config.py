"""The settings of the BigQuery sink: what is accepted, what is refused and with which words."""

from __future__ import annotations

import pytest

from connect.api.errors import ConfigError
from connect.plugins import Catalog
from connectors.bigquery.config import BigQuerySinkConfig
from connectors.bigquery.dedup import Deletes, Keep
from connectors.bigquery.paths import Path, Root

REQUIRED = {"project": "p", "defaultDataset": "d", "dedup.fields": "id"}
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


def test_fields_are_paths():
    rules = parse(dedup__fields="id, order.id, __key, __key.region, __header.trace.id, __topic").dedup
    assert rules.fields == (
        Path(Root.VALUE, ("id",)), Path(Root.VALUE, ("order", "id")), Path(Root.KEY), Path(Root.KEY, ("region",)),
        Path(Root.HEADER, ("trace.id",)), Path(Root.TOPIC),
    )  # fmt: skip
    assert rules.order_by == (Path(Root.TIMESTAMP),)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ("__keys", "what begins with __ is one of __key"),
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


def test_tables_of_topics():
    names = parse(topic2TableMap="a.b:first, c:second table", sanitizeTopics="true").table_names
    assert [names.table(topic) for topic in ("a.b", "c", "d-e.f", "9lives")] == [
        "first", "second table", "d_e_f", "_9lives"
    ]  # fmt: skip
    assert "no topic:table" in problems(topic2TableMap="a.b")["topic2TableMap"]
