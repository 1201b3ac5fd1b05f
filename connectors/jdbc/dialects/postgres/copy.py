"""Reads PostgreSQL's rows as Arrow by native code: COPY in binary form by psycopg's libpq, on a separate connection.

It takes half of the ADBC driver's CPU time, which stands in where there is no native code.
"""

from __future__ import annotations

import select
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result

from connect.api.errors import ConnectError, SchemaError
from connectors.jdbc.connection.arrow_pages import ArrowPages, Columns
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.connection.pages import PageRules, Pages
from connectors.jdbc.connection.unchecked_text import AS_STORED, checked, is_unchecked
from connectors.jdbc.dialects.postgres.arrow import columns_told, taking_up
from connectors.jdbc.native import columns_of, libpq_module
from connectors.jdbc.values.types import ColumnPlan, Raw
from connectors.jdbc.values.unconvertible_rows import BadCells

_CHUNK_BYTES: Final = 8 << 20
_KINDS: Final = {
    16: "b", 17: "z", 19: "u", 20: "l", 21: "s", 23: "i", 25: "u", 26: "o", 114: "u", 700: "f", 701: "g", 1042: "u",
    1043: "u", 1082: "D", 1083: "T", 1114: "t", 1184: "Z",
}  # fmt: skip
"""Maps a type's oid (pg_type.dat) to the letter by which the native code knows the type."""
_FITTING: Final = {
    Raw.INTEGER: "silo", Raw.FLOAT: "fg", Raw.DECIMAL: "u", Raw.BOOLEAN: "b", Raw.TEXT: "u", Raw.BYTES: "z",
    Raw.DATE: "D", Raw.TIME: "T", Raw.WALL_CLOCK: "tZ", Raw.INSTANT: "tZ",
}  # fmt: skip
_END, _FAILED, _MALFORMED, _NOT_UTF8 = 1, 2, 3, 4
_CONNECT_FIX = "Check connection.url, connection.user and connection.password."


class PostgresCopy:
    """Reads the rows of statements as Arrow; `libpq_module()` must not be None.

    Owned by the reading thread; `interrupt` is for any thread.
    """

    def __init__(self, arguments: Mapping[str, Any], statements: tuple[str, ...]) -> None:
        """Take the parameters of libpq in `arguments`, and the statements that each session begins with."""
        self._arguments = arguments
        self._statements = statements
        self._connection: psycopg.Connection[Any] | None = None
        self._reading = False

    def pages(
        self, sql: str, rules: PageRules, errors: ErrorTranslator, doing: str, snapshot: str | None = None
    ) -> Pages:
        """Return the pages of rows of a statement without parameters, read in the exported snapshot if one is named.

        SchemaError: a column has another type than its plan was made for.
        """
        connection = self._begun(errors, doing, snapshot)
        with errors.translated(doing):
            told = columns_told(_described(connection, sql))
            plans = rules.format.columns
            if len(told) != len(plans):
                raise SchemaError(
                    f"The statement has {len(told)} columns, not {len(plans)}.", fix="Set reader=generic."
                )
            sql = _with_known_types(sql, told, plans)
            kinds = _kinds(told, plans, takes_any_text=is_unchecked(connection))
            _ran(connection, f"COPY ({sql}) TO STDOUT (FORMAT binary)", pq.ExecStatus.COPY_OUT)
        self._reading = True
        bad: BadCells | None = {} if rules.sets_bad_aside else None
        chunks = checked(self._chunks(connection, kinds, rules, errors, doing), rules.format, bad)
        return ArrowPages(chunks, rules, self._leave, bad)

    def describe(
        self, sql: str, errors: ErrorTranslator, doing: str, snapshot: str | None = None
    ) -> Sequence[tuple[str, int, int]]:
        """Return a statement's columns. The transaction stays open for `pages`; until its end they cannot change."""
        connection = self._begun(errors, doing, snapshot)
        with errors.translated(doing):
            return columns_told(_described(connection, sql))

    def _begun(self, errors: ErrorTranslator, doing: str, snapshot: str | None) -> psycopg.Connection[Any]:
        with errors.translated("connecting", _CONNECT_FIX):
            connection = self._connection = self._connection or self._connect()
        with errors.translated(doing):
            if connection.pgconn.transaction_status == pq.TransactionStatus.IDLE:
                _ran(connection, "BEGIN")
                for statement in taking_up(snapshot):
                    _ran(connection, statement)
        return connection

    def end_transaction(self) -> None:
        """End the transaction, and with it the snapshot and every lock."""
        self._leave()
        connection = self._connection
        if connection is not None and connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            _ran(connection, "ROLLBACK")

    def interrupt(self) -> None:
        """Cancel a running statement. For any thread."""
        connection = self._connection
        # It may end, or be closed, at this very moment.
        with suppress(psycopg.Error):
            if connection is not None and not connection.closed:
                connection.cancel()

    def close(self) -> None:
        """Close the connection; errors of a connection that is already closed are ignored."""
        connection, self._connection, self._reading = self._connection, None, False
        with suppress(psycopg.Error):
            if connection is not None:
                connection.close()

    def _leave(self) -> None:
        """Close the connection if a statement was not read to its end: its other rows would have to be read first."""
        if self._reading:
            self.close()

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.Connection.connect(**{**self._arguments, "client_encoding": "utf8"}, autocommit=True)
        for statement in (*self._statements, *([AS_STORED] if is_unchecked(connection) else [])):
            _ran(connection, statement)
        return connection

    def _chunks(
        self, connection: psycopg.Connection[Any], kinds: str, rules: PageRules, errors: ErrorTranslator, doing: str
    ) -> Iterator[Columns]:
        native = libpq_module()
        assert native is not None
        first, server = True, _server(connection)
        while self._reading:
            with errors.translated(doing):
                status, place, made = native.read_copy(server.pgconn_ptr, kinds, first, rules.rows, _CHUNK_BYTES)
                if status == _FAILED:
                    raise psycopg.OperationalError(server.get_error_message())
                if status == _END:
                    _finished(connection)
                    self._reading = False
            first = False
            if status in {_MALFORMED, _NOT_UTF8}:
                raise _unreadable(status, place, rules, errors, doing)
            columns = columns_of(made)
            if columns and len(columns[0]):
                yield columns


def _unreadable(status: int, place: int, rules: PageRules, errors: ErrorTranslator, doing: str) -> ConnectError:
    if status == _NOT_UTF8:
        name = rules.format.columns[place].name
        why = ValueError(f"column {name} holds text that is not valid in the database's encoding")
        return ConnectError(errors.failed(doing, why), key="query", fix="Mend the row, or cast the column to bytea.")
    return ConnectError(
        errors.failed(doing, ValueError("the server's rows have another form than it announced")),
        fix="Set reader=generic.",
    )


def _described(connection: psycopg.Connection[Any], sql: str) -> Any:
    """Return the server's description of a statement, without running it.

    From then on the transaction has locks on the statement's tables.
    """
    server = connection.pgconn
    _checked(connection, server.prepare(b"", sql.encode()), pq.ExecStatus.COMMAND_OK)
    server.send_describe_prepared(b"")
    return _checked(connection, _answer(server), pq.ExecStatus.COMMAND_OK)


def _kinds(told: Sequence[tuple[str, int, int]], plans: Sequence[ColumnPlan], *, takes_any_text: bool) -> str:
    """Return the letters of `_KINDS` for the columns of a statement of `_with_known_types`."""
    found = []
    for (_, oid, _), plan in zip(told, plans, strict=True):
        kind = "u" if _is_cast(oid, plan) else _KINDS.get(oid, "")
        if not kind or kind not in _FITTING[plan.raw]:
            known = psycopg.postgres.types.get(oid)
            raise SchemaError(
                f"The column comes as {known.name if known else f'type {oid}'}, not as {plan.raw}.",
                field=plan.name,
                fix="Set reader=generic.",
            )
        found.append("z" if takes_any_text and plan.raw is Raw.TEXT else kind)
    return "".join(found)


def _with_known_types(sql: str, told: Sequence[tuple[str, int, int]], plans: Sequence[ColumnPlan]) -> str:
    """Return a statement that gives text of a type that the native code does not know, such as "char", as `text`.

    Its rows come in the order of the given statement.
    """
    casts = [_is_cast(oid, plan) for (_, oid, _), plan in zip(told, plans, strict=True)]
    if not any(casts):
        return sql
    names = [f"c{i}" for i in range(len(casts))]
    columns = (f"{name}::text" if cast else name for name, cast in zip(names, casts, strict=True))
    return f"SELECT {', '.join(columns)} FROM ({sql}) AS read({', '.join(names)})"  # noqa: S608 - names from here


def _is_cast(oid: int, plan: ColumnPlan) -> bool:
    return plan.raw is Raw.TEXT and oid not in _KINDS


def _answer(server: Any) -> Any:
    """Wait for the server's next result and return it. psycopg's own call would let no other thread run meanwhile."""
    found = None
    while True:
        while server.is_busy():
            select.select([server.socket], [], [])
            server.consume_input()
        result = server.get_result()
        if result is None:
            return found
        found = result


def _server(connection: psycopg.Connection[Any]) -> Any:
    return connection.pgconn


def _ran(connection: psycopg.Connection[Any], sql: str, *wanted: int) -> None:
    done = wanted or (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
    _checked(connection, connection.pgconn.exec_(sql.encode()), *done)


def _finished(connection: psycopg.Connection[Any]) -> None:
    while (result := connection.pgconn.get_result()) is not None:
        _checked(connection, result, pq.ExecStatus.COMMAND_OK)


def _checked(connection: psycopg.Connection[Any], result: Any, *wanted: int) -> Any:
    if result.status in wanted:
        return result
    server = _server(connection)
    if server.status != pq.ConnStatus.OK:
        raise psycopg.OperationalError(server.get_error_message())
    raise error_from_result(result, encoding="utf-8")
