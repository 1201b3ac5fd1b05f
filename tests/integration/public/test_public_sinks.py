"""Runs sinks as public configurations have them, on the servers that run here: rows go in, and the same rows come
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from api_server import api
from e2e_worker import WorkerProcess
from public_bed import FEW, Draw, Public, Trial, agree, failures, local, runnable
from public_rows import Topics, orders, told
from public_sinks import FileTarget, HttpTarget, RedisTarget, S3Target, SearchTarget, SqlTarget, Target
from sql_services import installed

from connect.tools.services import S3Endpoint
from connect.tools.services.opensearch import OpenSearchService
from connect.tools.services.redis import RedisService
from connect.tools.services.sql import SqlEndpoint

KEPT: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "$[?(@.amount < 42)]": lambda row: row["amount"] < 42,
    "$[?(@.product =~ /.*Stout/)]": lambda row: row["product"].endswith("Stout"),
}
"""Maps a condition that the corpus gives to a filter to the test that the kept rows pass."""


def trial(topics: Topics, unique: str, target: Target, public: Public) -> Trial:
    """Return a configuration with rows in its topics."""
    name = f"{unique}-{public.name}"
    config = {**local(public.config, topics), **target.settings(public.config, name)}
    rows = orders(config)
    kept = [row for row in rows if all(keep(row) for text, keep in KEPT.items() if text in config.values())]
    given = _topic_names(config, name)
    for topic in given:
        topics.fill(topic, config, rows)
    return Trial(public.name, name, config, lambda: sorted(told(kept) * len(given)), lambda: told(target.rows(name)))


def _topic_names(config: dict[str, str], name: str) -> list[str]:
    if "topics.regex" in config:
        config["topics.regex"] = f"day11-{name}-.*"
        return [f"day11-{name}-systemB"]
    names = [re.sub(r"\borders", name, topic) for topic in config["topics"].split(",")]
    config["topics"] = ",".join(names)
    return names


def run(worker: WorkerProcess, topics: Topics, unique: str, target: Target, some: Sequence[Public]) -> dict[str, str]:
    """Return what failed of these configurations."""
    assert some
    return failures(worker, [trial(topics, unique, target, public) for public in some])


def sql_target(endpoint: SqlEndpoint, driver: str) -> SqlTarget:
    url = sa.URL.create(driver, endpoint.user, endpoint.password, endpoint.host, endpoint.port, endpoint.database)
    return SqlTarget(sa.create_engine(url), endpoint)


@FEW
def test_jdbc_sinks_on_mysql(
    drawn: Draw, worker: WorkerProcess, topics: Topics, mysql: SqlEndpoint, unique: str
) -> None:
    some = drawn(runnable("JdbcSinkConnector", "jdbc:mysql:"))
    agree(run(worker, topics, unique, sql_target(mysql, "mysql+pymysql"), some))


@FEW
def test_jdbc_sinks_on_postgres(
    drawn: Draw, worker: WorkerProcess, topics: Topics, postgres: SqlEndpoint, unique: str
) -> None:
    some = drawn(runnable("JdbcSinkConnector", "jdbc:postgresql:"))
    agree(run(worker, topics, unique, sql_target(postgres, "postgresql+psycopg"), some))


def test_debezium_jdbc_sinks(worker: WorkerProcess, topics: Topics, postgres: SqlEndpoint, unique: str) -> None:
    found = runnable("JdbcSinkConnector", "jdbc:postgresql:")
    some = [public for public in found if public.config["connector.class"].startswith("io.debezium.")]
    agree(run(worker, topics, unique, sql_target(postgres, "postgresql+psycopg"), some))


@FEW
def test_s3_sinks(
    drawn: Draw, worker: WorkerProcess, topics: Topics, s3: S3Endpoint, s3_bucket: str, unique: str
) -> None:
    some = drawn(runnable("S3SinkConnector"))
    agree(run(worker, topics, unique, S3Target(s3, s3_bucket), some))


@FEW
def test_file_sinks(drawn: Draw, worker: WorkerProcess, topics: Topics, tmp_path: Path, unique: str) -> None:
    agree(run(worker, topics, unique, FileTarget(tmp_path), drawn(runnable("FileStreamSinkConnector"))))


@FEW
def test_search_sinks(drawn: Draw, worker: WorkerProcess, topics: Topics, unique: str) -> None:
    with OpenSearchService() as service:
        target = SearchTarget(service.endpoint.url)
        agree(run(worker, topics, unique, target, drawn(runnable("ElasticsearchSinkConnector"))))


def test_http_sinks(worker: WorkerProcess, topics: Topics, unique: str) -> None:
    with api() as server:
        agree(run(worker, topics, unique, HttpTarget(server), list(runnable("HttpSinkConnector"))))


def test_redis_sinks(worker: WorkerProcess, topics: Topics, unique: str) -> None:
    with installed(RedisService()) as service:
        target = RedisTarget(service.endpoint.port)
        agree(run(worker, topics, unique, target, list(runnable("RedisSinkConnector"))))
