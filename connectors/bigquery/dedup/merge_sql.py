"""Makes the SQL of deduplication: a guarded MERGE of staged rows into the table. BigQuery and DuckDB take the text.

The guard is what makes a replay harmless: a staged row takes the place of a row only if its order is larger. NULL is
the smallest order, so rows that were there before dedup began give way to any record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.bigquery.dedup.clear_sql import Clears, not_cleared, same_log
from connectors.bigquery.dedup.key_bounds import KeyBound
from connectors.bigquery.dedup.rules import (
    CLEARS,
    DELETED_AT,
    IS_APPEND,
    IS_DELETE,
    KAFKA_OFFSET,
    KAFKA_PARTITION,
    KAFKA_ROW,
    KAFKA_TOPIC,
    KAFKA_TOPIC_ID,
    LATE,
    SOFT_DELETED,
    Deletes,
    Keep,
    flat,
)
from connectors.bigquery.rows.quoting import Quote, backticks


@dataclass(frozen=True, slots=True)
class Bound:
    """Says which partitions a MERGE searches: those of `column` from `least` on.

    `least` is SQL of a constant, as BigQuery leaves no partition out for the values of a join.
    """

    column: str
    least: str


@dataclass(frozen=True, slots=True)
class Merge:
    """Describes one MERGE by names of tables and columns, and makes its statements.

    `target`, `staged`, `tombstones` and `cleared` are quoted tables; the other names are columns.

    * `columns` are the table's; `present` are those that the staged tables have. The others become NULL in a row.
    * `keys` and `order` are those of dedup. A key may be a member of a record, as `key.id`; `order` ends with the
      tie-break.
    * `tombstones` remembers hard deletes; `cleared` remembers tombstones with the mark CLEARS. `remembered_order` has
      the columns of the order that `tombstones` has; None: all.
    * `bound` None: the whole table is searched. `key_bounds` hold the keys of all staged rows.
    * `takes_earlier`: with FIRST, a staged row of smaller order replaces a row, for batches that come in any order.
    * `has_clears`: the staged tables have the column CLEARS.
    * `deletes_appended`: a remembered delete also removes older rows of its key that were appended.
    * `floats` are the columns of the type FLOAT.
    """

    target: str
    staged: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    order: tuple[str, ...]
    present: frozenset[str]
    keep: Keep = Keep.LATEST
    deletes: Deletes = Deletes.TOMBSTONE
    tombstones: str | None = None
    remembered_order: tuple[str, ...] | None = None
    bound: Bound | None = None
    key_bounds: tuple[KeyBound, ...] = ()
    takes_earlier: bool = False
    has_clears: bool = False
    cleared: str | None = None
    deletes_appended: bool = False
    floats: frozenset[str] = frozenset()
    quote: Quote = backticks

    def text(self) -> str:
        """Return the text of the MERGE into the table."""
        lines = [
            f"MERGE INTO {self.target} AS T",
            f"USING (\n{self.source()}\n) AS S",
            f"ON {self.same('S', 'T')}{self._searched()}{self._among_keys()}{self.no_others_row()}",
        ]
        if self.keep is Keep.FIRST:
            earlier = [self._update(self.newer("T", "S"), self.columns)] if self.takes_earlier else []
            return "\n".join([*lines, *earlier, self._insert("")])
        newer = self.newer("S", "T")
        match self.deletes:
            case Deletes.IGNORE:
                return "\n".join([*lines, self._update(newer, self.columns), self._insert("")])
            case Deletes.SOFT:
                alive = f"NOT S.{self._is_delete}"
                marks = (*self.order, SOFT_DELETED)
                return "\n".join([
                    *lines,
                    self._update(f"{alive} AND {newer}", self.columns),
                    self._update(f"S.{self._is_delete} AND {newer}", marks),
                    self._insert(""),
                ])  # fmt: skip
        return "\n".join([
            *lines,
            f"WHEN MATCHED AND S.{self._is_delete} AND {newer} THEN DELETE",
            self._update(f"NOT S.{self._is_delete} AND {newer}", self.columns),
            self._insert(f" AND NOT S.{self._is_delete}"),
        ])  # fmt: skip

    def clear(self, now: str, *, remembers: bool = True) -> Sequence[str]:
        """Return the statements for tombstones with the mark CLEARS, to be run in this order before all others.

        The first remembers them if `remembers`, the next removes older deletes from `tombstones`, the last older rows
        from the table. `now`: SQL of the present time.
        """
        clears = Clears(self.staged, self.keys, self.quote)
        then = "DELETE"
        if self.deletes is Deletes.SOFT:
            # Without an order the row gives way to whatever comes after. NULLIF makes a NULL of the column's own type.
            names = [self.ref("T", name) for name in self.order if name not in self.keys]
            then = ", ".join(f"{name.removeprefix('T.')} = NULLIF({name}, {name})" for name in names)
            then = f"UPDATE SET {then}, {self.quote(SOFT_DELETED)} = TRUE"
        statements = [clears.remember(self.cleared, now)] if remembers and self.cleared is not None else []
        if self.tombstones is not None:
            statements.append(clears.take_out(self.tombstones, "DELETE", nested=False))
        return [
            *statements,
            clears.take_out(
                self.target, then, nested=True, searched=self._searched() + self._among_keys() + self.no_own_row("T")
            ),
        ]

    def remember_deletes(self, now: str) -> str:
        """Return the MERGE of this batch's deletes into `tombstones`, to be run before `text`.

        `now`: SQL of the present time.
        """
        assert self.tombstones is not None
        marks = [c for c in self._deletes_order if c not in self.keys]
        names, deleted_at = [*self.keys, *marks], self.quote(DELETED_AT)
        quoted = [self.quote(flat(name)) for name in names]
        sets = ", ".join([*(f"{q} = S.{q}" for q in map(self.quote, marks)), f"{deleted_at} = {now}"])
        return "\n".join([
            f"MERGE INTO {self.tombstones} AS T",
            f"USING (\n{self.winners()}\n) AS S",
            f"ON {self.same('S', 'T', is_flat=True)}",
            f"WHEN MATCHED AND S.{self._is_delete} AND {self.newer_than_delete('S', 'T')} THEN UPDATE SET {sets}",
            f"WHEN NOT MATCHED AND S.{self._is_delete} THEN INSERT ({', '.join(quoted)}, {deleted_at})",
            f"VALUES ({', '.join(self.ref('S', name) for name in names)}, {now})",
        ])  # fmt: skip

    def newer(self, one: str, other: str) -> str:
        """Return SQL that is true if the order of `one` is larger than that of `other`, both aliases.

        NULL is the smallest order, and NaN the next, as ORDER BY sorts them; the SQL itself is never NULL.
        """
        return self._newer(one, other, self.order)

    def newer_than_delete(self, one: str, delete: str) -> str:
        """Return SQL that is true if the order of `one` is larger than that of a remembered delete, both aliases."""
        return self._newer(one, delete, self._deletes_order)

    @property
    def _deletes_order(self) -> tuple[str, ...]:
        return self.order if self.remembered_order is None else self.remembered_order

    def _newer(self, one: str, other: str, order: Sequence[str]) -> str:
        text = "FALSE"
        for name in reversed(order):
            a, b = f"{one}.{self.quote(name)}", f"{other}.{self.quote(name)}"
            # BigQuery finds no number larger than NaN, which it finds unequal to itself.
            over_nan = f" OR ({b} <> {b} AND {a} = {a})" if name in self.floats else ""
            larger = f"({a} IS NOT NULL AND ({b} IS NULL OR {a} > {b}{over_nan}))"
            text = larger if text == "FALSE" else f"({larger} OR ({a} IS NOT DISTINCT FROM {b} AND {text}))"
        return text

    @property
    def _is_delete(self) -> str:
        return self.quote(IS_DELETE)

    def append(self) -> str:
        """Return the MERGE that appends the staged rows with the mark IS_APPEND, each place once."""
        return "\n".join([
            f"MERGE INTO {self.target} AS T",
            f"USING (\n{self._appended_alive()}\n) AS S",
            f"ON {self.same_place('S', 'T')}{self._searched()}",
            self._insert("", late="TRUE"),
        ])  # fmt: skip

    def appended(self) -> str:
        """Return SQL that selects the staged rows with the mark IS_APPEND, each place once."""
        columns = ", ".join((*self._staged_names(), self._is_delete))
        rows = "\n  UNION ALL\n".join(
            f"  SELECT {columns} FROM {table} WHERE {self.quote(IS_APPEND)}"  # noqa: S608 - names alone
            for table in self.staged
        )
        one_each = ", ".join(map(self.quote, (KAFKA_TOPIC, KAFKA_PARTITION, KAFKA_OFFSET, KAFKA_TOPIC_ID)))
        if KAFKA_ROW in self.present.intersection(self.columns):
            one_each += f", COALESCE({self.quote(KAFKA_ROW)}, 0)"
        return "\n".join([
            "  SELECT * FROM (", rows, "  ) WHERE TRUE",
            f"  QUALIFY ROW_NUMBER() OVER (PARTITION BY {one_each} ORDER BY {self.quote(KAFKA_OFFSET)}) = 1",
        ])  # fmt: skip

    def _appended_alive(self) -> str:
        """Return SQL that selects the rows of their own that no remembered delete is newer than."""
        if not self.deletes_appended or self.tombstones is None:
            return self.appended()
        return "\n".join([
            "  SELECT A.* FROM (", self.appended(), f"  ) AS A LEFT JOIN {self.tombstones} AS D",
            f"  ON {self.same('A', 'D', is_flat=True)}",
            f"  WHERE D.{self.quote(DELETED_AT)} IS NULL OR {self.newer_than_delete('A', 'D')}",
        ])  # fmt: skip

    def same_place(self, one: str, other: str) -> str:
        """Return SQL that is true if a staged row and one of the table, by their aliases, have the same place: the
        record's coordinates and, of several rows of it, the row's number.
        """
        coordinates = (KAFKA_TOPIC, KAFKA_PARTITION, KAFKA_OFFSET)
        same = " AND ".join(f"{one}.{q} = {other}.{q}" for q in map(self.quote, coordinates))
        # Rows from before ids were kept have none.
        a, b = f"{one}.{self.quote(KAFKA_TOPIC_ID)}", f"{other}.{self.quote(KAFKA_TOPIC_ID)}"
        same += f" AND ({a} = {b} OR {a} IS NULL OR {b} IS NULL)"
        if KAFKA_ROW not in self.columns:
            return same
        number = self.quote(KAFKA_ROW)
        staged = f"COALESCE({one}.{number}, 0)" if KAFKA_ROW in self.present else "0"
        return f"{same} AND {staged} = COALESCE({other}.{number}, 0)"

    def ref(self, alias: str, name: str, *, is_flat: bool = False) -> str:
        """Return SQL of a column or a record's member; with `is_flat` the member is a column of its own."""
        parts = [flat(name)] if is_flat else name.split(".")
        return ".".join((alias, *map(self.quote, parts)))

    def same(self, one: str, other: str, *, is_flat: bool = False) -> str:
        """Return SQL that is true if the rows of two aliases have equal keys.

        With `is_flat` the members of records are columns of their own in `other`.
        """
        pairs = ((self.ref(one, key), self.ref(other, key, is_flat=is_flat)) for key in self.keys)
        return " AND ".join(f"{a} = {b}" for a, b in pairs)

    def _searched(self) -> str:
        if self.bound is None:
            return ""
        column = f"T.{self.quote(self.bound.column)}"
        return f" AND ({column} >= {self.bound.least} OR {column} IS NULL)"

    def no_own_row(self, alias: str) -> str:
        """Return SQL that leaves out the rows that late records have as their own, whatever their key."""
        return f" AND {alias}.{self.quote(LATE)} IS NOT TRUE" if LATE in self.columns else ""

    def no_others_row(self) -> str:
        """Return SQL that leaves out late records' own rows, but for the one of the staged record itself.

        A new owner may read a late record again before any newer one, and then it is not late.
        """
        places = {KAFKA_TOPIC, KAFKA_PARTITION, KAFKA_OFFSET, KAFKA_TOPIC_ID}
        if LATE not in self.columns or not places.issubset(self.present.intersection(self.columns)):
            return self.no_own_row("T")
        return f" AND (T.{self.quote(LATE)} IS NOT TRUE OR ({self.same_place('S', 'T')}))"

    def _among_keys(self) -> str:
        return "".join(f" AND {bound.sql(self.ref('T', bound.column))}" for bound in self.key_bounds)

    def winners(self) -> str:
        """Return SQL that selects of each key the staged row that stays."""
        # Two batches may hold the same record, as after a replay: its rows are alike, and either will do.
        marks = (IS_DELETE, IS_APPEND, CLEARS) if self.has_clears else (IS_DELETE, IS_APPEND)
        columns = ", ".join((*self._staged_names(), *map(self.quote, marks)))
        rows = "\n  UNION ALL\n".join(f"  SELECT {columns} FROM {table}" for table in self.staged)  # noqa: S608 - names
        direction = "DESC NULLS LAST" if self.keep is Keep.LATEST else "ASC NULLS FIRST"
        order = ", ".join(f"{self.quote(name)} {direction}" for name in self.order)
        keys = ", ".join(self.ref("R", key) for key in self.keys)
        if self.has_clears:
            rows = not_cleared(rows, self.keys, self.quote)
        if self.cleared is not None:
            same = f"{self.same('R', 'C', is_flat=True)} AND {same_log('R', 'C', self.quote)}"
            offset = self.quote(KAFKA_OFFSET)
            is_left = f"C.{offset} IS NULL OR R.{offset} > C.{offset}"
            rows = f"  SELECT R.* FROM (\n{rows}\n  ) AS R LEFT JOIN {self.cleared} AS C\n  ON {same} WHERE {is_left}"  # noqa: S608 - names
        return "\n".join([
            "  SELECT * FROM (", rows, f"  ) AS R WHERE NOT {self.quote(IS_APPEND)}",
            f"  QUALIFY ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {order}) = 1",
        ])  # fmt: skip

    def source(self) -> str:
        """Return SQL that selects the winners, without those for which a newer delete is remembered."""
        if self.tombstones is None:
            return self.winners()
        # A delete goes on although its tombstone, just written, is as new as itself.
        return "\n".join([
            "  SELECT W.* FROM (", self.winners(), f"  ) AS W LEFT JOIN {self.tombstones} AS D",
            f"  ON {self.same('W', 'D', is_flat=True)}",
            f"  WHERE W.{self._is_delete} OR D.{self.quote(DELETED_AT)} IS NULL OR {self.newer_than_delete('W', 'D')}",
        ])  # fmt: skip

    def _staged_names(self) -> list[str]:
        return [self.quote(name) for name in self.columns if name in self.present]

    def value(self, name: str) -> str:
        """Return SQL of the value that a column gets from the staged row of alias S."""
        if name == SOFT_DELETED and self.deletes is Deletes.SOFT:
            return f"S.{self._is_delete}"
        return f"S.{self.quote(name)}" if name in self.present else "NULL"

    def _update(self, condition: str, names: Sequence[str]) -> str:
        sets = ", ".join(f"{self.quote(name)} = {self._set_to(name)}" for name in names if name not in self.keys)
        return f"WHEN MATCHED AND {condition} THEN UPDATE SET {sets}"

    def _set_to(self, name: str) -> str:
        """Return SQL of the value that an update sets; the NULL of a column that the rows lack has the column's type,
        as the embedded service takes no other one.
        """
        value = self.value(name)
        return f"CASE WHEN FALSE THEN T.{self.quote(name)} END" if value == "NULL" else value

    def _insert(self, condition: str, late: str = "NULL") -> str:
        names = ", ".join(map(self.quote, self.columns))
        values = ", ".join(late if name == LATE else self.value(name) for name in self.columns)
        return f"WHEN NOT MATCHED{condition} THEN INSERT ({names}) VALUES ({values})"  # noqa: S608 - names alone
