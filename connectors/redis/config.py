"""Declares the settings of the Redis sinks: the keys of Jeremy Custenborder's connector and of Redis's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from connect.api.allowed_hosts import with_ports
from connect.api.config import Boolean, ConnectorConfig, Int, ListOf, Password, String, at_least, between, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.url import Url, UrlText

PORT: Final = 6379
COMMANDS: Final = ("SET", "HSET", "JSONSET", "XADD", "LPUSH", "RPUSH", "SADD")
OF_COLLECTIONS: Final = frozenset({"XADD", "LPUSH", "RPUSH", "SADD"})
"""With these commands all records of a topic are added to one key; the others write a key for each record."""
OF_ADDITIONS: Final = frozenset({"XADD", "LPUSH", "RPUSH"})
"""With these commands a record that is sent twice is there twice."""
CONNECTION: Final = "Connection"
WRITES: Final = "Writes"


@dataclass(frozen=True, slots=True)
class Target:
    """Tells the server and the command. `keyspace` may have `${topic}` in it. `login`, if any, is user and password."""

    host: str
    port: int
    database: int
    command: str
    keyspace: str
    separator: str
    timeout_s: float
    username: str = ""
    password: str = field(default="", repr=False)
    tls: bool = False
    certificates: str | None = None
    checks_host: bool = True


class RedisSinkConfig(ConnectorConfig):
    """Holds the keys of com.redis.kafka.connect.RedisSinkConnector."""

    uri: Url = key(
        "redis.uri", UrlText(""), group=CONNECTION, reach=(Reach.URL, Reach.HOST),
        bounds="redis: and rediss: alone", doc="redis://user:password@host:6379/0, in place of the keys for each part.",
    )  # fmt: skip
    host: String = key("redis.host", "localhost", group=CONNECTION, reach=Reach.HOST, doc="The server's host.")
    port: Annotated[Int, between(1, 65535)] = key("redis.port", PORT, group=CONNECTION, doc="The server's port.")
    username: String = key("redis.username", "", group=CONNECTION, doc="The user; empty: the default user.")
    password: Password = key("redis.password", SecretStr(""), group=CONNECTION, doc="The user's password.")
    tls: Boolean = key("redis.tls", False, group=CONNECTION, doc="Whether TLS is spoken; rediss: says so, too.")
    insecure: Boolean = key("redis.insecure", False, group=CONNECTION, doc="Whether any certificate will do.")
    certificates: String | None = key(
        "redis.cacert", None, group=CONNECTION, reach=Reach.FILE,
        doc="A PEM file of the authorities that the server's certificate is of.",
    )  # fmt: skip
    timeout_s: Annotated[Int, at_least(1)] = key(
        "redis.timeout", 60, group=CONNECTION, importance="low", doc="How many seconds to wait for an answer."
    )
    cluster: Boolean = key("redis.cluster.enabled", False, group=CONNECTION, doc="Refused: one server is written to.")
    command: Annotated[String, one_of(*COMMANDS, ignore_case=True)] = key(
        "redis.command", "XADD", group=WRITES, importance="high", former=("redis.type",),
        harmless="a name of a fixed list", doc="What a record becomes.",
    )  # fmt: skip
    keyspace: String = key(
        "redis.keyspace", "${topic}", group=WRITES,
        doc="What keys begin with, or for streams, lists and sets the whole key; ${topic} is the topic.",
    )  # fmt: skip
    separator: String = key(
        "redis.separator", ":", group=WRITES, doc="What is between redis.keyspace and a record's key."
    )

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the server with its port."""
        return with_ports(super().named_hosts(), {"redis.host": self.port})

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem for each setting that cannot work."""
        if self.uri and (urlsplit(self.uri).scheme not in {"redis", "rediss"} or not urlsplit(self.uri).hostname):
            yield ConfigProblem("redis.uri", "Invalid value for configuration redis.uri: write redis://host:6379/0.")
        if self.cluster:
            yield ConfigProblem("redis.cluster.enabled", "One server is written to here, and no cluster.")

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield a note where a record that is sent again is there twice."""
        command = self.command.upper()
        if command in OF_ADDITIONS:
            yield ConfigProblem(
                "redis.command",
                f"{command} adds records at least once: where the worker is killed, those since the last commit of "
                "offsets are added again, and where an answer of Redis is lost, those of its request (up to 1000). "
                "SET, HSET, JSONSET and SADD leave no trace of a second one.",
            )

    def target(self) -> Target:
        """Return the target that the settings describe. Raise ConfigError if the worker does not allow a file."""
        parts = urlsplit(self.uri)
        database = parts.path.strip("/")
        return Target(
            host=(parts.hostname if self.uri else self.host) or "localhost",
            port=(parts.port if self.uri else self.port) or PORT,
            database=int(database) if database.isdigit() else 0,
            command=self.command.upper(),
            keyspace=self.keyspace,
            separator=self.separator,
            timeout_s=float(self.timeout_s),
            username=unquote(parts.username or "") or self.username,
            password=unquote(parts.password or "") or self.password.get_secret_value(),
            tls=self.tls or parts.scheme == "rediss",
            certificates=_real(self, "redis.cacert", self.certificates),
            checks_host=not self.insecure,
        )


class HostsRedisSinkConfig(ConnectorConfig):
    """Holds the keys of com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector."""

    hosts: ListOf = key(
        "redis.hosts", ("localhost:6379",), group=CONNECTION, importance="high", reach=Reach.HOST,
        doc="host:port of the server; of several the first one.",
    )  # fmt: skip
    mode: Annotated[String, one_of("Standalone")] = key(
        "redis.client.mode", "Standalone", group=CONNECTION, doc="One server is written to, and no cluster."
    )
    database: Annotated[Int, at_least(0)] = key(
        "redis.database", 1, group=CONNECTION, doc="The number of the database.", harmless="a number"
    )
    password: Password = key("redis.password", SecretStr(""), group=CONNECTION, doc="The password of the default user.")
    tls: Boolean = key("redis.ssl.enabled", False, group=CONNECTION, doc="Whether TLS is spoken.")
    certificates: String | None = key(
        "redis.ssl.truststore.path", None, group=CONNECTION, reach=Reach.FILE,
        doc="A PEM file of the authorities that the server's certificate is of.",
    )  # fmt: skip
    timeout_ms: Annotated[Int, at_least(1)] = key(
        "redis.operation.timeout.ms", 10_000, group=CONNECTION, importance="low", doc="How long to wait for an answer."
    )

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the servers with their ports."""
        return with_ports(super().named_hosts(), {"redis.hosts": PORT})

    def problems(self) -> Iterator[ConfigProblem]:
        """Yield a problem if there is no host."""
        if not self.hosts or not _host_and_port(self.hosts[0])[0]:
            yield ConfigProblem("redis.hosts", "Invalid value for configuration redis.hosts: write host:port.")

    def target(self) -> Target:
        """Return the target that the settings describe. Raise ConfigError if the worker does not allow a file."""
        host, port = _host_and_port(self.hosts[0])
        return Target(
            host=host,
            port=port,
            database=self.database,
            command="SET",
            keyspace="",
            separator="",
            timeout_s=self.timeout_ms / 1000,
            password=self.password.get_secret_value(),
            tls=self.tls,
            certificates=_real(self, "redis.ssl.truststore.path", self.certificates),
        )


def _host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":") if text.count(":") == 1 or "]" in text else (text, "", "")
    return host.strip("[]"), int(port) if port.isdigit() else PORT


def _real(config: ConnectorConfig, name: str, path: Any) -> str | None:
    return str(config.allowed.require(name, path)) if path else None
