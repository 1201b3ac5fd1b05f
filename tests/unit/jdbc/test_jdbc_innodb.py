"""InnoDB's transactions, from its own copy of them and from its status text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from connect.api.errors import RetriableError
from connectors.jdbc.innodb import of_status, open_writes

NOW_US = 1_800_000_000_000_000
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


class Answers:
    """A database whose copy of the transactions is of another statement."""

    def __init__(self, copy: Sequence[Any]) -> None:
        self._copy = copy

    def run(self, _statement: str, _doing: str) -> None: ...

    def rows(self, statement: object, _doing: str) -> Sequence[Any]:
        return [("InnoDB", "", STATUS)] if "STATUS" in str(statement) else self._copy


def test_the_status_tells_who_has_written_and_since_when():
    ages_s = {name: (NOW_US - began) // 1_000_000 for name, began in of_status(STATUS, NOW_US).items()}
    assert ages_s == {"Connection 8": 8, "Transaction 21": 3601, "Connection 9": 1}


@pytest.mark.parametrize("copy", [[], [(5, datetime(2024, 5, 1, tzinfo=UTC), 0, "SELECT /* another */ 1")]])
def test_an_old_copy_is_not_believed(copy: Sequence[Any]):
    database: Any = Answers(copy)
    assert "Connection 8" in open_writes(database, NOW_US)


@pytest.mark.parametrize("text", [STATUS + "\n... truncated...\n", "---TRANSACTION 5, COMMITTED IN MEMORY\n"])
def test_a_status_that_does_not_tell_all_is_asked_again(text: str):
    with pytest.raises(RetriableError):
        of_status(text, NOW_US)
