"""Makes connectors of URLs: each plug-in's kind, files that are the owner's alone, and words for what is missing."""

from __future__ import annotations

import json

import pytest

from connect.api.errors import ConfigError
from connect.plugins.catalog import Catalog
from connect.poc.addresses import is_url, manifests_of, write_manifest

CATALOG = Catalog.installed()
SOURCE = "postgresql://me:pass%20word@db:5433/shop?sslmode=require"


def test_a_database_and_a_bucket_are_a_source_and_a_sink():
    source, sink = manifests_of(
        CATALOG, SOURCE, ["public.orders", "items"], "s3://bucket/a/b?s3.region=eu-west-1", {"topic.prefix": "shop-"}
    )
    assert source.config["connection.url"] == "jdbc:postgresql://db:5433/shop?sslmode=require"
    assert (source.config["connection.user"], source.config["connection.password"]) == ("me", "pass word")
    assert (source.config["table.whitelist"], source.config["mode"]) == ("public.orders,items", "incrementing")
    assert (sink.config["s3.bucket.name"], sink.config["topics.dir"], sink.config["s3.region"]) == (
        "bucket", "a/b", "eu-west-1",
    )  # fmt: skip
    assert sink.config["topics"] == "shop-orders,shop-items"
    for manifest in (source, sink):
        plugin = CATALOG.connector(manifest.config["connector.class"])
        config = {key: value for key, value in manifest.config.items() if key not in {"connector.class", "topics"}}
        plugin.config.parse({**config, "tasks.max": "1"})


def test_every_kind_of_url_that_is_known():
    (source,) = manifests_of(CATALOG, "sqlite:////data/shop.db", ["t"], None, {})
    assert source.config["connection.url"] == "jdbc:sqlite:/data/shop.db"
    *_, sink = manifests_of(CATALOG, "mysql://h/d", ["t"], "bigquery://project/dataset", {})
    assert (sink.config["project"], sink.config["defaultDataset"]) == ("project", "dataset")
    *_, sink = manifests_of(CATALOG, "mysql://h/d", ["t"], "file:///tmp/out.txt", {})
    assert sink.config["file"] == "/tmp/out.txt"


@pytest.mark.parametrize(
    ("source", "tables", "target", "said"),
    [
        ("postgresql://h/d", [], None, "--table"),
        ("postgresql://h", ["t"], None, "no host or no database"),
        ("ftp://u:secret-1234@h/d", ["t"], None, "No source connector knows"),
        ("postgresql://h/d", ["t"], "s3:///x", "no bucket"),
        ("postgresql://h/d", ["t"], "bigquery://p", "no dataset"),
    ],
)
def test_what_is_missing_is_said_without_the_password(source, tables, target, said):
    with pytest.raises(ConfigError) as told:
        manifests_of(CATALOG, source, tables, target, {})
    assert said in str(told.value)
    assert "secret" not in str(told.value)


def test_a_written_file_is_read_by_its_owner_alone(tmp_path):
    (source,) = manifests_of(CATALOG, SOURCE, ["t"], None, {})
    file = write_manifest(source, tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["config"] == source.config
    assert is_url(SOURCE)
    assert not is_url(str(file))
