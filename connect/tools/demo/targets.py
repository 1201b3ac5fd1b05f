"""Describes the databases that the demo's flights may go into besides S3.

The database's own client counts and reads the rows, never our own code.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sqlalchemy import DateTime, Integer

from connect.api.errors import ConnectError
from connect.lib.nearest import nearest
from connect.tools.demo.dataset import FLIGHTS
from connect.tools.demo.verify import table_of
from connect.tools.services.bigquery import BigQueryService
from connect.tools.services.cassandra import CassandraService

if TYPE_CHECKING:
    import pyarrow as pa

SPACE: Final = "nyc"
"""This is the name of the flights' dataset or keyspace, as in the connectors' files."""
_COLUMNS: Final = ", ".join(column.name for column in FLIGHTS.columns)
_REQUEST_TIMEOUT_S: Final = 60.0
_PAGE_ROWS: Final = 10_000


class Target(ABC):
    """Knows how a database starts, how its sink is configured, and which flights it has. It is owned by the demo's main
    thread.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    client: ClassVar[str]
    """Names the Python module of the database's client; the extra with the target's name installs it."""

    @abstractmethod
    def start(self, stack: ExitStack) -> Mapping[str, str]:
        """Start the database, which the stack stops, and return the values to fill into its sink's file.

        ServiceError: it does not start.
        """

    @abstractmethod
    def count(self) -> int:
        """Return how many flights the database has now; 0 if the sink has not made the table yet."""

    def read(self, told: Callable[[int], None]) -> pa.Table:
        """Return all flights with the source's columns in their order.

        Reading them takes minutes, so after each page `told` is called with the number of flights read so far.
        """
        found: list[tuple[Any, ...]] = []
        for row in self._rows():
            found.append(row)
            if len(found) % _PAGE_ROWS == 0:
                told(len(found))
        return table_of(found, FLIGHTS)

    @abstractmethod
    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield all flights, fetched page by page."""


class BigQueryTarget(Target):
    """Stands for the embedded BigQuery, whose sink makes the table and keeps one row for each `id`."""

    name = "bigquery"
    title = "BigQuery"
    client = "google.cloud.bigquery"

    def start(self, stack: ExitStack) -> Mapping[str, str]:
        """Start it with a dataset that has no tables."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import bigquery

        endpoint = stack.enter_context(BigQueryService()).endpoint
        self._client = bigquery.Client(
            project=endpoint.project,
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call] # google-auth has no types
            client_options={"api_endpoint": endpoint.url},
        )
        stack.callback(self._client.close)
        self._client.create_dataset(SPACE, timeout=_REQUEST_TIMEOUT_S)
        return {
            "BIGQUERY_PROJECT": endpoint.project,
            "BIGQUERY_URL": endpoint.url,
            "BIGQUERY_STORAGE": endpoint.storage,
        }

    def count(self) -> int:
        """Return how many flights there are, by a query."""
        from google.api_core.exceptions import NotFound

        try:
            self._client.get_table(f"{SPACE}.flights", timeout=_REQUEST_TIMEOUT_S)
        except NotFound:
            return 0
        (row,) = self._query("COUNT(*)")
        return int(row[0])

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for row in self._query(_COLUMNS):
            yield tuple(row.values())

    def _query(self, columns: str) -> Any:
        statement = f"SELECT {columns} FROM {SPACE}.flights"  # noqa: S608 - names of our own
        return self._client.query_and_wait(statement, api_timeout=_REQUEST_TIMEOUT_S, page_size=_PAGE_ROWS)


class CassandraTarget(Target):
    """Stands for one Cassandra node with a table of flights, whose primary key is `id`."""

    name = "cassandra"
    title = "Cassandra"
    client = "cassandra"

    def start(self, stack: ExitStack) -> Mapping[str, str]:
        """Start it with a keyspace and the table, as the sink makes neither."""
        from cassandra.cluster import Cluster

        endpoint = stack.enter_context(CassandraService()).endpoint
        cluster = Cluster([endpoint.host], port=endpoint.port)
        stack.callback(cluster.shutdown)
        self._session = cluster.connect()
        self._session.default_timeout = _REQUEST_TIMEOUT_S
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        self._session.execute(f"CREATE KEYSPACE {SPACE} WITH replication = {replication}")
        kinds: Mapping[type, str] = {Integer: "int", DateTime: "timestamp"}
        columns = ", ".join(f"{column.name} {kinds.get(type(column.type), 'text')}" for column in FLIGHTS.columns)
        self._session.execute(f"CREATE TABLE {SPACE}.flights ({columns}, PRIMARY KEY (id))")
        return {"CASSANDRA_HOST": endpoint.host, "CASSANDRA_PORT": str(endpoint.port)}

    def count(self) -> int:
        """Return how many flights there are. They are read page by page, as a COUNT of all may take the node too
        long.
        """
        return sum(1 for _ in self._session.execute(f"SELECT id FROM {SPACE}.flights"))  # noqa: S608 - names of our own

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for row in self._session.execute(f"SELECT {_COLUMNS} FROM {SPACE}.flights"):  # noqa: S608 - names of our own
            yield tuple(row)


_TARGETS: Final[Mapping[str, Callable[[], Target]]] = {kind.name: kind for kind in (BigQueryTarget, CassandraTarget)}


def targets_of(text: str) -> tuple[Target, ...]:
    """Return the targets of a comma-separated list, each once. ConnectError: one is unknown, or its client is not
    installed.
    """
    names = list(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in _TARGETS:
            near = nearest(name, _TARGETS)
            raise ConnectError(
                f"--with names {name!r}, which connect demo does not write into.",
                fix=f"{f'Is {near} meant? ' if near else ''}There are {', '.join(_TARGETS)}.",
            )
    targets = tuple(_TARGETS[name]() for name in names)
    for target in targets:
        _require_client(target)
    return targets


def _require_client(target: Target) -> None:
    try:
        importlib.import_module(target.client)
    except ModuleNotFoundError as error:
        raise ConnectError(
            f"The Python client of {target.title} cannot be loaded: {error}.",
            fix=f"Run: pip install 'connect-for-kafka[demo,{target.name}]'",
        ) from error
