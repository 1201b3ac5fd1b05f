"""Checks that rows which PostgreSQL finds bad when a transaction commits are rejected alone, and all others are
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from jdbc_server import Server
from jdbc_sink_target import batch, opened, put, rows, settings_of

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.bulk import BulkChunk
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.jdbc.sink.check import check
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.sink import JdbcSinkConnector

pytestmark = [pytest.mark.integration, pytest.mark.parametrize("server", ["postgres"], indirect=True)]
INSERT = {"insert__mode": "insert"}
UPSERT = {"insert__mode": "upsert", "pk__mode": "record_key", "delete__enabled": "true"}


@pytest.fixture
def child(server: Server) -> Iterator[Server]:
    """A table whose `v` is the id of a row of its own or NULL, looked at when transactions commit."""
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT REFERENCES {t} DEFERRABLE INITIALLY DEFERRED)")
    yield server
    server.run("DROP TABLE {t}")


@pytest.mark.parametrize("settings", [INSERT, UPSERT, INSERT | {"exactly__once": "true"}], ids=["i", "u", "once"])
def test_one_bad_row_of_a_thousand_is_rejected_alone(child: Server, settings):
    pairs = [(n, 5000 if n == 617 else None) for n in range(1000)]
    with opened(child, **settings) as task:
        bad = put(task, batch(child, pairs))
        assert bad.keys() == {617}
        assert "foreign key" in bad[617]
        assert put(task, batch(child, [(1000, None)], 1000)) == {}
    assert rows(child) == [(n, None) for n in range(1001) if n != 617]


def test_a_row_that_leans_on_a_later_one_of_its_batch_is_not_bad(child: Server):
    # 3 leans on 900, which comes behind it; 10 and 700 lean on each other; there is nothing that 400 leans on.
    pairs = [(n, {3: 900, 10: 700, 700: 10, 400: 5000}.get(n)) for n in range(1000)]
    with opened(child, **INSERT) as task:
        assert put(task, batch(child, pairs)).keys() == {400}
    assert rows(child) == [pair for pair in pairs if pair[0] != 400]


def test_a_row_of_a_key_that_comes_twice_is_as_its_last_good_record_says(child: Server):
    with opened(child, **UPSERT) as task:
        put(task, batch(child, [(0, None), (1, 0), (2, None)]))
        # The delete of 0 breaks what 1 leans on; that of 2 does not, and 2 comes again with a bad value.
        assert put(task, batch(child, [2, 0, (3, 2), (2, 5000), (4, 4)], 3)).keys() == {1, 2, 3}
        assert rows(child) == [(0, None), (1, 0), (4, 4)]


def test_a_delete_that_later_rows_make_good_is_not_bad_beside_a_bad_row(child: Server):
    with opened(child, **UPSERT) as task:
        put(task, batch(child, [(0, None), (1, 0), (2, None)]))
        # 1 leans on 2 when the transaction ends, and on nothing that is there between its statements.
        assert put(task, batch(child, [(7, 5000), 0, (1, 2)], 3)).keys() == {0}
    assert rows(child) == [(1, 2), (2, None)]


def test_a_unique_key_that_is_looked_at_late(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT, v BIGINT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    with opened(server, **INSERT) as task:
        assert put(task, batch(server, [(1, 1), (2, 2), (3, 1), (4, 3)])).keys() == {2}
    assert rows(server) == [(1, 1), (2, 2), (4, 3)]


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE {t} (id BIGINT PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v BIGINT)"],
        [
            'CREATE TABLE {t} (id BIGINT, v BIGINT, CONSTRAINT "Late one" UNIQUE (id) DEFERRABLE)',
            "CREATE UNIQUE INDEX ON {t} (id)",
        ],
    ],
    ids=["primary", "unique beside another"],
)
def test_an_upsert_by_a_key_that_is_looked_at_late_is_refused_with_the_statement_that_mends_it(
    server: Server, statements: list[str]
):
    server.run(*statements)
    config = JdbcSinkConfig.parse(settings_of(server, **UPSERT, pk__fields="id", topics=server.table))
    with pytest.raises(ConfigError, match="DEFERRABLE") as caught:
        check(config, Deadline.after(60))
    (problem,) = caught.value.problems
    with opened(server, **UPSERT) as task:
        with pytest.raises(ConnectError, match="ALTER TABLE") as failed:
            put(task, batch(server, [(1, 1)]))
        assert not isinstance(failed.value, RetriableError), "it is not tried again for ever"
        server.run(problem.message.partition("Run: ")[2])
        check(config, Deadline.after(60))
    with opened(server, **UPSERT) as task:
        assert put(task, batch(server, [(1, 1), (1, 2)])) == {}
    assert rows(server) == [(1, 2)]


def test_a_row_of_a_chunk_that_leans_on_one_of_a_later_batch_is_not_bad(child: Server):
    ctx = Rejected()
    given = {**settings_of(child, **INSERT)}
    writer = JdbcSinkConnector(JdbcSinkConfig.parse(given)).bulk_writer(ctx)
    batches = [
        batch(child, [(1, 8), (2, None)]), batch(child, [(3, 5000), (4, 1)], 2), batch(child, [(5, 7), (6, 3)], 4),
        batch(child, [(7, None), (8, 5)], 6),
    ]  # fmt: skip
    written = writer.write(BulkChunk("job", child.table, is_stable=True), batches, Deadline.after(60))
    writer.close()
    # Nothing is there that 3 leans on, and 6 leans on it.
    assert (ctx.rows, written.rows) == ({3, 6}, 6)
    assert rows(child, "id") == [(1,), (2,), (4,), (5,), (7,), (8,)]


class Rejected:
    """A BulkSinkContext that keeps the ids of rejected rows."""

    def __init__(self) -> None:
        self.rows: set[int] = set()

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        self.rows |= {batch.values.rows()[row]["id"] for row in rows}
