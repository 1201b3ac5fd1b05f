"""Checks the settings of the BigQuery sink against each other, and finds what their user should know. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from connect.api.errors import ConfigProblem
from connectors.bigquery.dedup.rules import Deletes, Keep, NullKey
from connectors.bigquery.rows.paths import Root

if TYPE_CHECKING:
    from connectors.bigquery.settings.config import BigQuerySinkConfig

_OF_GOOGLE: Final = re.compile(r"(https://)?([a-z0-9-]+\.)+googleapis\.com(:443)?/?", re.IGNORECASE)


def problems_between(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    """The problems between keys."""
    if len(config.clustering) > 4:
        yield ConfigProblem("clusteringPartitionFieldNames", "BigQuery clusters by at most 4 columns.")
    yield from _credential_problems(config)
    yield from _dedup_problems(config)
    yield from _append_problems(config)


def notes_of(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    """Notes where a record can become two rows, and where a search costs more than it has to."""
    if config.dedup_mode == "insert_id":
        yield ConfigProblem(
            "dedup.mode",
            "dedup.mode=insert_id drops what comes again within about a minute, as well as BigQuery can. "
            "dedup.mode=merge keeps one row per key for ever.",
        )
    elif not (config.merges or config.captures or config.views or config.exactly_once):
        yield ConfigProblem(
            "exactly.once",
            "A crash or a lost reply can add a record twice. exactly.once=true adds each once; dedup.fields "
            "keeps one row for each value of the fields that it names.",
        )
    yield from _order_notes(config)
    if config.merges and config.dedup_keep == Keep.LATEST and config.dedup_window.lower() == "none":
        yield ConfigProblem(
            "dedup.window",
            "Each merge searches the whole table, and is billed for it. dedup.window with "
            "timestampPartitionFieldName searches the partitions of that time alone; dedup.keep=first and a larger "
            "dedup.merge.interval.ms cost less, too.",
        )


def _order_notes(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    """Notes where the order of two records is not known."""
    rules = config.dedup
    if rules.fields and rules.order_by[0].root in {Root.OFFSET, Root.PARTITION}:
        yield ConfigProblem(
            "dedup.order.by",
            f"dedup.order.by={rules.order_by[0]} tells which of two records is the later one within a partition alone: "
            "a key that moves to another partition, or a topic that is made anew, can keep an older value. Leave it "
            "out for Kafka's time, or name a field such as a version.",
        )
    if config.upsert and not config.dedup_fields and "dedup.order.by" not in config.originals:
        yield ConfigProblem(
            "dedup.order.by",
            "The latest record of a key is that of the largest Kafka timestamp, as offsets say nothing across "
            "partitions and topics made anew. Where producers' clocks differ by more than the time between two records "
            "of a key, name a field such as a version.",
        )
    named = {path.root for path in rules.fields}
    if {Root.OFFSET, Root.TOPIC} <= named and Root.TOPIC_ID not in named:
        yield ConfigProblem(
            "dedup.fields",
            "A topic that is made anew has the same offsets once more, and its records count as those before. "
            "dedup.fields=__topic_id,__partition,__offset tells them apart.",
        )


def _append_problems(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    ways = {
        "useStorageWriteApi": config.use_storage_api,
        "enableBatchLoad": bool(config.batch_load),
        "enableBatchMode": config.batch_mode,
    }
    for name, is_set in ways.items():
        if is_set and (config.merges or config.captures or config.dedup_mode == "insert_id"):
            mode = "merge" if config.merges else config.dedup_mode
            yield ConfigProblem(
                name,
                f"{name} says how rows are added one by one, and dedup.mode={mode} has its own way. Leave it out, "
                "or set dedup.mode=view.",
            )
    if config.exactly_once and config.dedup_mode == "insert_id":
        yield ConfigProblem(
            "exactly.once",
            "exactly.once=true cannot be kept by dedup.mode=insert_id, as BigQuery forgets insertIds within about a "
            "minute. Set dedup.mode=merge.",
        )
    if config.exactly_once and not config.merges and (config.batch_load or config.batch_mode):
        yield ConfigProblem(
            "exactly.once",
            "exactly.once adds rows by streams: leave enableBatchLoad and enableBatchMode out, or set "
            "dedup.fields=__topic_id,__partition,__offset and dedup.keep=first, which goes by load jobs.",
        )
    if (
        config.insecure
        and (config.use_storage_api or config.exactly_once or config.captures)
        and not config.storage_endpoint
    ):
        yield ConfigProblem("bigquery.storage.endpoint", "bigquery.insecure=true needs bigquery.storage.endpoint.")


def _credential_problems(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    has_key = bool(config.keyfile.get_secret_value())
    if config.key_source.upper() == "APPLICATION_DEFAULT" and has_key:
        yield ConfigProblem("keyfile", "keyfile must be left out with keySource=APPLICATION_DEFAULT.")
    if config.key_source.upper() == "JSON" and not has_key:
        yield ConfigProblem("keyfile", "keySource=JSON needs the key in keyfile.")
    if config.insecure and not config.endpoint:
        yield ConfigProblem("bigquery.insecure", "bigquery.insecure=true needs bigquery.endpoint.")
    # Whoever receives a request with a token may use the token.
    sends_the_workers_own = not config.insecure and config.key_source.upper() != "JSON"
    endpoints = {"bigquery.endpoint": config.endpoint, "bigquery.storage.endpoint": config.storage_endpoint}
    for name, endpoint in endpoints.items():
        if sends_the_workers_own and endpoint and not _OF_GOOGLE.fullmatch(endpoint):
            yield ConfigProblem(
                name,
                f"{name}={endpoint} is no address of Google's, and the worker's own credentials go to those alone: "
                "give the key in keyfile with keySource=JSON, or set bigquery.insecure=true for an emulator.",
            )


def _dedup_problems(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    if config.dedup_keep == Keep.FIRST and "dedup.delete" in config.originals and config.dedup_delete != Deletes.IGNORE:
        yield ConfigProblem(
            "dedup.delete", "dedup.keep=first never changes a row, so it takes dedup.delete=ignore alone."
        )
    adds = not (config.merges or config.captures or config.views)
    if adds and "dedup.delete" in config.originals and config.dedup_delete != Deletes.IGNORE:
        yield ConfigProblem(
            "dedup.delete",
            f"dedup.delete={config.dedup_delete} needs rows that a record can delete, and without dedup.mode=merge, "
            "cdc or view each record is added. Set dedup.delete=ignore, or one of these modes.",
        )
    needs_fields = config.dedup_mode in {"insert_id", "cdc", "view"} or (config.dedup_mode == "merge")
    needs_fields = needs_fields and not (config.upsert and config.dedup_mode != "insert_id")
    if needs_fields and not config.dedup_fields:
        yield ConfigProblem("dedup.fields", f"dedup.mode={config.dedup_mode} needs dedup.fields.")
    if config.delete and not config.upsert:
        yield ConfigProblem(
            "deleteEnabled",
            "deleteEnabled=true without upsertEnabled=true is not supported: each record would be a row, and a "
            "tombstone would delete all rows of its key. Set upsertEnabled=true, or dedup.fields.",
        )
    if config.dedup_window.lower() != "none" and not config.partition_field:
        yield ConfigProblem(
            "dedup.window",
            "dedup.window needs timestampPartitionFieldName, the column whose time says in which partition the row "
            "of a record is.",
        )
    if "dedup.late" in config.originals and config.dedup_window.lower() == "none":
        yield ConfigProblem("dedup.late", "dedup.late is for records older than dedup.window, which is none.")
    if config.dedup_window.lower() != "none" and (config.captures or config.views):
        yield ConfigProblem("dedup.window", f"dedup.mode={config.dedup_mode} knows no dedup.window: leave it out.")
    if config.captures:
        yield from _capture_problems(config)
    if not config.dedup_order:
        yield ConfigProblem("dedup.order.by", "dedup.order.by is empty: leave it out, or name a field.")


def _capture_problems(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    """The problems of settings that BigQuery's change data capture does not support."""
    instead = "Change it, or set dedup.mode=merge."
    if config.dedup_keep == Keep.FIRST:
        yield ConfigProblem("dedup.keep", f"With dedup.mode=cdc the latest record stays. {instead}")
    if config.dedup_delete == Deletes.SOFT:
        yield ConfigProblem("dedup.delete", f"dedup.mode=cdc replaces rows, so it takes no soft delete. {instead}")
    if config.dedup_null_key == NullKey.APPEND:
        yield ConfigProblem("dedup.null.key", f"With dedup.mode=cdc every row has a primary key. {instead}")
    if config.primary_key and set(config.primary_key) != set(config.dedup_fields):
        yield ConfigProblem("table.primary.key", "With dedup.mode=cdc it is the dedup.fields: leave it out.")
    if len(config.dedup_order) > 1:
        yield ConfigProblem(
            "dedup.order.by", f"dedup.mode=cdc orders by one field, then partition and offset. {instead}"
        )
