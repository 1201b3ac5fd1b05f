"""Keeps the connection to a cluster: reads pages of bytes and small answers, and writes rows."""

from __future__ import annotations

import logging
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from cassandra import ConsistencyLevel, DriverException
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, ResponseFuture, Session
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    HostDistance,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.protocol import ProtocolHandler, ResultMessage
from cassandra.query import PreparedStatement, tuple_factory

from connect.api.errors import ConfigError
from connectors.cassandra.cql.connection_keys import ConnectionKeys
from connectors.cassandra.cql.driver_errors import translated
from connectors.cassandra.cql.owners import NO_NODES, Nodes, OwnedPart, owned_parts
from connectors.cassandra.cql.pages import Page, split_columns
from connectors.cassandra.cql.retries import NextNodeRetries, write_statement
from connectors.cassandra.cql.routing import OwnedStatement, OwnersFirst
from connectors.cassandra.cql.statements import Query

log = logging.getLogger(__name__)
_KEYS: Final = 1000
"""At most so many partition keys that share one token are read."""
_PAGES: Final = "pages"
"""This is the name of the driver's execution profile for pages."""
_SECOND_NODE: Final = 0.1
"""After this part of a page's time-out another node is asked for the page too, and the first answer counts.

A node that lives can wait for a dead replica until it learns of the death, which takes up to 20 s.
"""
_AGREEMENT_S: Final = 1.0
_RECONNECT_S: Final = 0.5
_RECONNECT_MOST_S: Final = 10.0
"""A lost node is tried again after at most so many seconds. The driver itself would wait for up to ten minutes."""


class _Answer(ResultMessage):  # type: ignore[misc]  # the driver has no types
    """Parses a result, and leaves the rows of a prepared statement in the bytes that the server sent.

    The rows of other statements become the driver's tuples.
    """

    def recv_results_rows(
        self,
        f: Any,
        protocol_version: int,
        user_type_map: Any,
        result_metadata: Any,
        column_encryption_policy: Any,
    ) -> None:
        """Read the body of a result, as the driver asks; `result_metadata` is that of the prepared statement."""
        if not result_metadata:
            super().recv_results_rows(f, protocol_version, user_type_map, result_metadata, column_encryption_policy)
            return
        self.recv_results_metadata(f, user_type_map)
        metadata = self.column_metadata or result_metadata
        self.column_names = [column[2] for column in metadata]
        self.column_types = [column[3] for column in metadata]
        (rows,) = struct.unpack(">i", f.read(4))
        # The page keeps its own paging state: two nodes may answer, and the driver keeps the state of the last answer.
        self.parsed_rows = [Page(f.read(), rows, len(metadata), self.paging_state)]


class _Answers(ProtocolHandler):  # type: ignore[misc]  # the driver has no types
    """Makes the driver return pages of bytes: its Python values cannot hold every value that Cassandra can."""

    message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, _Answer.opcode: _Answer}  # noqa: RUF012 - the driver declares it as a plain attribute of the class


class Database:
    """Keeps the connections to the nodes of one cluster; the first call opens them. Owned by one thread.

    All statements go through one session of the driver. With two sessions, a connection of one that breaks is not
    opened again while the other's is open: the driver takes the node for up, and the pool of the first session stays
    closed.
    """

    def __init__(self, config: ConnectionKeys, *, only_contact_points: bool = False) -> None:
        """Remember the settings without connecting. With `only_contact_points` no other node is asked."""
        self._config = config
        self._only_contact_points = only_contact_points
        self._session: Session | None = None
        self._policy: OwnersFirst | None = None
        self._statements: dict[str, PreparedStatement] = {}

    def rows(self, query: str, parameters: Sequence[object] = (), *, doing: str) -> list[tuple[Any, ...]]:
        """Return the rows that answer a query, in the driver's Python types. The answer must be small."""
        with translated(doing):
            return list(self._connected().execute(query, tuple(parameters)))

    def ask(self, query: Query, rows: int, state: bytes | None = None) -> PageAnswer:
        """Begin to read a page of at most `rows` rows; `state` is the paging state of the page before."""
        doing = f"reading by {query.text}"
        with translated(doing):
            session = self._connected()
            # The parameters are the bytes that Cassandra stores, so a key that was read is asked for again exactly as
            # it was.
            bound = OwnedStatement(self._prepared(query.text), query.parameters, query.owners)
            bound.fetch_size = rows
            bound.is_idempotent = True
            return PageAnswer(session.execute_async(bound, execution_profile=_PAGES, paging_state=state), doing)

    def stored(self, text: str, values: Sequence[object]) -> list[bytes]:
        """Return the parameters of a query, given in the driver's Python types, as the bytes that Cassandra stores."""
        with translated(f"preparing {text}"):
            return list(self._prepared(text).bind(tuple(values)).values)

    def begin_write(
        self, text: str, values: Sequence[object], done: threading.Semaphore, *, is_repeatable: bool
    ) -> PendingWrite:
        """Begin to write a row, given in the driver's Python types; `done` is released when the write ends or fails.

        `is_repeatable` says that the statement, which holds its writetime, changes nothing if it is sent twice.
        SchemaError: a value cannot be sent, and nothing was begun.
        """
        doing = f"writing by {text}"
        with translated(doing):
            bound = write_statement(self._prepared(text), values, is_repeatable=is_repeatable)
            future = self._connected().execute_async(bound)
        future.add_callbacks(lambda _: done.release(), lambda _: done.release())
        return PendingWrite(future, doing)

    def keys(self, query: Query) -> list[tuple[bytes, ...]]:
        """Return the partition keys that a query selects; its first column is the token, which is left out."""
        page = self.ask(query, _KEYS).page()
        _, *columns = split_columns(page)
        return [tuple(column.value(row) or b"" for column in columns) for row in range(page.rows)]

    def owned_parts(self, keyspace: str, after: int, upto: int) -> Sequence[OwnedPart]:
        """Cut a range of tokens into parts by the nodes that own them, as far as these are known and may be asked."""
        with translated(f"asking which nodes have the rows of keyspace {keyspace}"):
            cluster = self._connected().cluster
            if keyspace not in cluster.metadata.keyspaces:
                try:
                    cluster.refresh_keyspace_metadata(keyspace, max_schema_agreement_wait=0)
                except DriverException as error:
                    log.info("Any node is asked for rows of keyspace %s: %s", keyspace, error)
        ring, policy = cluster.metadata.token_map, self._policy
        if ring is None or policy is None:
            return [OwnedPart(upto, NO_NODES)]

        def owners_of(token: int) -> Nodes:
            replicas = ring.get_replicas(keyspace, ring.token_class(token))
            return Nodes(host for host in replicas if policy.distance(host) == HostDistance.LOCAL)

        return owned_parts(after, upto, [token.value for token in ring.ring], owners_of)

    def nodes_agree(self) -> bool:
        """Tell if all nodes that are up have the same schema, so that a refused table is refused by all of them."""
        with translated("comparing the schemas of the nodes"):
            return bool(self._connected().cluster.control_connection.wait_for_schema_agreement(wait_time=_AGREEMENT_S))

    def close(self) -> None:
        """Close all connections. May be called twice."""
        session, self._session = self._session, None
        self._statements.clear()
        if session is not None:
            session.cluster.shutdown()

    def _prepared(self, text: str) -> PreparedStatement:
        if text not in self._statements:
            self._statements[text] = self._connected().prepare(text)
        return self._statements[text]

    def _connected(self) -> Session:
        if self._session is None:
            cluster = self._cluster()
            try:
                session = cluster.connect()
            except BaseException:
                # The driver's cluster object cannot be used after a failure.
                cluster.shutdown()
                raise
            session.client_protocol_handler = _Answers
            self._session = session
        return self._session

    def _cluster(self) -> Cluster:
        config = self._config
        policy = self._policy = OwnersFirst(
            WhiteListRoundRobinPolicy(list(config.contact_points))
            if self._only_contact_points
            else TokenAwarePolicy(DCAwareRoundRobinPolicy(config.local_datacenter))
        )
        timeout_s = config.read_timeout_ms / 1000
        profile = partial(
            ExecutionProfile,
            load_balancing_policy=policy,
            retry_policy=NextNodeRetries(),
            consistency_level=ConsistencyLevel.name_to_value[config.consistency_level.upper()],
            request_timeout=timeout_s,
            row_factory=tuple_factory,
        )
        second_node = ConstantSpeculativeExecutionPolicy(timeout_s * _SECOND_NODE, max_attempts=1)
        password = config.password.get_secret_value() if config.password else ""
        login = PlainTextAuthProvider(config.username, password) if config.username else None
        return Cluster(
            list(config.contact_points),
            port=config.port,
            auth_provider=login,
            execution_profiles={
                EXEC_PROFILE_DEFAULT: profile(),
                _PAGES: profile(speculative_execution_policy=second_node),
            },
            connect_timeout=config.connect_timeout_ms / 1000,
            control_connection_timeout=config.connect_timeout_ms / 1000,
            reconnection_policy=ExponentialReconnectionPolicy(_RECONNECT_S, _RECONNECT_MOST_S, max_attempts=None),
            # The schema is read from system_schema by our own code; the driver's metadata of types and tables is not
            # used.
            schema_metadata_enabled=False,
            protocol_version=config.protocol_version,
            ssl_context=_ssl_context(config),
        )


def _ssl_context(config: ConnectionKeys) -> ssl.SSLContext | None:
    if not config.ssl_enabled:
        return None
    try:
        real = {key: config.allowed.require(key, path) for key, path in config.named_files()}
        context = ssl.create_default_context(cafile=real.get("ssl.ca.file"))
        if certificate := real.get("ssl.certificate.file"):
            context.load_cert_chain(certificate, real.get("ssl.key.file"))
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"The files of ssl.* cannot be used: {error}.", key="ssl.ca.file") from error
    context.check_hostname = config.ssl_verify_hostname
    return context


class PageAnswer:
    """Waits for a page that was asked for."""

    def __init__(self, future: ResponseFuture, doing: str) -> None:
        self._future = future
        self._doing = doing

    def when_done(self, ring: Callable[[], None]) -> None:
        """Have `ring` called on the driver's thread once the page has come or failed."""
        self._future.add_callbacks(lambda _: ring(), lambda _: ring())

    def page(self) -> Page:
        """Wait for the page and return it; raise the translated error if it failed."""
        with translated(self._doing):
            result = self._future.result()
        (page,) = result.current_rows
        assert isinstance(page, Page)
        return page


class PendingWrite:
    """Waits for a row that is being written."""

    def __init__(self, future: ResponseFuture, doing: str) -> None:
        self._future = future
        self._doing = doing

    def result(self) -> None:
        """Wait for the write to end. RetriableError: the row may be written or not."""
        with translated(self._doing):
            self._future.result()
