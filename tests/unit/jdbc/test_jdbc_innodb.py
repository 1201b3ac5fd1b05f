"""Reads InnoDB's transactions from its own copy of them and from its status text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from connect.api.errors import RetriableError
from connectors.jdbc.dialects.mysql.innodb import of_status, open_writes

NOW_US = 1_800_000_000_000_000
BEGAN = datetime(2024, 5, 1, tzinfo=UTC)
STATUS = """
------------
TRANSACTIONS
------------
Trx id counter 23
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 20, ACTIVE 7 sec
1 lock struct(s), heap size 1128, 0 row lock(s), undo log entries 1
MariaDB thread id 8, OS thread handle 140361853478592, query id 34 127.0.0.1 connect
---TRANSACTION 21, ACTIVE (PREPARED) 3600 sec recovered trx
---TRANSACTION (0x7fa88b7dc780), ACTIVE 90 sec
MariaDB thread id 10, OS thread handle 140361827301056, query id 45 127.0.0.1 connect starting
---TRANSACTION 421234567890123, ACTIVE 90 sec
MySQL thread id 11, OS thread handle 140361826993856, query id 31 127.0.0.1 connect
---TRANSACTION 22, ACTIVE 0 sec inserting
mysql tables in use 1, locked 1
MySQL thread id 9, OS thread handle 140361827608256, query id 25 127.0.0.1 connect update
---TRANSACTION (0x7fa88b7d9b80), not started
---TRANSACTION 19, not started
--------
FILE I/O
"""

BEFORE_5_7 = """
---TRANSACTION 1283, not started
MySQL thread id 1, OS thread handle 0x7ff5ee460ac0, query id 0 Waiting for background binlog tasks
---TRANSACTION 1578, ACTIVE 0 sec
MySQL thread id 185, OS thread handle 0x7ff5edd1dac0, query id 3065 127.0.0.1 connect init
show engine innodb status
Trx read view will not see trx with id >= 1579, sees < 1571
---TRANSACTION 1577, ACTIVE 40 sec
2 lock struct(s), heap size 360, 1 row lock(s)
MySQL thread id 188, OS thread handle 0x7ff5edc87ac0, query id 3062 127.0.0.1 connect cleaning up
---TRANSACTION 1572, ACTIVE 1 sec
2 lock struct(s), heap size 360, 1 row lock(s), undo log entries 1
MySQL thread id 187, OS thread handle 0x7ff5edd68ac0, query id 3059 127.0.0.1 connect cleaning up
---TRANSACTION 1570, ACTIVE (PREPARED) 60 sec recovered trx
--------
"""


class Answers:
    """A database whose copy of the transactions is of another statement."""

    def __init__(self, copy: Sequence[Any]) -> None:
        self._copy = copy

    def run(self, _statement: str, _doing: str) -> None: ...

    def scalar(self, _statement: object, _doing: str) -> int:
        return 5

    def rows(self, statement: object, _doing: str) -> Sequence[Any]:
        return [("InnoDB", "", STATUS)] if "STATUS" in str(statement) else self._copy


def test_the_status_tells_who_has_written_and_since_when():
    ages_s = {name: (NOW_US - began) // 1_000_000 for name, began in of_status(STATUS, NOW_US, 11).items()}
    # What was found at the server's start is of any age.
    assert ages_s == {"Connection 8": 8, "Transaction 21": NOW_US // 1_000_000, "Connection 9": 1}


def test_of_a_server_that_numbers_readers_those_count_that_have_changed_rows():
    assert of_status(BEFORE_5_7, NOW_US, 185).keys() == {"Connection 187", "Transaction 1570"}
    # Who did not ask cannot tell.
    assert of_status(BEFORE_5_7, NOW_US, 9).keys() >= {"Connection 185", "Connection 188"}


class Marked(Answers):
    """A database whose copy holds the very statement that reads it, with the number of its transaction."""

    def __init__(self, own: int, up_s: int = 3600) -> None:
        at = BEGAN
        self._up_s = up_s
        super().__init__([(7, at, 21, 0, None), (8, at, 22, 3, None), (0, at, 23, 0, None)])
        self._own = (5, at, own, 0)

    def rows(self, statement: object, _doing: str) -> Sequence[Any]:
        if "Uptime" in str(statement):
            return [("Uptime", str(self._up_s))]
        return [*self._copy, (*self._own, str(statement))]


@pytest.mark.parametrize(
    ("own", "counted"),
    [
        (24, {"Connection 8", "Transaction 23"}),
        (0, {"Connection 7", "Connection 8", "Transaction 23"}),
        (421500651774360, {"Connection 7", "Connection 8", "Transaction 23"}),
    ],
)
def test_the_copy_tells_the_same(own: int, counted: set[str]):
    database: Any = Marked(own)
    assert open_writes(database, NOW_US).keys() == counted


@pytest.mark.parametrize(("up_after_s", "is_known"), [(-3600, True), (-30, False), (30, False)])
def test_a_prepared_transaction_that_was_found_at_the_start_is_of_any_age(up_after_s: int, is_known: bool):
    began_us = int(BEGAN.timestamp()) * 1_000_000
    database: Any = Marked(24, up_s=NOW_US // 1_000_000 - int(BEGAN.timestamp()) - up_after_s)
    assert open_writes(database, NOW_US) == {"Connection 8": began_us, "Transaction 23": began_us if is_known else 0}


@pytest.mark.parametrize("copy", [[], [(5, datetime(2024, 5, 1, tzinfo=UTC), 0, 0, "SELECT /* another */ 1")]])
def test_an_old_copy_is_not_believed(copy: Sequence[Any]):
    database: Any = Answers(copy)
    assert "Connection 8" in open_writes(database, NOW_US)


@pytest.mark.parametrize("text", [STATUS + "\n... truncated...\n", "---TRANSACTION 5, COMMITTED IN MEMORY\n"])
def test_a_status_that_does_not_tell_all_is_asked_again(text: str):
    with pytest.raises(RetriableError):
        of_status(text, NOW_US, 11)
