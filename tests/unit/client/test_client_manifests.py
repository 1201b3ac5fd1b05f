"""Reads files of connectors in every form that people have them in."""

from __future__ import annotations

import json

import pytest

from connect.api.errors import ConfigError
from connect.client.manifests import Manifest, read_manifests, read_usable

STRIMZI = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata:
  name: orders
  labels: {strimzi.io/cluster: my-connect}
spec:
  class: io.confluent.connect.jdbc.JdbcSourceConnector
  tasksMax: 2
  state: paused
  autoRestart: {enabled: true}
  config:
    mode: bulk
    batch.max.rows: 100
    numeric.precision.mapping: false
    table.whitelist: [a, b]
---
kind: KafkaConnector
metadata: {name: old}
spec: {class: X, pause: true, config: {}}
"""


def test_a_file_as_it_is_posted_and_one_of_keys_alone_mean_the_same(tmp_path):
    posted, keys, properties = tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.properties"
    posted.write_text(json.dumps({"name": "n", "config": {"connector.class": "X", "tasks.max": 3}}))
    keys.write_text(json.dumps({"name": "n", "connector.class": "X", "tasks.max": "3"}))
    properties.write_text("name=n\nconnector.class=X\ntasks.max=3\n")
    assert read_manifests([posted]) == [Manifest("n", {"connector.class": "X", "tasks.max": "3"}, str(posted))]
    for file in (keys, properties):
        (manifest,) = read_manifests([file])
        assert (manifest.name, manifest.config["tasks.max"], manifest.config["connector.class"]) == ("n", "3", "X")


def test_strimzis_connectors_are_taken_with_their_states(tmp_path):
    file = tmp_path / "strimzi.yaml"
    file.write_text(STRIMZI)
    old, orders = read_manifests([tmp_path])
    assert (old.name, old.state) == ("old", "PAUSED")
    assert orders == Manifest(
        "orders",
        {
            "mode": "bulk", "batch.max.rows": "100", "numeric.precision.mapping": "false", "table.whitelist": "a,b",
            "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "tasks.max": "2",
            "auto.restart.enabled": "true",
        },
        str(file),
        "PAUSED",
    )  # fmt: skip


def test_all_files_that_cannot_be_used_are_told_at_once(tmp_path):
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.yaml").write_text("kind: Deployment\nspec: {}\n")
    (tmp_path / "c.json").write_text('{"name": "n", "config": {"a": {"b": 1}}}')
    (tmp_path / "d.json").write_text('{"name": "twice", "connector.class": "X"}')
    (tmp_path / "e.json").write_text('{"name": "twice", "connector.class": "X"}')
    with pytest.raises(ConfigError) as broken:
        read_manifests([tmp_path])
    text = str(broken.value)
    assert "This is no JSON: Expecting" in text
    for told in ("a.json", "b.yaml: kind 'Deployment' is no KafkaConnector", "a is an object", "'twice' is in"):
        assert told in text


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"There is no .*nowhere"):
        read_manifests([tmp_path / "nowhere"])


def test_a_mounted_configmap_is_read_once(tmp_path):
    """Kubernetes mounts a ConfigMap as links to a folder whose name begins with two dots, and changes one link."""
    (tmp_path / "..2026").mkdir()
    (tmp_path / "..2026" / "orders.json").write_text('{"a": "1"}')
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "orders.json").symlink_to("..data/orders.json")
    (manifest,) = read_manifests([tmp_path])
    assert (manifest.name, dict(manifest.config)) == ("orders", {"a": "1"})


def test_what_can_be_used_is_told_beside_what_cannot(tmp_path):
    (tmp_path / "good.json").write_text('{"a": "1"}')
    (tmp_path / "bad.json").write_text('{"a": ')
    found, problems = read_usable([tmp_path])
    assert [manifest.name for manifest in found] == ["good"]
    assert [problem.key for problem in problems] == [str(tmp_path / "bad.json")]


def test_values_are_the_texts_that_were_written(tmp_path):
    """YAML of 2005 reads 12:30:00 as 45,000 seconds, and Python would write numbers and times in another form."""
    (tmp_path / "a.yaml").write_text(
        "name: a\nconnector.class: X\nat: 12:30:00\nhalf: 1:30.5\nsince: 2026-01-01T10:00:00Z\nday: 2026-01-01\n"
        "few: 1.5\nmany: 1_000\n7: seven\n"
    )
    (tmp_path / "b.json").write_text(
        '{"name": "b", "config": {"connector.class": "X", "few": 1.50, "e": 1e5, "all": 12345678901234567890.5}}'
    )
    yaml_one, json_one = read_manifests([tmp_path])
    assert yaml_one.config == {
        "name": "a", "connector.class": "X", "at": "12:30:00", "half": "1:30.5", "since": "2026-01-01T10:00:00Z",
        "day": "2026-01-01", "few": "1.5", "many": "1000", "7": "seven",
    }  # fmt: skip
    assert json_one.config == {"connector.class": "X", "few": "1.50", "e": "1e5", "all": "12345678901234567890.5"}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", '{"name": "a", "config": {"connector.class": "X", "k": 1, "k": 2}}', "the key 'k' is there twice"),
        ("a.json", '{"name": "a", "config": {"connector.class": "X", "k": NaN}}', "NaN is no JSON number"),
        ("a.yaml", "connector.class: X\noff: 1\n", "a key reads as False, which is no text: put it in quotes"),
        ("a.yaml", "connector.class: X\nk: !!binary aGVsbG8=\n", "a value is a binary, which is no text"),
        ("a.yaml", "connector.class: X\nk: !!set {a, b}\n", "a value is a set, which is no text"),
    ],
)
def test_what_is_no_text_or_there_twice_is_told(tmp_path, name, text, told):
    (tmp_path / name).write_text(text)
    found, (problem,) = read_usable([tmp_path])
    assert found == []
    assert told in problem.message
