"""Holds a worker's file, connectors' files and their services, as `connect doctor` examines them."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme
import yaml
from click.testing import CliRunner
from cluster_worker import JSON_CONVERTER
from confluent_kafka import Producer

from connect.api.records import TopicPartition
from connect.cli.doctor import doctor
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline

SECRET = "hidden-word"


class _Service(BaseHTTPRequestHandler):
    """It answers as a registry does that is asked for its kinds of schemas."""

    def do_GET(self) -> None:
        body = b'["AVRO"]'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class TlsServer:
    """Holds the address of a server that speaks HTTP in TLS, and the file of the authority of its certificate."""

    address: str
    authority: Path


@contextmanager
def tls_server(folder: Path, days: int) -> Iterator[TlsServer]:
    """Yield a server whose certificate ends in so many days."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made = authority.issue_cert("127.0.0.1", not_after=datetime.now(UTC) + timedelta(days=days))
    made.configure_cert(context)
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    with ThreadingHTTPServer(("127.0.0.1", 0), _Service) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield TlsServer(f"127.0.0.1:{server.server_port}", folder / "authority.pem")
        server.shutdown()


@dataclass
class System:
    """Holds a worker's file, connectors' files, and the services that they name; a fault changes one of these."""

    folder: Path
    bootstrap_servers: str
    postgres: Any
    mariadb: Any
    s3: Any
    s3_bucket: str
    prefix: str = ""
    """Begins the names of its topics and group."""
    tls: TlsServer | None = None
    keys: dict[str, str] = field(default_factory=dict)
    connectors: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.admin = TopicAdmin({"bootstrap.servers": self.bootstrap_servers})
        self.keys = {
            "bootstrap.servers": self.bootstrap_servers, "group.id": f"{self.prefix}d", "listeners": "http://127.0.0.1:0",
            "key.converter": JSON_CONVERTER, "value.converter": JSON_CONVERTER, "allowed.paths": str(self.folder),
            **{f"{name}.storage.topic": f"{self.prefix}d-{name}" for name in ("config", "offset", "status")},
            **{f"{name}.storage.replication.factor": "1" for name in ("config", "offset", "status")},
        }  # fmt: skip

    def topic(self, name: str, partitions: int = 1, **configs: str) -> str:
        given = {key.replace("_", "."): value for key, value in configs.items()}
        self.admin.create(name, partitions=partitions, configs=given, deadline=Deadline.after(60))
        return name

    def fill(self, topic: str, count: int, *, partition: int = 0, at_ms: int | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        for _ in range(count):
            producer.produce(topic, b"x", partition=partition, timestamp=at_ms or int(time.time() * 1000))
        assert producer.flush(60) == 0

    def read(self, sink: str, topic: str, partitions: int = 1) -> None:
        """Let the group of a sink begin at the first record."""
        places = {TopicPartition(topic, number): 0 for number in range(partitions)}
        self.admin.alter_group_offsets(f"connect-{sink}", places, Deadline.after(60))

    def sink(self, name: str, topic: str, **keys: str) -> None:
        file = str(self.folder / f"{name}.out")
        given = {key.replace("__", "."): value for key, value in keys.items()}
        self.connectors[name] = {"connector.class": "FileStreamSink", "topics": topic, "file": file, **given}

    def table(self, name: str, server: str, **changed: str) -> None:
        """Add a source of a database that exists."""
        at = self.postgres if server == "postgresql" else self.mariadb
        given = {"port": str(at.port), "database": at.database, "user": at.user, "password": at.password, **changed}
        self.connectors[name] = {
            "connector.class": "JdbcSourceConnector", "mode": "bulk", "topic.prefix": f"{name}-",
            "connection.url": f"jdbc:{server}://{at.host}:{given['port']}/{given['database']}",
            "connection.user": given["user"], "connection.password": given["password"], "query": "SELECT 1 AS one",
        }  # fmt: skip

    def objects(self, name: str, topic: str, **changed: str) -> None:
        """Add a sink of an object store that exists."""
        given = {"bucket": self.s3_bucket, "key": self.s3.access_key_id, **changed}
        self.connectors[name] = {
            "connector.class": "S3SinkConnector", "topics": topic, "s3.bucket.name": given["bucket"],
            "s3.region": self.s3.region, "store.url": self.s3.url, "flush.size": "10", "rotate.idle.ms": "1000",
            "aws.access.key.id": given["key"], "aws.secret.access.key": self.s3.secret_access_key,
            "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        }  # fmt: skip

    def calls(self, name: str, topic: str, url: str) -> None:
        """Add a sink that calls an address over HTTP."""
        self.connectors[name] = {
            "connector.class": "io.confluent.connect.http.HttpSinkConnector", "topics": topic, "http.api.url": url,
        }  # fmt: skip

    def avro(self, registry: TlsServer) -> None:
        """Give the worker a converter with a registry."""
        prefix = "value.converter.schema.registry."
        self.keys |= {
            "value.converter": "io.confluent.connect.avro.AvroConverter", f"{prefix}url": f"https://{registry.address}",
            f"{prefix}ssl.truststore.location": str(registry.authority), f"{prefix}ssl.truststore.type": "PEM",
        }  # fmt: skip

    def https_listener(self, name: str) -> None:
        """Let the worker speak TLS with a certificate for a host of this name."""
        path = self.folder / "listener.pem"
        trustme.CA().issue_cert(name).private_key_and_cert_chain_pem.write_to_path(str(path))
        path.chmod(0o600)
        self.keys |= {
            "listeners": "https://127.0.0.1:0", "listeners.https.ssl.keystore.location": str(path),
            "listeners.https.ssl.keystore.type": "PEM",
        }  # fmt: skip

    def certificate(self, key: str, days: int) -> None:
        path = self.folder / f"{key}.pem"
        made = trustme.CA().issue_cert("broker", not_after=datetime.now(UTC) + timedelta(days=days))
        made.cert_chain_pems[0].write_to_path(str(path))
        self.keys[key] = str(path)

    def findings(self) -> list[dict[str, str]]:
        worker = self.folder / "worker.yaml"
        worker.write_text(yaml.safe_dump(self.keys), encoding="utf-8")
        files = []
        for name, config in self.connectors.items():
            files.append(self.folder / f"{name}.json")
            files[-1].write_text(json.dumps({"name": name, "config": config}), encoding="utf-8")
        result = CliRunner().invoke(doctor, ["--json", "--worker", str(worker), *map(str, files)])
        assert result.exit_code in {0, 1}, result.output
        assert SECRET not in result.output
        found: list[dict[str, str]] = json.loads(result.stdout)["findings"]
        assert result.exit_code == any(finding["severity"] == "error" for finding in found)
        return found
