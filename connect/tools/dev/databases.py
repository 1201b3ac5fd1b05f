"""Describes the databases that a development environment starts on request."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

from connect.api.errors import ConnectError
from connect.lib.http_client import HttpClient, NoAnswerError
from connect.lib.nearest import nearest
from connect.tools.services.bigquery import BigQueryEndpoint, BigQueryService
from connect.tools.services.cassandra import CassandraEndpoint, CassandraService
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService
from connect.tools.services.process.supervised import SupervisedService
from connect.tools.services.sql import SqlEndpoint

EndpointT = TypeVar("EndpointT")
DATASET: Final = "dev"
_JSON: Final = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
_REQUEST_TIMEOUT_S: Final = 60.0


class Database(ABC, Generic[EndpointT]):
    """Knows how a database beside Kafka starts, what it must contain, and how a connector reaches it."""

    name: ClassVar[str]
    title: ClassVar[str]
    ports: ClassVar[Mapping[str, int]]
    """Holds the usual number of each of the service's ports."""
    about: ClassVar[str]
    """Says which data are there at the next start, and what the user has to make before the connector runs."""

    @abstractmethod
    def service(self, folder: Path, ports: Mapping[str, int]) -> SupervisedService[EndpointT]:
        """Return the service, not yet started, whose data stay in the folder."""

    @abstractmethod
    def address(self, endpoint: EndpointT) -> str:
        """Return the address for clients."""

    @abstractmethod
    def connector(self, endpoint: EndpointT, folder: Path) -> Mapping[str, str]:
        """Return a connector's configuration. It refers to secrets in files of the environment's folder."""

    def fill(self, endpoint: EndpointT, folder: Path) -> None:
        """Make the things that the connector's configuration names. It is called at each start."""


class BigQuery(Database[BigQueryEndpoint]):
    """Provides the embedded BigQuery, with a dataset."""

    name = "bigquery"
    title = "BigQuery"
    ports: ClassVar[Mapping[str, int]] = {"http": 9050, "grpc": 9060}
    about = f"dataset {DATASET}; rows and jobs stay in the folder, open streams do not"

    def service(self, folder: Path, ports: Mapping[str, int]) -> SupervisedService[BigQueryEndpoint]:
        """Return local-bigquery."""
        return BigQueryService(data_folder=folder, ports=ports)

    def address(self, endpoint: BigQueryEndpoint) -> str:
        """Return the address of the REST API."""
        return endpoint.url

    def connector(self, endpoint: BigQueryEndpoint, folder: Path) -> Mapping[str, str]:
        """Return a sink of JSON records, whose key is the field `id`."""
        del folder
        return {
            "connector.class": "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector",
            "topics": "orders",
            "project": endpoint.project,
            "defaultDataset": DATASET,
            "bigquery.endpoint": endpoint.url,
            "bigquery.storage.endpoint": endpoint.storage,
            "bigquery.insecure": "true",
            "dedup.fields": "id",
            "dedup.merge.interval.ms": "1000",
            **_JSON,
        }

    def fill(self, endpoint: BigQueryEndpoint, folder: Path) -> None:
        """Create the dataset; from the second start on it exists already."""
        del folder
        url = f"{endpoint.url}/bigquery/v2/projects/{endpoint.project}/datasets"
        body = {"datasetReference": {"projectId": endpoint.project, "datasetId": DATASET}}
        sent, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        with HttpClient(timeout_s=_REQUEST_TIMEOUT_S) as client:
            try:
                status = client.ask("POST", url, body=sent, headers=headers).status
            except NoAnswerError as error:
                raise _no_dataset(str(error)) from error
        if status not in {HTTPStatus.OK, HTTPStatus.CONFLICT}:
            raise _no_dataset(f"HTTP {status}.")


def _no_dataset(reason: str) -> ConnectError:
    return ConnectError(f"The embedded BigQuery made no dataset {DATASET}: {reason}", fix="See its log in the folder.")


class Cassandra(Database[CassandraEndpoint]):
    """Provides one Cassandra node that needs no login."""

    name = "cassandra"
    title = "Cassandra"
    ports: ClassVar[Mapping[str, int]] = {"native": 9042, "storage": 7000, "jmx": 7199}
    about = (
        "data stay in the folder; first CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', "
        "'replication_factor': 1}; CREATE TABLE shop.orders (id int PRIMARY KEY, status text) WITH cdc = true"
    )

    def service(self, folder: Path, ports: Mapping[str, int]) -> SupervisedService[CassandraEndpoint]:
        """Return a node."""
        return CassandraService(data_folder=folder, ports=ports)

    def address(self, endpoint: CassandraEndpoint) -> str:
        """Return the node's address."""
        return f"{endpoint.host}:{endpoint.port}"

    def connector(self, endpoint: CassandraEndpoint, folder: Path) -> Mapping[str, str]:
        """Return a source of all tables of a keyspace that the user makes."""
        del folder
        return {
            "connector.class": "connect.cassandra.CassandraSourceConnector",
            "contact.points": endpoint.host,
            "port": str(endpoint.port),
            "keyspace": "shop",
            "topic.prefix": "cassandra.",
        }


class SqlDatabase(Database[SqlEndpoint]):
    """Keeps the password of a database's one user in a file of the environment's folder."""

    scheme: ClassVar[str]

    def address(self, endpoint: SqlEndpoint) -> str:
        """Return the JDBC URL."""
        return f"jdbc:{self.scheme}://{endpoint.host}:{endpoint.port}/{endpoint.database}"

    def connector(self, endpoint: SqlEndpoint, folder: Path) -> Mapping[str, str]:
        """Return a source of a table `orders` that the user makes; it reads by the column `id`."""
        return {
            "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
            "connection.url": self.address(endpoint),
            "connection.user": endpoint.user,
            "connection.password": f"${{file:{self._secret(folder)}:password}}",
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "table.whitelist": "orders",
            "topic.prefix": f"{self.name}-",
        }

    def fill(self, endpoint: SqlEndpoint, folder: Path) -> None:
        """Write the file with the password."""
        file = self._secret(folder)
        file.touch(mode=0o600)
        file.write_text(f"password={endpoint.password}\n")

    def _secret(self, folder: Path) -> Path:
        return folder / f"{self.name}.properties"


class Postgres(SqlDatabase):
    """Provides a PostgreSQL from the binaries of this machine."""

    name = "postgres"
    title = "PostgreSQL"
    about = "data stay in the folder; first CREATE TABLE orders (id SERIAL PRIMARY KEY, status TEXT)"
    ports: ClassVar[Mapping[str, int]] = {"port": 5432}
    scheme = "postgresql"

    def service(self, folder: Path, ports: Mapping[str, int]) -> SupervisedService[SqlEndpoint]:
        """Return a PostgreSQL."""
        return PostgresService(data_folder=folder, ports=ports)


class MariaDb(SqlDatabase):
    """Provides a MariaDB from the binaries of this machine."""

    name = "mariadb"
    title = "MariaDB"
    about = "data stay in the folder; first CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, status TEXT)"
    ports: ClassVar[Mapping[str, int]] = {"port": 3306}
    scheme = "mariadb"

    def service(self, folder: Path, ports: Mapping[str, int]) -> SupervisedService[SqlEndpoint]:
        """Return a MariaDB."""
        return MariaDbService(data_folder=folder, ports=ports)


DATABASES: Final[Mapping[str, Database[Any]]] = {
    found.name: found for found in (BigQuery(), Cassandra(), Postgres(), MariaDb())
}


def databases_of(text: str) -> tuple[Database[Any], ...]:
    """Return the databases that a comma-separated list names, each once. ConnectError: a name is unknown."""
    names = list(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    unknown = [name for name in names if name not in DATABASES]
    if unknown:
        near = {name: meant for name in unknown if (meant := nearest(name, DATABASES)) is not None}
        meant = "".join(f"For {name}, is {found} meant? " for name, found in near.items())
        raise ConnectError(
            f"--with names {', '.join(map(repr, unknown))}, which connect dev cannot start.",
            fix=f"{meant}There are {', '.join(DATABASES)}.",
        )
    return tuple(DATABASES[name] for name in names)
