"""Declares the settings by which a cluster is reached. It imports no driver and does no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from connect.api.allowed_hosts import with_ports
from connect.api.config import Boolean, ConnectorConfig, Int, ListOf, Password, String, between, key, non_empty, one_of
from connect.api.reach import Reach

CONSISTENCY_LEVELS = ("ONE", "LOCAL_ONE", "TWO", "THREE", "LOCAL_QUORUM", "QUORUM", "EACH_QUORUM", "ALL")
CONTACT = "Cassandra"


class ConnectionKeys(ConnectorConfig):
    """Declares the settings that say how to reach the Cassandra cluster, and as whom."""

    contact_points: Annotated[ListOf, non_empty] = key(
        "contact.points", importance="high", group=CONTACT,
        reach=Reach.HOST, bounds="spoken CQL to, and nothing else",
        doc="Addresses of some nodes, comma-separated; the others are found through them.",
    )  # fmt: skip
    port: Annotated[Int, between(1, 65535)] = key(
        "port", 9042, group=CONTACT, width="short", doc="The nodes' port for CQL (native_transport_port)."
    )  # fmt: skip
    username: String = key("username", "", group=CONTACT, doc="The user; empty: the cluster asks for none.")
    password: Password = key("password", "", group=CONTACT, doc="The user's password.")
    ssl_enabled: Boolean = key(
        "ssl.enabled", False, group=CONTACT, doc="Encrypt connections; the nodes' certificates are checked."
    )  # fmt: skip
    ssl_ca_file: String = key(
        "ssl.ca.file", "", group=CONTACT,
        reach=Reach.FILE,
        doc="PEM file of the authorities to trust; empty: those the system trusts."
    )  # fmt: skip
    ssl_certificate_file: String = key(
        "ssl.certificate.file", "", group=CONTACT,
        reach=Reach.FILE,
        doc="PEM file of this client's certificate, where nodes ask for one."
    )  # fmt: skip
    ssl_key_file: String = key(
        "ssl.key.file", "", group=CONTACT,
        reach=Reach.FILE,
        doc="PEM file of its key; empty: it is in the certificate's file."
    )  # fmt: skip
    ssl_verify_hostname: Boolean = key(
        "ssl.verify.hostname", True, group=CONTACT, importance="low",
        doc="Refuse a node whose certificate is not for its address.",
    )  # fmt: skip
    protocol_version: Annotated[Int, between(3, 5)] = key(
        "protocol.version", 5, group=CONTACT, importance="low",
        doc="Version of the CQL protocol: 5 for Cassandra 4.0 and later, 4 for older ones and ScyllaDB.",
    )  # fmt: skip
    local_datacenter: String = key(
        "local.datacenter", "", group=CONTACT,
        doc="The data centre whose nodes are asked; empty: that of the first contact point.",
    )  # fmt: skip
    consistency_level: Annotated[String, one_of(*CONSISTENCY_LEVELS, ignore_case=True)] = key(
        "consistency.level", "LOCAL_QUORUM", group=CONTACT,
        doc="How many replicas answer a read. LOCAL_ONE is fastest and may miss rows that a replica lacks.",
    )  # fmt: skip
    connect_timeout_ms: Annotated[Int, between(1, 3_600_000)] = key(
        "connect.timeout.ms", 10_000, group=CONTACT, importance="low", doc="How long a connection may take to open."
    )  # fmt: skip
    read_timeout_ms: Annotated[Int, between(1, 3_600_000)] = key(
        "read.timeout.ms", 30_000, group=CONTACT, importance="low", doc="How long one page, or one answer, may take."
    )  # fmt: skip

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the nodes with their port."""
        return with_ports(super().named_hosts(), {"contact.points": self.port})
