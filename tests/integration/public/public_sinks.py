"""Provides the targets that sinks of public configurations write to here: their settings, and the rows that came."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import fastavro
import pyarrow.parquet as pq
import redis
import requests
import sqlalchemy as sa
from api_server import ApiServer
from pyarrow.fs import FileSelector, FileType, S3FileSystem

from connect.tools.services import S3Endpoint
from connect.tools.services.sql import SqlEndpoint

Config = Mapping[str, str]


class Target(Protocol):
    """Stands for a store of one kind."""

    def settings(self, config: Config, name: str) -> dict[str, str]:
        """Return the keys that name the store for a connector, which has its own place in it."""

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        """Return all rows in the connector's place."""


@dataclass(frozen=True)
class SqlTarget:
    """Stands for the databases of a server, one for each connector."""

    engine: sa.Engine
    endpoint: SqlEndpoint

    def settings(self, config: Config, name: str) -> dict[str, str]:
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
            session.exec_driver_sql(f"CREATE DATABASE {name.replace('-', '_')}")
        system = config["connection.url"].split(":")[1]
        at = f"{self.endpoint.host}:{self.endpoint.port}"
        user = "connection.username" if "connection.username" in config else "connection.user"
        return {
            "connection.url": f"jdbc:{system}://{at}/{name.replace('-', '_')}",
            user: self.endpoint.user, "connection.password": self.endpoint.password,
        }  # fmt: skip

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        engine = sa.create_engine(self.engine.url.set(database=name.replace("-", "_")))
        try:
            with engine.connect() as session:
                tables = [
                    sa.Table(table, sa.MetaData(), autoload_with=session)
                    for table in sa.inspect(session).get_table_names()
                ]
                return [dict(row) for table in tables for row in session.execute(sa.select(table)).mappings()]
        finally:
            engine.dispose()


@dataclass(frozen=True)
class S3Target:
    """Stands for the folders of a bucket, one for each connector."""

    endpoint: S3Endpoint
    bucket: str

    def settings(self, config: Config, name: str) -> dict[str, str]:
        return {
            "store.url": self.endpoint.url, "s3.bucket.name": self.bucket, "topics.dir": name,
            "s3.region": self.endpoint.region, "aws.access.key.id": self.endpoint.access_key_id,
            "aws.secret.access.key": self.endpoint.secret_access_key,
        }  # fmt: skip

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        files = self._files()
        found = files.get_file_info(FileSelector(f"{self.bucket}/{name}", recursive=True, allow_not_found=True))
        texts = [
            (info.path, files.open_input_file(info.path).readall()) for info in found if info.type == FileType.File
        ]
        return [row for path, text in texts for row in _rows_of_object(path, text)]

    def _files(self) -> S3FileSystem:
        return S3FileSystem(
            endpoint_override=self.endpoint.url, access_key=self.endpoint.access_key_id,
            secret_key=self.endpoint.secret_access_key, region=self.endpoint.region,
        )  # fmt: skip


def _rows_of_object(path: str, text: bytes) -> list[Mapping[str, Any]]:
    if path.endswith(".avro"):
        return [row for row in fastavro.reader(io.BytesIO(text)) if isinstance(row, dict)]
    if path.endswith(".parquet"):
        return pq.read_table(io.BytesIO(text)).to_pylist()
    return [json.loads(line) for line in text.splitlines()]


@dataclass(frozen=True)
class FileTarget:
    """Stands for the files of a folder, whose lines are Java's texts of rows."""

    folder: Path

    def settings(self, config: Config, name: str) -> dict[str, str]:
        return {"file": str(self.folder / name)}

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        path = self.folder / name
        lines = path.read_text().splitlines() if path.exists() else []
        return [dict(re.findall(r"\b(id|product)=([^,}]*)", line)) for line in lines]


@dataclass(frozen=True)
class SearchTarget:
    """Stands for the indexes of a search server whose names contain the connector's name."""

    url: str

    def settings(self, config: Config, name: str) -> dict[str, str]:
        mapped = {"topic.index.map": f"{name}:{name}"} if "topic.index.map" in config else {}
        return {"connection.url": self.url, **mapped}

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        requests.post(f"{self.url}/*{name}*/_refresh", timeout=60)
        answer = requests.get(f"{self.url}/*{name}*/_search?size=1000", timeout=60)
        # The server refuses a search while the parts of a new index begin; who waits for rows asks again.
        hits = answer.json()["hits"]["hits"] if answer.ok else []
        found: list[Mapping[str, Any]] = [hit["_source"] for hit in hits]
        return found


@dataclass(frozen=True)
class HttpTarget:
    """Stands for an API that keeps the requests that it gets, with a path for each connector."""

    server: ApiServer

    def settings(self, config: Config, name: str) -> dict[str, str]:
        return {"http.api.url": f"{self.server.url}/{name}"}

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        return [json.loads(body) for _, path, _, body in self.server.asked if path.strip("/") == name]


@dataclass(frozen=True)
class RedisTarget:
    """Stands for the keys of a Redis."""

    port: int

    def settings(self, config: Config, name: str) -> dict[str, str]:
        return {"redis.hosts": f"127.0.0.1:{self.port}"}

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        client = redis.Redis(port=self.port, db=1)  # The database is the default of redis.database.
        return [json.loads(client.get(key) or b"{}") for key in client.scan_iter() if key.isdigit()]
