"""Holds faults of targets, certificates, files with secrets and brokers' releases, and how the doctor finds them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from doctor_faults import NOW, SOUND, with_kafka

from connect.doctor.model.facts import (
    CertificateFacts,
    Facts,
    RegistryFacts,
    SecretFile,
    TargetFacts,
    UncoveredName,
)
from connect.kafka.admin.broker_releases import BrokerRelease


def _release(release: tuple[int, int], *known: str, held_at: tuple[int, int] | None = None) -> BrokerRelease:
    return BrokerRelease(release, False, held_at, frozenset(known), frozenset(known))


SERVER_FAULTS: dict[str, tuple[Callable[[], Facts], str, str, str]] = {
    "mixed": (
        lambda: with_kafka(releases={1: _release((3, 9), "a"), 2: _release((4, 0), "a", "b")}), "warning",
        "Broker 1 is without settings that others have: b.", "kafka-broker-api-versions.sh",
    ),
    "held": (
        lambda: with_kafka(releases={1: _release((3, 9), "a", held_at=(3, 6))}), "warning",
        "Broker 1 is of 3.9, and held at 3.6", "inter.broker.protocol.version=3.9",
    ),
    "too old": (
        lambda: with_kafka(releases={1: _release((2, 4), "a")}), "error", "Broker 1 is of 2.4", "3.9 or later",
    ),
    "unmaintained": (
        lambda: with_kafka(releases={1: _release((3, 8), "a")}), "note", "Broker 1 is of 3.8", "3.9 or later",
    ),
    "registry's ended": (
        lambda: replace(SOUND, registries=[
            RegistryFacts("connector late", "value.converter.url", None, "registry:443", NOW - timedelta(days=1))]),
        "error", "of the registry at registry:443 ended at 2025-12-31", "s_client -connect registry:443",
    ),
    "target's expires": (
        lambda: replace(SOUND, targets=[TargetFacts("late", "http.api.url", "api:443", "", NOW + timedelta(days=6))]),
        "warning", "The certificate of api:443 (http.api.url) ends in 6 days", "s_client -connect api:443",
    ),
    "target's ended": (
        lambda: replace(SOUND, targets=[TargetFacts("late", "http.api.url", "api:443", "", NOW - timedelta(days=1))]),
        "error", "The certificate of api:443 (http.api.url) ended at 2025-12-31", "s_client -connect api:443",
    ),
    "dead target": (
        lambda: replace(SOUND, targets=[TargetFacts("late", "http.api.url", "[::1]:9", "Connection refused")]),
        "error", "Nobody answers at [::1]:9 (http.api.url): Connection refused.", "nc -vz ::1 9",
    ),
    "another name": (
        lambda: replace(SOUND, uncovered_names=[
            UncoveredName("https://127.0.0.1:8443", "ssl.keystore.location", "127.0.0.1", ["*.a", "b.example"])]),
        "warning", "(ssl.keystore.location) is for *.a, b.example, and it is reached as 127.0.0.1.",
        "rest.advertised.host.name=b.example",
    ),
    "readable users": (
        lambda: replace(SOUND, secret_files=[SecretFile("rest.basic.auth.file", "/etc/users", 0o644)]), "warning",
        "/etc/users has mode 644: everybody on this machine may read it.", "chmod 600 /etc/users",
    ),
    "expired": (
        lambda: replace(SOUND, certificates=[CertificateFacts("k", "/ca.pem", NOW - timedelta(days=1))]), "error",
        "ended at 2025-12-31", "openssl x509 -in /ca.pem",
    ),
    "expires": (
        lambda: replace(SOUND, certificates=[CertificateFacts("k", "/ca.pem", NOW + timedelta(days=29))]), "warning",
        "ends in 29 days", "openssl",
    ),
    "registry's expires": (
        lambda: replace(SOUND, registries=[
            RegistryFacts("connector late", "value.converter.url", None, "registry:443", NOW + timedelta(days=6))]),
        "warning", "The certificate of the registry at registry:443 ends in 6 days", "s_client -connect registry:443",
    ),
    "no certificate": (
        lambda: replace(SOUND, certificates=[CertificateFacts("k", "/ca.pem", trouble="no file.")]), "warning",
        "no file",
        "openssl",
    ),
}  # fmt: skip
