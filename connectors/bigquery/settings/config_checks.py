"""Checks the settings of the BigQuery sink against each other, and finds what their user should know. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from connect.api.errors import ConfigProblem
from connectors.bigquery.dedup.rules import Deletes, Keep
from connectors.bigquery.settings.config_budget import BUDGET_BYTES_KEY, BUDGET_USD_KEY
from connectors.bigquery.settings.java_keys import notes_of_names
from connectors.bigquery.settings.quotas import INSERT_ALL, STORAGE_WRITE, Loads, SendLimit, quota_sentences

if TYPE_CHECKING:
    from connectors.bigquery.settings.config import BigQuerySinkConfig

_OF_GOOGLE: Final = re.compile(r"(https://)?([a-z0-9-]+\.)+googleapis\.com(:443)?/?", re.IGNORECASE)
_TASKS: Final = re.compile(r"[0-9]{1,9}")


def problems_between(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    """Yield the problems between keys."""
    if len(config.clustering) > 4:
        yield ConfigProblem("clusteringPartitionFieldNames", "BigQuery clusters by at most 4 columns.")
    yield from _credential_problems(config)
    yield from _dedup_problems(config)
    yield from _append_problems(config)
    if config.has_budget and not config.mode.merges_rows:
        name = BUDGET_BYTES_KEY if config.budget_bytes else BUDGET_USD_KEY
        yield ConfigProblem(
            name,
            f"{name} bounds merges and compactions, and dedup.mode={config.mode.name} has none: leave it out, or set "
            "dedup.mode=merge or compact.",
        )


def notes_of(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    """Yield notes if a record can become two rows, or if a search costs more than it has to."""
    yield from config.mode.notes()
    yield from notes_of_names(config.originals)
    loads = _loads_of(config)
    if loads is not None:
        yield from (ConfigProblem(loads.key, text) for text in quota_sentences(loads))


def most_tasks(config: BigQuerySinkConfig) -> int:
    """Return tasks.max; 1 if it is no number, which the framework reports."""
    given = config.originals.get("tasks.max", "1").strip()
    return int(given) if _TASKS.fullmatch(given) else 1


def _loads_of(config: BigQuerySinkConfig) -> Loads | None:
    """Return the load jobs that the settings need; None if rows are written without load jobs."""
    tasks, topics = most_tasks(config), config.named_topics
    if config.mode.merges_rows:
        interval_s = config.mode.batch_interval_s("")
        key = "dedup.merge.interval.ms"
        return Loads(tasks, max(1, len(topics)), interval_s, config.mode.keeps_log, key, 0.001)
    if config.batch_mode:
        return Loads(tasks, max(1, len(topics)), config.commit_interval_s, True, "commitInterval", 1.0)
    if config.batch_load:
        tables = len(config.batch_load)
        return Loads(tasks, tables, config.batch_load_interval_s, True, "batchLoadIntervalSec", 1.0)
    return None


def send_limit_of(config: BigQuerySinkConfig) -> SendLimit | None:
    """Return the limit of bytes a second of the API that rows are sent by; None if load jobs write all rows."""
    if config.mode.merges_rows or config.batch_mode or set(config.batch_load).issuperset(config.named_topics):
        return None
    return STORAGE_WRITE if config.mode.uses_storage_api else INSERT_ALL


def _append_problems(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    ways = {
        "useStorageWriteApi": config.use_storage_api,
        "enableBatchLoad": bool(config.batch_load),
        "enableBatchMode": config.batch_mode,
    }
    for name, is_set in ways.items():
        if is_set and config.mode.has_own_way:
            yield ConfigProblem(
                name,
                f"{name} says how rows are added one by one, and dedup.mode={config.mode.name} has its own way. "
                "Leave it out, or set dedup.mode=view.",
            )
    yield from config.mode.writing_problems()
    if config.insecure and config.mode.uses_storage_api and not config.storage_endpoint:
        yield ConfigProblem("bigquery.storage.endpoint", "bigquery.insecure=true needs bigquery.storage.endpoint.")


def _credential_problems(config: BigQuerySinkConfig) -> Iterator[ConfigProblem]:
    has_key = bool(config.keyfile.get_secret_value())
    if config.key_source.upper() == "APPLICATION_DEFAULT" and has_key:
        yield ConfigProblem("keyfile", "keyfile must be left out with keySource=APPLICATION_DEFAULT.")
    if config.key_source.upper() == "JSON" and not has_key:
        yield ConfigProblem("keyfile", "keySource=JSON needs the key in keyfile.")
    if config.jobs_project and config.use_credentials_project:
        yield ConfigProblem(
            "bigquery.jobs.project",
            "bigquery.jobs.project and useCredentialsProjectId=true both name the project of jobs: leave one out.",
        )
    if config.insecure and not config.endpoint:
        yield ConfigProblem("bigquery.insecure", "bigquery.insecure=true needs bigquery.endpoint.")
    # Whoever receives a request with a token may use the token.
    given = config.key_text
    is_its_own = config.key_source.upper() == "JSON" and (given is None or not given.is_federated)
    sends_the_workers_own = not config.insecure and not is_its_own
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
    yield from config.mode.problems()
    if config.dedup_window.lower() != "none" and not config.partition_field:
        yield ConfigProblem(
            "dedup.window",
            "dedup.window needs timestampPartitionFieldName, the column whose time says in which partition the row "
            "of a record is.",
        )
    if "dedup.late" in config.originals and config.dedup_window.lower() == "none":
        yield ConfigProblem("dedup.late", "dedup.late is for records older than dedup.window, which is none.")
    if not config.dedup_order:
        yield ConfigProblem("dedup.order.by", "dedup.order.by is empty: leave it out, or name a field.")
