"""Connections to a cluster, and the driver's errors in the words of the contract."""

from __future__ import annotations

import re
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from cassandra import (
    AuthenticationFailed,
    ConsistencyLevel,
    CoordinationFailure,
    InvalidRequest,
    OperationTimedOut,
    Timeout,
    Unauthorized,
    Unavailable,
)
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    ResponseFuture,
    Session,
)
from cassandra.connection import ConnectionException
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.protocol import ProtocolHandler, ResultMessage, ServerError
from cassandra.query import BoundStatement, PreparedStatement, tuple_factory

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.cassandra.contact import ContactKeys
from connectors.cassandra.pages import Page, split_columns
from connectors.cassandra.retries import AnotherNode
from connectors.cassandra.statements import Query

_AWAY: Final = (NoHostAvailable, OperationTimedOut, Timeout, Unavailable, CoordinationFailure, ConnectionException,
                ServerError)  # fmt: skip
_KEYS: Final = 1000
"""More keys than that do not share a token."""
_PAGES: Final = "pages"
"""The driver's profile for pages."""
_SECOND_NODE: Final = 0.1
"""The part of a page's time after which another node is asked for it too, and the answer that comes first counts.

A node that lives waits for a replica that has died until it hears of that death, which takes up to 20 s.
"""
_AGREEMENT_S: Final = 1.0
_REFUSED: Final = re.compile(r"User (\S+) has no (\w+) permission on <(all keyspaces|keyspace|table) ?([^>]*)>")


class TableGoneError(ConnectError):
    """The server refuses a statement about a table: it is not there, or not as it was."""


class MissingRightError(ConnectError):
    """The user lacks a right. `grant`: the statement that gives it; empty where the server does not say which."""

    def __init__(self, message: str, grant: str) -> None:
        super().__init__(message, key="username", fix=grant or "Grant the user SELECT on it.")
        self.grant = grant


def grant_of(message: str) -> str:
    """The GRANT that a refusal asks for, out of the server's words. Pure."""
    found = _REFUSED.search(message)
    if found is None:
        return ""
    user, permission, kind, resource = found.groups()
    named = ".".join(f'"{part}"' for part in resource.split(".", 1)) if resource else ""
    return f"GRANT {permission} ON {kind.upper()} {named}".rstrip() + f' TO "{user}";'


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise the driver's errors as ours. `doing` names the step and what it is about."""
    try:
        yield
    except NoHostAvailable as error:
        causes = list(error.errors.values()) if isinstance(error.errors, dict) else list(error.errors)
        if any(isinstance(cause, AuthenticationFailed) for cause in causes):
            raise ConfigError(
                f"Failed {doing}: the cluster does not take this user and password.", key="username",
                fix="Check username and password.",
            ) from error  # fmt: skip
        reasons = "; ".join(sorted({f"{type(cause).__name__}: {cause}" for cause in causes})) or str(error)
        raise RetriableError(f"Failed {doing}: no node answers ({reasons}).") from error
    except AuthenticationFailed as error:
        raise ConfigError(
            f"Failed {doing}: the cluster does not take this user and password.", key="username",
            fix="Check username and password.",
        ) from error  # fmt: skip
    except Unauthorized as error:
        raise MissingRightError(f"Failed {doing}: {error}", grant_of(str(error))) from error
    except InvalidRequest as error:
        raise TableGoneError(f"Failed {doing}: {error}") from error
    except _AWAY as error:
        raise RetriableError(f"Failed {doing}: {type(error).__name__}: {error}") from error


class _PageMessage(ResultMessage):  # type: ignore[misc]
    """A result whose rows are left as the server sent them."""

    def recv_results_rows(
        self,
        f: Any,
        protocol_version: int,
        user_type_map: Any,
        result_metadata: Any,
        column_encryption_policy: Any,
    ) -> None:
        """Called by the driver with the body of a result."""
        del protocol_version, column_encryption_policy
        self.recv_results_metadata(f, user_type_map)
        metadata = self.column_metadata or result_metadata
        self.column_names = [column[2] for column in metadata]
        self.column_types = [column[3] for column in metadata]
        (rows,) = struct.unpack(">i", f.read(4))
        # Its state goes with it: two nodes may answer, and the driver keeps the last state that came.
        self.parsed_rows = [Page(f.read(), rows, len(metadata), self.paging_state)]


class _PageHandler(ProtocolHandler):  # type: ignore[misc]
    """Gives pages of bytes instead of rows of Python values, which cannot hold every value of Cassandra's."""

    message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, _PageMessage.opcode: _PageMessage}  # noqa: RUF012


class Database:
    """Connections to one cluster, opened by the first call. Owned by one thread."""

    def __init__(self, config: ContactKeys, *, only_contact_points: bool = False) -> None:
        """`only_contact_points`: no other node of the cluster is asked."""
        self._config = config
        self._only_contact_points = only_contact_points
        self._cluster: Cluster | None = None
        self._rows: Session | None = None
        self._pages: Session | None = None
        self._statements: dict[str, PreparedStatement] = {}
        self._written: dict[str, PreparedStatement] = {}

    def rows(self, query: str, parameters: Sequence[object] = (), *, doing: str) -> list[tuple[Any, ...]]:
        """The rows of a small answer, in the driver's Python types."""
        with translated(doing):
            if self._rows is None:
                self._rows = self._connected().connect()
            return list(self._rows.execute(query, tuple(parameters)))

    def ask(self, query: Query, rows: int, state: bytes | None = None) -> PageAnswer:
        """Begin to read a page; `state` is that of the page before."""
        doing = f"reading by {query.text}"
        with translated(doing):
            session = self._page_session()
            if query.text not in self._statements:
                self._statements[query.text] = session.prepare(query.text)
            bound = BoundStatement(self._statements[query.text], fetch_size=rows)
            # Parameters are bytes already, as Cassandra stores them: what was read is asked for again as it was.
            bound.values = list(query.parameters)
            bound.is_idempotent = True
            return PageAnswer(session.execute_async(bound, execution_profile=_PAGES, paging_state=state), doing)

    def begin_write(self, text: str, values: Sequence[object], done: threading.Semaphore) -> PendingWrite:
        """Begin to write a row, in the driver's Python types; `done` is released once it is known how it ended."""
        doing = f"writing by {text}"
        with translated(doing):
            if self._rows is None:
                self._rows = self._connected().connect()
            if text not in self._written:
                self._written[text] = self._rows.prepare(text)
            bound = self._written[text].bind(tuple(values))
            # The writetime is a part of it, so that it may be sent twice.
            bound.is_idempotent = True
            future = self._rows.execute_async(bound)
        future.add_callbacks(lambda _: done.release(), lambda _: done.release())
        return PendingWrite(future, doing)

    def keys(self, query: Query) -> list[tuple[bytes, ...]]:
        """The partition keys that a query gives behind their tokens."""
        page = self.ask(query, _KEYS).page()
        _, *columns = split_columns(page)
        return [tuple(column.value(row) or b"" for column in columns) for row in range(page.rows)]

    def nodes_agree(self) -> bool:
        """All nodes that are up have the same schema: a table that is refused now is refused by each of them."""
        with translated("comparing the schemas of the nodes"):
            return bool(self._connected().control_connection.wait_for_schema_agreement(wait_time=_AGREEMENT_S))

    def close(self) -> None:
        """Close all connections. May be called twice."""
        cluster, self._cluster = self._cluster, None
        self._rows = self._pages = None
        self._statements.clear()
        self._written.clear()
        if cluster is not None:
            cluster.shutdown()

    def _page_session(self) -> Session:
        if self._pages is None:
            self._pages = self._connected().connect()
            self._pages.client_protocol_handler = _PageHandler
        return self._pages

    def _connected(self) -> Cluster:
        if self._cluster is None:
            config = self._config
            policy = (
                WhiteListRoundRobinPolicy(list(config.contact_points))
                if self._only_contact_points
                else TokenAwarePolicy(DCAwareRoundRobinPolicy(config.local_datacenter))
            )
            timeout_s = config.read_timeout_ms / 1000
            profile = partial(
                ExecutionProfile,
                load_balancing_policy=policy,
                retry_policy=AnotherNode(),
                consistency_level=ConsistencyLevel.name_to_value[config.consistency_level.upper()],
                request_timeout=timeout_s,
                row_factory=tuple_factory,
            )
            second_node = ConstantSpeculativeExecutionPolicy(timeout_s * _SECOND_NODE, max_attempts=1)
            password = config.password.get_secret_value() if config.password else ""
            login = PlainTextAuthProvider(config.username, password) if config.username else None
            self._cluster = Cluster(
                list(config.contact_points),
                port=config.port,
                auth_provider=login,
                execution_profiles={
                    EXEC_PROFILE_DEFAULT: profile(),
                    _PAGES: profile(speculative_execution_policy=second_node),
                },
                connect_timeout=config.connect_timeout_ms / 1000,
                control_connection_timeout=config.connect_timeout_ms / 1000,
                # Types and tables are read from system_schema as they are; the driver's view of them is not used.
                schema_metadata_enabled=False,
                protocol_version=config.protocol_version,
                ssl_context=_ssl_context(config),
            )
        return self._cluster


def _ssl_context(config: ContactKeys) -> ssl.SSLContext | None:
    if not config.ssl_enabled:
        return None
    try:
        context = ssl.create_default_context(cafile=config.ssl_ca_file or None)
        if config.ssl_certificate_file:
            context.load_cert_chain(config.ssl_certificate_file, config.ssl_key_file or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"The files of ssl.* cannot be used: {error}.", key="ssl.ca.file") from error
    context.check_hostname = config.ssl_verify_hostname
    return context


class PageAnswer:
    """A page that was asked for."""

    def __init__(self, future: ResponseFuture, doing: str) -> None:
        self._future = future
        self._doing = doing

    def when_done(self, ring: Callable[[], None]) -> None:
        """Call this from the driver's thread once the page has come, or failed."""
        self._future.add_callbacks(lambda _: ring(), lambda _: ring())

    def page(self) -> Page:
        """Wait for the page."""
        with translated(self._doing):
            result = self._future.result()
        (page,) = result.current_rows
        assert isinstance(page, Page)
        return page


class PendingWrite:
    """A row that is on its way."""

    def __init__(self, future: ResponseFuture, doing: str) -> None:
        self._future = future
        self._doing = doing

    def result(self) -> None:
        """Wait for it. RetriableError: it may be there or not."""
        with translated(self._doing):
            self._future.result()
