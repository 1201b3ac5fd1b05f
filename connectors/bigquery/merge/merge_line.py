"""Runs the statements that merge into a table one after the other, in any process, without a lock that a dead process
could hold.

BigQuery runs two MERGEs of a table side by side as long as both only insert, so two of them could insert the same key.
The id of a job is used once in a project. So the statements of a table are numbered, and each is submitted under an id
that has its number, once the job of the number before it has ended. A task that was frozen, and so does not know that
another task merges the table now, finds its number taken. Then its statement runs behind the other's.

Another process may have added a column, and a statement of before would leave an older record's value there. So each
look at the label is one at the columns, too, and who finds a column that its statement does not know makes it anew. A
process that fills a column merges, so it takes a number before any other finds a value there.

A mode that does not merge ends the line of a table: it labels the table, and takes the next number. A process that
tells rows apart by other fields does the same. So each process looks at the label before its first statement, and again
when it finds a number taken. After a statement of its own it need not look, as the end of the line would have taken the
number.
"""

from __future__ import annotations

import hashlib
import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from connect.api.errors import RetriableError
from connectors.bigquery.dedup.side_tables import merges_table
from connectors.bigquery.rows.table_schema import Columns, ColumnSchema, ColumnType, by_name
from connectors.bigquery.spending.ledger import Kind
from connectors.bigquery.spending.spending import UNBOUNDED, Spending
from connectors.bigquery.tables.key_changes import require_keys
from connectors.bigquery.tables.mode_changes import require_merged
from connectors.bigquery.warehouse.job_facts import Changed, Ended, Metering
from connectors.bigquery.warehouse.table_facts import NewTable, TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_NUMBER_LABEL: Final = "kafka-connect-merge-number"
_COLUMNS: Final = (ColumnSchema("nothing", ColumnType.INTEGER),)
"""A table needs a column, so the table that notes the number has this one."""
_NOTE_EVERY_S: Final = 3600.0
"""The number is noted so often, as a search has to begin at a recent one: BigQuery forgets jobs after half a year."""


_QUIET_S: Final = 3.0
"""A line rests if no statement follows for so long. A merge has up to three statements, one right after the other."""


def _line_of(target: str) -> str:
    # An id holds letters, digits, _ and -; the name of a table may hold more, so it is hashed.
    return f"kafka-connect-merge-{hashlib.sha256(target.encode()).hexdigest()[:24]}"


class ColumnsCameError(RetriableError):
    """Says that a table has columns by now which a statement does not know. `columns` are all that it has."""

    def __init__(self, target: str, columns: Columns) -> None:
        super().__init__(f"Table {target} has got columns, so its merge is made anew.")
        self.columns = columns


class MergeLine:
    """Sends one process's statements into the lines of tables. Several threads use it, each for another table."""

    def __init__(
        self, warehouse: Warehouse, now_s: Callable[[], float] = time.monotonic, spending: Spending = UNBOUNDED
    ) -> None:
        self._warehouse = warehouse
        self._now_s = now_s
        self._spending = spending
        self._next: dict[str, int] = {}
        self._with_own: set[str] = set()
        """Holds the tables whose last known statement, of the number before `_next`, was one of this process."""
        self._noted_at_s: dict[str, float] = {}
        self._keys: dict[str, str] = {}

    def require_budget(self, target: str) -> None:
        """Raise BudgetSpentError if a statement of this table is known to wait for the budget."""
        self._spending.require(target)

    def expect(self, target: str, keys: str) -> None:
        """Take the hash of the keys by which the table's next statements tell rows apart; it is empty if not known."""
        if self._keys.get(target) != keys:
            self._with_own.discard(target)
            self._keys[target] = keys

    def look_again(self, target: str) -> None:
        """Have the table's next statement look at its label and columns, whoever took the last number."""
        self._with_own.discard(target)

    def begin(self, target: str, statements: Sequence[str]) -> None:
        """Raise BudgetSpentError if the bytes left in the budget are too few for all of these statements."""
        self._spending.begin(target, statements)

    def run(
        self, target: str, sql: str, doing: str, kind: Kind = Kind.MERGE, *, columns: Columns | None = None
    ) -> Changed:
        """Run a statement once all those before it have ended. Raise RetriableError if nobody knows whether it ran.

        `columns` are those that the statement has to know of the table; None: it may know some alone. Raise
        ColumnsCameError, before it runs, if another process may have filled further ones.
        """
        return self._run(target, sql, doing, kind, columns, reads=False)

    def read(
        self, target: str, sql: str, doing: str, kind: Kind, *, columns: Columns | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Run a query in the line of the table, as `run` runs a statement, and return its rows."""
        return self._run(target, sql, doing, kind, columns, reads=True).rows

    def _run(self, target: str, sql: str, doing: str, kind: Kind, columns: Columns | None, *, reads: bool) -> Changed:
        line = _line_of(target)
        metering, number = self._spending.metering(target, sql, kind), self._number(target, line)
        keys, is_known = self._keys.get(target, ""), target in self._with_own
        metering = _LabelledMetering(self._warehouse, target, metering, keys, columns, is_known=is_known)
        done = self._warehouse.run(sql, line, doing, first_attempt=number, metering=metering, reads=reads)
        self._next[target] = done.attempt + 1
        self._with_own.add(target)
        return done

    def end(self, target: str) -> None:
        """Wait for the last statement of a table. The caller has labelled the table, so that no further one begins.

        This takes the next number. A process that did not see the label finds its number taken, and looks again.
        """
        line = _line_of(target)
        # A process that merges makes this table before it looks at the label; somebody may have dropped it since.
        if self._warehouse.table(merges_table(target)) is None and not self._was_merged(target, line):
            return
        doing, number = f"ending the merges of table {target}", self._number(target, line)
        self._next[target] = self._warehouse.run("SELECT 1 AS ended", line, doing, first_attempt=number).attempt + 1

    def wait_until_it_rests(self, target: str, pause: Callable[[float], None]) -> None:
        """Wait until the last statement has ended and no other one follows soon. `pause` waits for so many seconds."""
        line, last = _line_of(target), -1
        while True:
            number = self._last(line, max(last, self._number(target, line) - 1))
            if number == last:
                return
            if number >= 0:
                self._warehouse.wait_for(line, number)
            last = number
            pause(_QUIET_S)

    def _last(self, line: str, known: int) -> int:
        """Return the number of the last job of a line, or -1 if it has no job. All numbers up to `known` are taken."""
        return known + first_free(lambda count: self._warehouse.has_attempt(line, known + 1 + count))

    def _number(self, target: str, line: str) -> int:
        """Return a number that may be free as far as this process knows. The jobs of all lower numbers have ended."""
        number = self._next.get(target)
        if number is not None and self._now_s() - self._noted_at_s[target] < _NOTE_EVERY_S:
            return number
        noted = self._noted(target, line)
        if number is None:
            free = noted + first_free(lambda count: self._warehouse.has_attempt(line, noted + count))
            # The last job may still run. A statement that is submitted under its number waits for its end.
            number = max(noted, free - 1)
        elif number < noted:  # the line began anew, or this process merged nothing for long
            number = noted
            self._with_own.discard(target)
        if number > noted:
            self._note(target, number)
        self._next[target], self._noted_at_s[target] = number, self._now_s()
        return number

    def _noted(self, target: str, line: str) -> int:
        """Return the number that was noted last. It was still free an hour before the table's last merge, or later."""
        found = self._warehouse.table(merges_table(target))
        if found is not None:
            return _number_in(found)
        number = _number_in(self._warehouse.table(target))
        if number or self._warehouse.has_attempt(line, 0):
            _log.warning(
                "Table %s is gone, and is made again. It notes how far the line of merges into table %s is: do not "
                "drop it while a process may merge.", merges_table(target), target,
            )  # fmt: skip
        self._warehouse.create(NewTable(merges_table(target), _COLUMNS))
        if number:
            self._warehouse.label(merges_table(target), {_NUMBER_LABEL: str(number)})
        return number

    def _note(self, target: str, number: int) -> None:
        """Note a number in the table that is made for it, and in the target, as somebody may drop the former."""
        labels = {_NUMBER_LABEL: str(number)}
        self._warehouse.label(merges_table(target), labels)
        if self._warehouse.table(target) is not None:
            self._warehouse.label(target, labels)

    def _was_merged(self, target: str, line: str) -> bool:
        """Return True if BigQuery remembers the first merge of a table, or the table's label notes a number."""
        return self._warehouse.has_attempt(line, 0) or _number_in(self._warehouse.table(target)) > 0


def _number_in(table: TableFacts | None) -> int:
    """Return the number that a label of a table notes; 0 if there is no table or label."""
    return 0 if table is None else int(table.labels.get(_NUMBER_LABEL, 0))


class _LabelledMetering:
    """Lets a job be submitted only if its table still allows merges by the same keys, and has no further columns."""

    def __init__(
        self,
        warehouse: Warehouse,
        target: str,
        metering: Metering,
        keys: str,
        columns: Columns | None,
        *,
        is_known: bool,
    ) -> None:
        """Take the table, its keys and columns. `is_known` is True if the table needs no look before the first job."""
        self._warehouse = warehouse
        self._target = target
        self._metering = metering
        self._keys = keys
        self._columns = columns
        self._is_known = is_known

    def limit_bytes(self, job_id: str) -> int | None:
        if not self._is_known:
            table = require_merged(self._warehouse, self._target)
            if table is not None:
                require_keys(self._warehouse, table, self._keys)
                if self._columns is not None and by_name(table.columns).keys() - by_name(self._columns).keys():
                    raise ColumnsCameError(self._target, table.columns)
        self._is_known = False  # if the number is taken, the end of the line may have taken it
        return self._metering.limit_bytes(job_id)

    def ended(self, job: Ended) -> None:
        self._metering.ended(job)


def first_free(is_taken: Callable[[int], bool]) -> int:
    """Return the first free number n, after about 2 log2(n) questions. All numbers below a taken one must be taken."""
    high = 1
    while is_taken(high - 1):
        high *= 2
    return bisect_left(range(high), True, lo=high // 2, hi=high - 1, key=lambda number: not is_taken(number))
