"""Checks that a chunk waits for transactions which its reader has seen in the log and which the tables do not show
yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from jdbc_answers import Answers

from connectors.jdbc.log.binlog.gtid_set import GtidSet
from connectors.jdbc.log.binlog.packets import Gtid
from connectors.jdbc.log.binlog.position import BinlogPosition, Place
from connectors.jdbc.log.incremental.chunked_reading import UnseenTransactionsError
from connectors.jdbc.log.incremental.progress import TableProgress
from connectors.jdbc.log.mysql.chunks import MySqlChunks
from connectors.jdbc.log.mysql.flavour import MARIADB, MYSQL
from connectors.jdbc.log.mysql.row_order import OrderColumn, RowOrder
from connectors.jdbc.log.mysql.snapshot import executed_gtids
from connectors.jdbc.log.postgres.delivered_transactions import DeliveredTransactions
from connectors.jdbc.log.postgres.open_writers import whole_number
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import Raw

ONE, TWO = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"


def _delivered(*xids: int) -> DeliveredTransactions:
    made = DeliveredTransactions()
    made.add(np.array(xids, np.int64))
    return made


@pytest.mark.parametrize(
    ("snapshot", "unseen"),
    [
        ("8:8:", []),
        ("5:8:5", [5]),
        ("4:8:4", []),
        ("7:7:", [7]),
        ("5:7:5,6", [5, 7]),
        ("4294967301:4294967304:4294967301", [5]),
        ("4294967280:4294967285:", [5, 7]),
        ("2147483700:2147483700:", []),
    ],
)
def test_postgres_does_not_show_a_delivered_transaction_that_runs_or_is_behind_the_snapshot(snapshot, unseen):
    assert _delivered(7, 5, 5).unseen_in(snapshot) == unseen


def test_a_transaction_that_ran_before_the_log_was_read_may_be_one_that_was_delivered_then():
    made = DeliveredTransactions()
    made.older = frozenset({5, 6, 9})
    assert made.maybe_unseen_in("5:8:5,6", lambda: {6}) == [5, 9], "session 6 is known not to commit"
    assert made.maybe_unseen_in("6:10:6,8", set) == [6], "transaction 8 began later: the log comes to it later, too"
    assert made.maybe_unseen_in("8:10:8", set) == []
    assert made.maybe_unseen_in("6:10:6,9", set) == [], "what was over does not run again"


def test_a_transaction_that_may_have_been_delivered_is_waited_for_no_longer_than_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    now_s = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    made = _delivered(7)
    made.older = frozenset({5, 6})
    for at_s in (1000.0, 1059.0):
        now_s[0] = at_s
        assert made.maybe_unseen_in("5:9:5,6,7", set) == [5, 6]
    assert caplog.text == ""
    now_s[0] = 1061.0
    assert made.maybe_unseen_in("5:9:5,6,7", lambda: {6}) == []
    assert "Transaction 5 still runs" in caplog.text
    assert "pg_read_all_stats" in caplog.text
    assert made.maybe_unseen_in("5:9:5,6,7", set) == []
    assert made.unseen_in("5:9:5,6,7") == [7], "what was read from the log is waited for"


@pytest.mark.parametrize(
    ("visible", "unseen"),
    [
        ({"0": "0-1-9"}, None),
        ({"0": "0-2-10"}, None),
        ({"0": "0-1-8"}, "0-1-9"),
        ({"3": "3-1-5"}, None),
        ({}, None),
        ({"0": "0-1-9", "3": "3-1-4"}, "3-1-5"),
    ],
)
def test_mariadb_shows_all_that_was_read_of_each_domain_and_removed_domains_are_not_waited_for(visible, unseen):
    executed = MARIADB.executed({"0": "0-1-7", "3": "3-1-5"})
    executed.begun(Gtid("0-1-9", "0", 9, stands_alone=False))
    assert executed.unseen(visible, "") == unseen


@pytest.mark.parametrize(
    ("visible", "unseen"),
    [
        ({ONE: f"{ONE}:1-9", TWO: f"{TWO}:1-5"}, None),
        ({ONE: f"{ONE}:1-9:12", TWO: f"{TWO}:5"}, None),
        ({ONE: f"{ONE}:1-8:10-12", TWO: f"{TWO}:1-5"}, f"{ONE}:9"),
        ({ONE: f"{ONE}:1-9"}, f"{TWO}:5"),
        ({ONE: f"{ONE}:2-9", TWO: f"{TWO}:1-5"}, f"{ONE}:1-7"),
        ({}, f"{ONE}:9"),
    ],
)
def test_mysql_shows_all_that_was_read_and_others_lost_transactions_are_not_waited_for(
    visible: Mapping[str, str], unseen: str | None
):
    executed = MYSQL.executed({ONE: f"{ONE}:1-7", TWO: f"{TWO}:1-900"})
    for server, number in ((ONE, 9), (TWO, 5)):
        executed.begun(Gtid(f"{server}:{number}", server, number, stands_alone=False))
    assert executed.unseen(visible, ONE) == unseen


@pytest.mark.parametrize("mode", ["ON", "OFF_PERMISSIVE"])
def test_a_set_of_mysql_that_is_longer_than_shown_variables_is_asked_for_as_a_whole(mode: str):
    text = f"{ONE}:{':'.join(str(number) for number in range(1, 2001, 2))},\n{TWO}:1-7"
    values = {"server_uuid": TWO, "gtid_mode": mode, "gtid_executed": text}

    def shown(statement: str) -> list[tuple[str, str]]:
        return [(name, value[:1024]) for name, value in values.items() if f"'{name}'" in statement]

    database: Any = Answers(shown, text)
    server, visible = executed_gtids(database)
    assert server == TWO
    assert visible == ({ONE: text.split(",", maxsplit=1)[0], TWO: f"{TWO}:1-7"} if mode == "ON" else None)


def test_mariadb_tells_the_gtids_of_a_place_until_the_tables_show_what_was_read_before_the_start(
    monkeypatch: pytest.MonkeyPatch,
):
    visible, tells = [{}, {"0": "0-1-6"}, {"0": "0-1-7"}, {}], []

    def begun(_: object, *, tells_gtids: bool) -> BinlogPosition:
        tells.append(tells_gtids)
        return BinlogPosition("f.000007", 400, visible[len(tells) - 1])

    monkeypatch.setattr("connectors.jdbc.log.mysql.chunks.begin_snapshot", begun)
    executed = MARIADB.executed({"0": "0-1-7"})
    unused: Any = None
    database: Any = Answers()
    table: Any = SimpleNamespace(
        events=SimpleNamespace(key=("n",)), order=RowOrder.of([OrderColumn("n", "int", Raw.INTEGER)], ("n",))
    )
    chunks = MySqlChunks(
        database, lambda _: table, unused, unused, executed, lambda: Place("f.000007", 500), quote=False
    )
    for unseen in ("before f.000007, 500", "0-1-7", "before f.000007, 500", "before f.000007, 500"):
        with pytest.raises(UnseenTransactionsError, match=f"^{unseen}, which"):
            chunks.chunk(TableName("shop", "orders"), TableProgress("shop.orders"), 2)
    assert tells == [True, True, True, False]


def test_a_set_tells_what_it_lacks_of_another():
    ours = GtidSet({ONE: f"{ONE}:3-5:7"})
    assert ours.lacks(GtidSet({})) is None
    assert ours.lacks(GtidSet({ONE: f"{ONE}:4-5:7"})) is None
    assert ours.lacks(GtidSet({ONE: f"{ONE}:4-7"})) == f"{ONE}:4-7"
    assert ours.lacks(GtidSet({ONE: f"{ONE}:2"})) == f"{ONE}:2"


@pytest.mark.parametrize(
    ("number", "following", "whole"),
    [
        (5, 10, 5), (2, 2**32 + 3, 2**32 + 2), (2**32 - 2, 2**32 + 3, 2**32 - 2), (3, 2**32 + 3, 3), (9, 3, 0),
    ],
)  # fmt: skip
def test_the_number_of_a_past_transaction_is_told_by_its_lower_bits(number: int, following: int, whole: int) -> None:
    assert whole_number(number, following) == whole
