"""Makes the SQL for a log beside a table: the view of both, and the queries of a compaction. Text only.

The view reads what the MERGE of a compaction writes, by the same parts of SQL, so that it shows the same rows before,
between and after the statements of a compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from connectors.bigquery.dedup.clear_sql import Clears
from connectors.bigquery.dedup.merge_sql import Merge
from connectors.bigquery.dedup.rules import CLEARS, IS_APPEND, IS_DELETE, KAFKA_OFFSET, SOFT_DELETED, Deletes
from connectors.bigquery.dedup.side_tables import LOG_BATCH, LOG_BOUND
from connectors.bigquery.rows.quoting import Quote, backticks, literal


@dataclass(frozen=True, slots=True)
class LogView:
    """Makes the view that shows a table and its log as one. `merge` is the MERGE of the whole log into the table.

    `has_appends`: some rows of the log replace no row, whatever their key.
    """

    merge: Merge
    has_appends: bool

    def text(self) -> str:
        """Return the query of the view. The table has one row of each key, and the log any number of them."""
        merge = self.merge
        table = merge.target
        if merge.has_clears:
            clears = Clears(merge.staged, merge.keys, merge.quote)
            left = clears.left(table, nested=True, searched=merge.no_own_row("T"))
            table = f"({self._cleared(clears) if self._is_soft else left})"
            if merge.tombstones is not None:
                merge = replace(merge, tombstones=f"({clears.left(merge.tombstones, nested=False)})")
        parts = [self._of_table(table), self._of_log(table, merge)]
        if self.has_appends:
            parts.append(self._of_appends(table))
        return "\nUNION ALL\n".join(parts)

    @property
    def _is_soft(self) -> bool:
        return self.merge.deletes is Deletes.SOFT

    @property
    def _marks(self) -> frozenset[str]:
        """Return the columns of a row that a soft delete changes."""
        return frozenset({*self.merge.order, SOFT_DELETED}).difference(self.merge.keys)

    def _of_table(self, table: str) -> str:
        """Return SQL of the table's rows that no row of the log takes the place of; soft deletes only mark them."""
        merge, quote = self.merge, self.merge.quote
        is_delete = f"S.{quote(IS_DELETE)}"
        shown, kept = self._names("T"), f"{is_delete} IS NULL"
        if self._is_soft:
            shown = ", ".join(
                f"CASE WHEN {is_delete} THEN {merge.value(name)} ELSE T.{quote(name)} END AS {quote(name)}"
                if name in self._marks
                else f"T.{quote(name)}"
                for name in merge.columns
            )
            kept = f"{is_delete} IS NOT FALSE"
        return "\n".join([
            f"SELECT {shown} FROM {table} AS T LEFT JOIN (",  # noqa: S608 - names alone
            merge.winners(),
            f") AS S ON {merge.same('S', 'T')} AND {merge.newer('S', 'T')}{merge.no_others_row()} WHERE {kept}",
        ])  # fmt: skip

    def _of_log(self, table: str, merge: Merge) -> str:
        """Return SQL of the log's rows that the table has not, nor a newer one."""
        is_delete = f"S.{merge.quote(IS_DELETE)}"
        is_in_table = f"NOT {merge.newer('S', 'T')}"
        kept = f"{merge.ref('T', merge.keys[0])} IS NULL"
        if self._is_soft:
            is_in_table = f"({is_in_table} OR {is_delete})"
        else:
            kept += f" AND NOT {is_delete}"
        is_in_table += merge.no_others_row()
        return "\n".join([
            f"SELECT {self._values()} FROM (",  # noqa: S608 - names alone
            merge.source(),
            f") AS S LEFT JOIN {table} AS T ON {merge.same('S', 'T')} AND {is_in_table} WHERE {kept}",
        ])  # fmt: skip

    def _of_appends(self, table: str) -> str:
        """Return SQL of the log's rows of their own that the table has not yet."""
        merge = self.merge
        return "\n".join([
            f"SELECT {self._values()} FROM (",  # noqa: S608 - names alone
            merge.appended(),
            f") AS S LEFT JOIN {table} AS T ON {merge.same_place('S', 'T')}",
            f"WHERE T.{merge.quote(KAFKA_OFFSET)} IS NULL",
        ])  # fmt: skip

    def _cleared(self, clears: Clears) -> str:
        """Return SQL of the table's rows; those that tombstones without an order remove are marked, and lack it."""
        merge, quote = self.merge, self.merge.quote
        is_left = f"S.{quote(KAFKA_OFFSET)} IS NULL"

        def shown_as(name: str) -> str:
            if name not in self._marks:
                return f"T.{quote(name)}"
            otherwise = "TRUE" if name == SOFT_DELETED else "NULL"
            return f"CASE WHEN {is_left} THEN T.{quote(name)} ELSE {otherwise} END AS {quote(name)}"

        shown = map(shown_as, merge.columns)
        rows = clears.with_last(merge.target, nested=True, searched=merge.no_own_row("T"))
        return f"SELECT {', '.join(shown)} FROM {rows}"  # noqa: S608 - names

    def _names(self, alias: str) -> str:
        return ", ".join(f"{alias}.{self.merge.quote(name)}" for name in self.merge.columns)

    def _values(self) -> str:
        return ", ".join(f"{self.merge.value(name)} AS {self.merge.quote(name)}" for name in self.merge.columns)


@dataclass(frozen=True, slots=True)
class LogParts:
    """Makes the statements that list, read and delete batches of a log (quoted). A batch comes and goes as a whole."""

    log: str
    quote: Quote = backticks

    def batches(self, *, clears: bool, ranged: Sequence[str] = ()) -> str:
        """Return the query of all batches, with the counts and bounds that a merge needs. `clears`: the log has CLEARS.

        The range of each key of `ranged` is a pair of columns: least_0 and most_0 for the first.
        """
        batch, bound = self.quote(LOG_BATCH), self.quote(LOG_BOUND)
        marks = {"deletes": IS_DELETE, "appends": IS_APPEND, **({"clears": CLEARS} if clears else {})}
        counts = ", ".join(
            f"SUM(CASE WHEN {self.quote(mark)} THEN 1 ELSE 0 END) AS {name}" for name, mark in marks.items()
        )
        for number, key in enumerate(map(self.quote, ranged)):
            counts += f", MIN({key}) AS least_{number}, MAX({key}) AS most_{number}"
        return (
            f"SELECT {batch} AS batch, {bound} AS bound, COUNT(*) AS row_count, {counts}\n"
            f"FROM {self.log} GROUP BY {batch}, {bound}"
        )

    def rows_of(self, batches: Sequence[str]) -> str:
        """Return the query of the rows of some batches, as a source of a MERGE."""
        return f"(SELECT * FROM {self.log} WHERE {self._among(batches)})"  # noqa: S608 - quoted

    def valued(self, batches: Sequence[str], columns: Sequence[str]) -> str:
        """Return the query that counts the rows of some batches which have a value in a column: count_0 for the first.

        An empty list, which cannot be NULL, counts as a value.
        """
        counts = ", ".join(f"COUNT({self.quote(name)}) AS count_{number}" for number, name in enumerate(columns))
        return f"SELECT {counts} FROM {self.log} WHERE {self._among(batches)}"  # noqa: S608 - quoted

    def forget(self, batches: Sequence[str]) -> str:
        """Return the statement that deletes batches."""
        return f"DELETE FROM {self.log} WHERE {self._among(batches)}"  # noqa: S608 - quoted

    def _among(self, batches: Sequence[str]) -> str:
        return f"{self.quote(LOG_BATCH)} IN ({', '.join(map(literal, batches))})"
