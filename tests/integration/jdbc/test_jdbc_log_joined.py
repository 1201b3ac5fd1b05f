"""Checks that no row is lost of transactions that are open when their table joins a publication that is followed."""

from __future__ import annotations

import pytest
from jdbc_log import log_run
from jdbc_server import Server
from test_jdbc_log_bulk import connector, content, fill, follow, read, read_up_to, rebuilt, take

from connect.api.errors import RetriableError
from connect.api.optional.bulk import SplitSize
from connect.lib.deadline import Deadline


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
@pytest.mark.parametrize("reads", ["the job", "the connector"])
def test_no_row_is_lost_of_a_transaction_that_was_open_when_its_table_joined_the_publication(
    server: Server, reads: str, caplog: pytest.LogCaptureFixture
):
    fill(server, 20)
    server.run(
        "CREATE TABLE {t}_other (id INT PRIMARY KEY)",
        f"CREATE PUBLICATION {server.table} FOR TABLE {{t}}_other",
    )
    server.run(f"SELECT pg_create_logical_replication_slot('{server.table}', 'pgoutput')")
    with log_run(server, max__batch__size=10) as run, server.engine.connect() as late:
        late.exec_driver_sql(f"INSERT INTO {server.table} VALUES (1000, 0)")
        if reads == "the connector":
            run.open()
            run.until(lambda: run.events or "it waits for the open transactions of" in caplog.text)
            assert not run.events
            late.commit()
            run.until(lambda: content(run) == rebuilt(run))
            return
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(10, 2**20), Deadline.after(60))
        for _ in range(2):  # the publication has the table when it is asked for again
            with pytest.raises(RetriableError, match="it waits for the open transactions of"):
                planned.begin_bulk(plan, Deadline.after(1))
        late.commit()
        begun, done = planned.begin_bulk(plan, Deadline.after(60)), []
        for split in plan.splits:
            for batch in read(planned, split):
                take(run, batch)
            done.append(read_up_to(split, batch))
        follow(run, list(planned.following_behind(begun, done)))
        assert 1000 in rebuilt(run)
