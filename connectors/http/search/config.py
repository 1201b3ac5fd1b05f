"""Declares the settings of the sink for Elasticsearch: names and defaults of Confluent's. `opensearch_config` adds
Aiven's.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Final, NamedTuple

from connect.api.allowed_hosts import with_ports
from connect.api.config import (
    Boolean,
    ConnectorConfig,
    Int,
    ListOf,
    Password,
    String,
    at_least,
    between,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.tls.client_tls import checks_host, client_tls
from connect.api.url import Urls
from connectors.http.calls.peer import Peer, basic_authorization, proxy_url
from connectors.http.calls.tls_keys import client_key_password, store_file, store_password, store_type
from connectors.http.search.names import SPACE_CHARS, index_name

CONNECTOR: Final = "Connector"
CONVERSION: Final = "Data Conversion"
PROXY: Final = "Proxy"
SECURITY: Final = "Security"
STREAM: Final = "Data Stream"
TIMESTAMP: Final = "@timestamp"
"""Each document of a data stream has this field."""
SERVERS: Final = "the search servers"
DISABLED: Final = "DISABLED"
_STREAMS: Final = frozenset({"DATASTREAM", "ALIAS_DATASTREAM"})
_USAGES: Final = frozenset({DISABLED, "INDEX", "ALIAS_INDEX", *_STREAMS})
_SSL: Final = "elastic.https.ssl."


class StreamTemplate(NamedTuple):
    """Holds an index template of a data stream: its name, and the field that holds the time of a document."""

    name: str
    timestamp_field: str = TIMESTAMP


class SearchSinkConfig(ConnectorConfig):
    """Declares the settings that the sinks for Elasticsearch and for OpenSearch share."""

    write_method_key: ClassVar[str] = "write.method"
    connection_url: Annotated[Urls, non_empty] = key(
        "connection.url", importance="high", group=CONNECTOR,
        doc="The URLs of the nodes, such as http://es:9200. The first one that answers is asked.",
    )  # fmt: skip
    connection_username: String = key(
        "connection.username", "", group=CONNECTOR, doc="The user, for basic authentication; empty: none is sent."
    )
    connection_password: Password | None = key("connection.password", None, group=CONNECTOR, doc="The user's password.")
    batch_size: Annotated[Int, between(1, 1_000_000)] = key(
        "batch.size", 2000, group=CONNECTOR, doc="How many records a bulk request holds at most."
    )
    bulk_size_bytes: Annotated[Int, at_least(1)] = key(
        "bulk.size.bytes", 5 << 20, group=CONNECTOR, importance="low",
        doc="How many bytes a bulk request has at most; a larger document is a request of its own.",
    )  # fmt: skip
    connection_timeout_ms: Annotated[Int, at_least(1)] = key(
        "connection.timeout.ms", 1000, group=CONNECTOR, importance="low", doc="How long to wait for a connection."
    )
    read_timeout_ms: Annotated[Int, at_least(1)] = key(
        "read.timeout.ms", 3000, group=CONNECTOR, importance="low", doc="How long to wait for an answer."
    )
    key_ignore: Boolean = key(
        "key.ignore", False, group=CONVERSION, importance="high",
        doc="Whether a document's id is topic+partition+offset of its record, and not the record's key. In data "
        "streams it is always.",
    )  # fmt: skip
    topic_key_ignore: ListOf = key(
        "topic.key.ignore", (), group=CONVERSION, importance="low", doc="Topics for which key.ignore is true."
    )
    schema_ignore: Boolean = key(
        "schema.ignore", False, group=CONVERSION, importance="low",
        doc="Whether an index gets its mapping by the documents alone, and not by the schema of the first records.",
    )  # fmt: skip
    topic_schema_ignore: ListOf = key(
        "topic.schema.ignore", (), group=CONVERSION, importance="low", doc="Topics for which schema.ignore is true."
    )
    compact_map_entries: Boolean = key(
        "compact.map.entries", True, group=CONVERSION, importance="low",
        doc="Whether a map with text keys is an object; else it is a list of entries with key and value.",
    )  # fmt: skip
    drop_invalid_message: Boolean = key(
        "drop.invalid.message", False, group=CONVERSION, importance="low",
        doc="Whether records that cannot become a document are left out; else they are dead letters or end the task, "
        "as errors.tolerance says.",
    )  # fmt: skip
    on_null: Annotated[String, one_of("ignore", "delete", "fail", ignore_case=True)] = key(
        "behavior.on.null.values", "fail", group=CONVERSION, importance="low",
        doc="What a record without a value does: ignore leaves it out, delete deletes the document of its key, fail "
        "makes it a bad record.",
    )  # fmt: skip
    on_malformed: Annotated[String, one_of("ignore", "warn", "fail", ignore_case=True)] = key(
        "behavior.on.malformed.documents", "fail", group=CONVERSION, importance="low",
        doc="What becomes of documents that the server refuses for what is in them: fail makes their records dead "
        "letters or ends the task, as errors.tolerance says; ignore and warn leave them out, which the task's notes "
        "tell.",
    )  # fmt: skip
    write_method: Annotated[String, one_of("insert", "upsert", ignore_case=True)] = key(
        "write.method", "insert", group=CONVERSION, importance="low",
        doc="insert puts the document in place of the one before, unless that is of a later record; upsert merges the "
        "fields into it.",
    )  # fmt: skip
    external_version_header: String = key(
        "external.version.header", "", group=CONVERSION, importance="low",
        doc="The record header that holds a document's version; empty: the record's offset is it.",
    )  # fmt: skip
    resources: ListOf = key(
        "topic.to.external.resource.mapping", (), group=CONVERSION, importance="low",
        doc="topic:name pairs: the index, alias or data stream that a topic is written to.",
    )  # fmt: skip
    resource_usage: String = key(
        "external.resource.usage", DISABLED, group=CONVERSION, importance="low",
        doc="What topic.to.external.resource.mapping names, where it was made by somebody else and has all topics: "
        "INDEX, DATASTREAM, ALIAS_INDEX or ALIAS_DATASTREAM. DISABLED: what is not there is made.",
    )  # fmt: skip
    stream_type: Annotated[String, one_of("logs", "metrics", "none", ignore_case=True)] = key(
        "data.stream.type", "none", group=STREAM, importance="low", doc="The type of the data streams; none: indices."
    )
    stream_dataset: String = key(
        "data.stream.dataset", "", group=STREAM, importance="low", doc="The dataset of the data streams."
    )
    stream_namespace: String = key(
        "data.stream.namespace", "${topic}", group=STREAM, importance="low", doc="The namespace of the data streams."
    )
    stream_timestamp: ListOf = key(
        "data.stream.timestamp.field", (), group=STREAM, importance="low",
        doc="The fields that may hold a document's @timestamp; else it is the record's time.",
    )  # fmt: skip
    proxy_host: String = key("proxy.host", "", group=PROXY, reach=Reach.HOST, doc="The host of a proxy.")
    proxy_port: Int = key("proxy.port", 8080, group=PROXY, doc="The proxy's port.", harmless="a number")
    proxy_username: String = key("proxy.username", "", group=PROXY, doc="The proxy's user.", harmless="a name")
    proxy_password: Password | None = key(
        "proxy.password", None, group=PROXY, doc="The password of the proxy's user.", harmless="a password"
    )
    security: Annotated[String, one_of("PLAINTEXT", "SSL")] = key(
        "elastic.security.protocol", "PLAINTEXT", group=SECURITY, importance="low",
        doc="SSL: the keys elastic.https.ssl.* count. Whether TLS is spoken is said by the URLs.",
    )  # fmt: skip
    truststore: String | None = store_file(
        _SSL, "truststore", SECURITY,
        "A PEM file or a store of Java's with the authorities that the servers' certificates are of.",
    )  # fmt: skip
    keystore: String | None = store_file(
        _SSL, "keystore", SECURITY, "A PEM file or a store of Java's with the client's key and certificate."
    )
    key_password: Password | None = client_key_password(_SSL, SECURITY)
    truststore_password: Password | None = store_password(_SSL, "truststore", SECURITY)
    keystore_password: Password | None = store_password(_SSL, "keystore", SECURITY)
    truststore_type: String = store_type(_SSL, "truststore", SECURITY)
    keystore_type: String = store_type(_SSL, "keystore", SECURITY)
    kerberos: String = key(
        "kerberos.keytab.path", "", group=SECURITY, importance="low", doc="No Kerberos is spoken here.",
        harmless="it is refused",
    )  # fmt: skip

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the servers, and the proxy with its port."""
        return with_ports(super().named_hosts(), {"proxy.host": self.proxy_port})

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem for each setting that cannot work."""
        if self.on_null.lower() == "delete" and self.key_ignore and not self.takes_deletes_without_keys:
            yield ConfigProblem(
                "behavior.on.null.values", "delete needs key.ignore=false: a document is deleted by its key."
            )
        if self.has_stream_type and not self.stream_dataset:
            yield ConfigProblem("data.stream.dataset", "data.stream.type needs data.stream.dataset.")
        if self.is_stream and self.merges:
            name = self.write_method_key
            yield ConfigProblem(name, f"A data stream takes new documents alone: set {name}=insert.")
        if self.kerberos:
            yield ConfigProblem(
                "kerberos.keytab.path", "No Kerberos is spoken to Elasticsearch here. Leave it out, and give "
                "connection.username and connection.password."
            )  # fmt: skip
        if self.usage not in _USAGES:
            yield ConfigProblem(
                "external.resource.usage",
                f"Invalid value {self.resource_usage}: must be one of {', '.join(sorted(_USAGES))}.",
            )
        for pair in self.resources:
            if ":" not in pair:
                yield ConfigProblem("topic.to.external.resource.mapping", f"{pair!r} is no topic:name.")

    @property
    def has_stream_type(self) -> bool:
        """Return True if data.stream.type names data streams."""
        return self.stream_type.lower() != "none"

    @property
    def usage(self) -> str:
        """Return what kind of thing the mapping of topics names, or DISABLED."""
        return self.resource_usage.upper()

    @property
    def is_external(self) -> bool:
        """Return True if somebody else makes the indices, data streams and aliases."""
        return self.usage != DISABLED

    @property
    def is_stream(self) -> bool:
        """Return True if documents go to data streams."""
        return self.has_stream_type or self.usage in _STREAMS

    @property
    def stamps_documents(self) -> bool:
        """Return True if documents of data streams get the field @timestamp."""
        return True

    @property
    def takes_deletes_without_keys(self) -> bool:
        """Return True if deletes are taken where keys are no ids, and so delete nothing."""
        return False

    def template_of(self, stream: str) -> StreamTemplate | None:  # noqa: ARG002 - Aiven's sink makes one
        """Return the index template that a data stream is made with; None if somebody else makes it."""
        return None

    def name_of(self, topic: str) -> str:
        """Return what a topic's index or data stream is called if the settings name no other one."""
        if not self.has_stream_type:
            return index_name(topic, "-_")
        space = self.stream_namespace.replace("${topic}", topic)[:SPACE_CHARS]
        return f"{self.stream_type}-{self.stream_dataset}-{space}".lower()

    @property
    def merges(self) -> bool:
        """Return True if the fields of a record are merged into the document that is there."""
        return self.write_method.lower() == "upsert"

    @property
    def leaves_malformed_out(self) -> bool:
        """Return True if documents that the server refuses for what is in them are left out."""
        return self.on_malformed.lower() in {"ignore", "warn"}

    @property
    def conflict_behavior(self) -> str:
        """Return what becomes of a record whose document has its version or a later one: warn, report or fail."""
        return "warn"

    def ignores_key(self, topic: str) -> bool:
        """Return True if keys of a topic are not the ids of documents, as in a data stream, which takes an id once."""
        return self.is_stream or self.key_ignore or topic in self.topic_key_ignore

    def ignores_schema(self, topic: str) -> bool:
        """Return True if no mapping is made from the schema of a topic."""
        return self.schema_ignore or topic in self.topic_schema_ignore

    def peer(self) -> Peer:
        """Return the servers and how they are asked. Raise ConfigError if a TLS file cannot be used."""
        context, is_host_checked = self.tls()
        login = {"Authorization": basic_authorization(self.connection_username, self.connection_password)}
        return Peer(
            [str(url).rstrip("/") for url in self.connection_url],
            timeout_s=self.read_timeout_ms / 1000,
            connect_timeout_s=self.connection_timeout_ms / 1000,
            headers=login if self.connection_username else {},
            tls=context,
            checks_host=is_host_checked,
            proxy=proxy_url(self.proxy_host, self.proxy_port, self.proxy_username, self.proxy_password),
        )

    def tls(self) -> tuple[ssl.SSLContext | None, bool]:
        """Return how TLS is spoken, None for as the system does, and if a certificate has to name the server's host.

        Raise ConfigError if a TLS file cannot be used.
        """
        given: Mapping[str, str] = self.with_prefix(_SSL) if self.security == "SSL" else {}
        return client_tls(given, self.allowed, _SSL, SERVERS) if given else None, checks_host(given)
