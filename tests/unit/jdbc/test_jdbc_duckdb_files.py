"""SQL in DuckDB reaches the files that the worker allows, and none of a closed folder within them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from connect.api.errors import ConfigError, ConnectError
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector


def config(path: Path, **more: str) -> JdbcSourceConfig:
    given = {"connection.url": f"jdbc:duckdb:{path}", "topic.prefix": "db-", "mode": "bulk"}
    return JdbcSourceConfig.parse({**given, **{name.replace("__", "."): value for name, value in more.items()}})


def test_a_query_reads_no_file_that_the_worker_does_not_allow(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as session:
        session.execute("CREATE TABLE t (id INTEGER)")
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed/secret.csv").write_text("a\n1\n")
    (tmp_path / "open.csv").write_text("a\n7\n")
    bounds = f"{tmp_path},!{tmp_path}/closed"
    for named in (f"{tmp_path}/closed/secret.csv", "/etc/passwd", f"{tmp_path}/../../../etc/passwd"):
        given = config(file, query=f"SELECT * FROM read_csv('{named}')", allowed__paths=bounds)
        with pytest.raises(ConfigError, match="Permission Error"):
            JdbcSourceConnector(given).check(Deadline.after(60))
    both = [Database(config(file, table__whitelist="t", allowed__paths=bounds)) for _ in range(2)]
    for database in both:
        assert database.connection.exec_driver_sql(f"SELECT a FROM read_csv('{tmp_path}/open.csv')").all() == [(7,)]
        for statement in (
            "SET enable_external_access=true", f"COPY t TO '{tmp_path}/closed/x.csv'", "ATTACH '/etc/x.db'",
            "INSERT INTO t VALUES (1)",
        ):  # fmt: skip
            with pytest.raises(ConnectError):
                database.run(statement, "trying")
    for database in both:
        database.close()
    assert [one.name for one in (tmp_path / "closed").iterdir()] == ["secret.csv"]


def test_a_file_that_is_not_listed_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"allowed\.paths"):
        config(tmp_path / "x.duckdb", table__whitelist="t", allowed__paths="/data")
