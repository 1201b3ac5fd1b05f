"""Declares the settings of the sink for OpenSearch as Aiven's connectors have them.

Source: OpenSearchSinkConnectorConfig and RequestBuilder of Aiven's connector.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, ClassVar, Final

from connect.api.config import Boolean, ListOf, Password, String, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.tls.client_tls import checks_host, client_tls
from connectors.http.calls.tls_keys import client_key_password, store_file, store_password, store_type
from connectors.http.search.config import (
    CONVERSION,
    DISABLED,
    SECURITY,
    SERVERS,
    STREAM,
    TIMESTAMP,
    SearchSinkConfig,
    StreamTemplate,
)
from connectors.http.search.names import index_name

RECORD_KEY: Final = "record.key"
_SSL: Final = "connection.ssl."
_TRUSTS_ALL: Final = "connection.trust.all.certificates"
_MARKS: Final = "-_+"
_ROUTING: Final = ("routing.enabled", "routing.type")
_UNROUTED: Final = frozenset({"", "false", "none"})
_AWS: Final = "aws.access_key_id"


class OpenSearchSinkConfig(SearchSinkConfig):
    """Declares the settings as Aiven's connectors have them: by default a tombstone is ignored."""

    families = (_SSL,)
    write_method_key: ClassVar[str] = "index.write.method"
    on_null: Annotated[String, one_of("ignore", "delete", "fail", ignore_case=True)] = key(
        "behavior.on.null.values", "ignore", group=CONVERSION, importance="low",
        doc="What a record without a value does: ignore leaves it out, delete deletes the document of its key, fail "
        "makes it a bad record.",
    )  # fmt: skip
    on_malformed: Annotated[String, one_of("ignore", "warn", "report", "fail", ignore_case=True)] = key(
        "behavior.on.malformed.documents", "fail", group=CONVERSION, importance="low",
        doc="What becomes of documents that the server refuses for what is in them: fail and report make their records "
        "dead letters or end the task, as errors.tolerance says; ignore and warn leave them out, which the task's "
        "notes tell.",
    )  # fmt: skip
    on_conflict: Annotated[String, one_of("ignore", "warn", "report", "fail", ignore_case=True)] = key(
        "behavior.on.version.conflict", "warn", group=CONVERSION, importance="low",
        doc="What becomes of records whose document has their version or a later one: ignore and warn leave the "
        "document as it is and count them in the task's notes, report makes them dead letters or ends the task, as "
        "errors.tolerance says, fail ends the task. Records that are written again after a crash are such records, so "
        "fail, which is the default in Java, needs a person then.",
    )  # fmt: skip
    write_method: Annotated[String, one_of("insert", "upsert", ignore_case=True)] = key(
        "index.write.method", "insert", group=CONVERSION, importance="low",
        doc="insert puts the document in place of the one before, unless that is of a later record; upsert merges the "
        "fields into it.",
    )  # fmt: skip
    id_strategy: Annotated[String, one_of("none", RECORD_KEY, "topic.partition.offset", ignore_case=True)] = key(
        "key.ignore.id.strategy", "topic.partition.offset", group=CONVERSION, importance="low",
        doc="What a document's id is where key.ignore or topic.key.ignore say that keys are ignored: record.key is the "
        "key nevertheless; none is topic+partition+offset, too, so that a record written again is there once.",
    )  # fmt: skip
    resources: ListOf = key(
        "topic.index.map", (), group=CONVERSION, importance="low",
        doc="topic:name pairs: the index, alias or data stream that a topic is written to.",
    )  # fmt: skip
    stream_enabled: Boolean = key(
        "data.stream.enabled", False, group=STREAM, doc="Whether documents go to data streams, which are made."
    )
    stream_prefix: String = key(
        "data.stream.prefix", "", group=STREAM, harmless="a part of a name",
        doc="What the names of data streams begin with, as prefix-topic; empty: they are called as their topics.",
    )  # fmt: skip
    stream_timestamp: ListOf = key(
        "data.stream.timestamp.field", (TIMESTAMP,), group=STREAM, importance="low",
        doc="The field with a document's time. A document without @timestamp gets the record's time there; with another"
        " field documents stay as they are, and the data stream is made to take the time from it.",
    )  # fmt: skip
    stream_template: String = key(
        "data.streams.existing.index.template.name", "", group=STREAM, harmless="a name",
        doc="The index template of the data streams, which is made if it is not there; empty: each data stream gets "
        "one, NAME-connector-data-stream-template.",
    )  # fmt: skip
    own_truststore: String | None = store_file(
        _SSL, "truststore", SECURITY,
        "A PEM file or a store of Java's with the authorities that the servers' certificates are of.",
    )  # fmt: skip
    own_keystore: String | None = store_file(
        _SSL, "keystore", SECURITY, "A PEM file or a store of Java's with the client's key and certificate."
    )
    own_key_password: Password | None = client_key_password(_SSL, SECURITY)
    own_truststore_password: Password | None = store_password(_SSL, "truststore", SECURITY)
    own_keystore_password: Password | None = store_password(_SSL, "keystore", SECURITY)
    own_truststore_type: String = store_type(_SSL, "truststore", SECURITY)
    own_keystore_type: String = store_type(_SSL, "keystore", SECURITY)
    trusts_all: Boolean = key(
        _TRUSTS_ALL, False, group=SECURITY,
        doc="Whether any certificate will do, with any host in it, where connection.ssl.truststore.location is not "
        "set. Then whoever is on the way can read and change what is sent.",
    )  # fmt: skip

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield what the settings leave undone here, or weaken."""
        for name in _ROUTING:
            if self.originals.get(name, "").lower() not in _UNROUTED:
                yield ConfigProblem(
                    name,
                    f"{name} has no effect here: the shard of a document follows from its id. Whoever asks with a "
                    "routing value may not find it.",
                )
        if self.originals.get(_AWS):
            yield ConfigProblem(
                _AWS,
                f"{_AWS} has no effect here: requests are not signed for AWS. Give connection.username and "
                "connection.password.",
            )
        if self.trusts_all and not self.own_truststore:
            yield ConfigProblem(
                _TRUSTS_ALL,
                "Any certificate will do, so whoever is on the way can read and change what is sent. Name the "
                "authorities in connection.ssl.truststore.location.",
            )
        if self.on_null.lower() == "delete" and any(map(self.ignores_key, self._topics_without_keys())):
            yield ConfigProblem(
                "behavior.on.null.values",
                "delete deletes nothing where keys are no ids: set key.ignore=false, or key.ignore.id.strategy="
                f"{RECORD_KEY}.",
            )

    @property
    def conflict_behavior(self) -> str:
        """Return what becomes of a record whose document has its version or a later one: warn, report or fail."""
        return "warn" if self.on_conflict.lower() == "ignore" else self.on_conflict.lower()

    @property
    def usage(self) -> str:
        """Return DISABLED, as Aiven's sink does not know the key."""
        return DISABLED

    @property
    def is_stream(self) -> bool:
        """Return True if documents go to data streams."""
        return self.stream_enabled or super().is_stream

    @property
    def stamps_documents(self) -> bool:
        """Return True if documents of data streams get the field @timestamp, which no other field stands for."""
        return not self.stream_enabled or self._timestamp_field == TIMESTAMP

    @property
    def takes_deletes_without_keys(self) -> bool:
        """Return True, as Aiven's sink takes them. A note says what they do."""
        return True

    def ignores_key(self, topic: str) -> bool:
        """Return True if keys of a topic are not the ids of documents."""
        return self.is_stream or (super().ignores_key(topic) and self.id_strategy.lower() != RECORD_KEY)

    def template_of(self, stream: str) -> StreamTemplate | None:
        """Return the index template that a data stream is made with."""
        if not self.stream_enabled:
            return None
        return StreamTemplate(self.stream_template or f"{stream}-connector-data-stream-template", self._timestamp_field)

    def name_of(self, topic: str) -> str:
        """Return what a topic's index or data stream is called if the settings name no other one."""
        if self.has_stream_type:
            return super().name_of(topic)
        name = index_name(topic.replace(":", "_"), _MARKS)
        return f"{self.stream_prefix}-{name}" if self.stream_enabled and self.stream_prefix else name

    def tls(self) -> tuple[ssl.SSLContext | None, bool]:
        """Return how TLS is spoken, and if a certificate has to name the server's host."""
        given: Mapping[str, str] = self.with_prefix(_SSL)
        trusts_all = self.trusts_all and not self.own_truststore
        if not (given or trusts_all):
            return super().tls()
        context = client_tls(given, self.allowed, _SSL, SERVERS)
        if trusts_all:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context, checks_host(given) and not trusts_all

    @property
    def _timestamp_field(self) -> str:
        return self.stream_timestamp[0] if self.stream_timestamp else TIMESTAMP

    def _topics_without_keys(self) -> Iterable[str]:
        return (*self.topic_key_ignore, *([""] if self.key_ignore or self.is_stream else []))
