"""Our schema changes are those that Debezium's own MySQL connector wrote when it was recorded; none is told twice."""

from __future__ import annotations

from typing import Any

import pytest
from binlog_servers import BinlogServer, binlog_server
from debezium_ours import OurRun
from debezium_recordings import FOLDER, NAME, read
from schema_statements import MODES, SETUP, STATEMENTS, comparable, has_first_read, is_at_end

pytestmark = pytest.mark.timeout(300)
OF_OTHERS = ("LIKE shop.orders", "shop`.`chosen", "we``ird", "IF NOT EXISTS l3")
"""Statements that differ on MariaDB: it has other types, writes another text, or logs none that does nothing."""


def _run(server: BinlogServer, offsets: Any = None, commits: Any = lambda: True, **settings: str) -> OurRun:
    return OurRun(server.config(NAME, **{"database.include.list": "shop", **settings}), offsets, commits)


@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_statements_of_mysql_are_those_that_debezium_told(metadata: str) -> None:
    with binlog_server("mysql", metadata) as server:
        server.run(*SETUP)
        runs = {mode: _run(server, **settings) for mode, settings in MODES.items()}
        for run in runs.values():
            run.until_true(lambda _, run=run: has_first_read(run.statements) and bool(run.offsets))
        server.run(*STATEMENTS)
        for mode, run in runs.items():
            run.until_true(lambda _, run=run, mode=mode: is_at_end(run.statements, mode))
            run.close()
            recorded = read(FOLDER / f"mysql-statements-{mode}.json")[""]
            told, own = (comparable(one, of_one_log=False) for one in (recorded, run.statements))
            assert [one[2]["ddl"] for one in own] == [one[2]["ddl"] for one in told], mode
            for theirs, mine in zip(told, own, strict=True):
                assert mine == theirs, theirs[2]["ddl"]
            sources = [record["value"]["payload"]["source"] for record in run.statements]
            assert {one["ts_us"] % 1000 for one in sources if one["snapshot"] == "false"} == {0}


def test_statements_of_mariadb_are_told_alike() -> None:
    with binlog_server("mariadb") as server:
        server.run(*SETUP)
        run = _run(server)
        run.until_true(lambda _: has_first_read(run.statements))
        server.run(*STATEMENTS)
        run.until_true(lambda _: is_at_end(run.statements, "all"))
        run.close()
    recorded = read(FOLDER / "mysql-statements-all.json")[""]
    told, own = ({one[2]["ddl"]: one for one in comparable(records, of_one_log=False) if not one[0]}
                 for records in (recorded, run.statements))  # fmt: skip
    same = [ddl for ddl in told if not any(part in ddl for part in OF_OTHERS)]
    assert len(same) > 20
    for ddl in same:
        key, value = told[ddl][1:3]
        assert own[ddl][1:3] == (key, {**value, "source": {**value["source"], "connector": "mariadb"}}), ddl


def test_no_statement_is_told_twice_or_left_out_by_tasks_that_break_off() -> None:
    with binlog_server("mysql") as server:
        server.run(*SETUP)
        first = _run(server)
        first.until_true(lambda found: "shop.nokey" in found)
        offsets = dict(first.offsets)
        first.close()
        server.run(*STATEMENTS)
        told: list[str] = []
        runs = 0
        while not any("zz_end" in text for text in told):
            run = _run(server, offsets)
            # A few batches, and what is stored behind them is what the next run begins with.
            run.until_true(lambda _, run=run: len(run.statements) >= 3 or is_at_end(run.statements, "all"))
            told += [record["value"]["payload"]["ddl"] for record in run.statements]
            offsets = dict(run.offsets)
            run.close()
            runs += 1
    recorded = comparable(read(FOLDER / "mysql-statements-all.json")[""], of_one_log=False)
    assert told == [one[2]["ddl"] for one in recorded if not one[0]]
    assert runs > 5
