"""Checks the rules between the settings of Debezium's MySQL and MariaDB connectors. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem
from connectors.jdbc.debezium.binlog.unused_keys import ANSWERS
from connectors.jdbc.debezium.shared.rules import list_problems, name_problems

if TYPE_CHECKING:
    from connectors.jdbc.debezium.binlog.config import DebeziumBinlogConfig

_HOST = re.compile(r"[\w.:-]+")
_JAVA_STORES = (".jks", ".p12", ".pfx", ".pkcs12")


def problems(config: DebeziumBinlogConfig) -> Iterator[ConfigProblem]:
    """Yield every broken rule, each on the key to change."""
    yield from name_problems(config)
    if _HOST.fullmatch(config.hostname) is None:
        yield ConfigProblem("database.hostname", "database.hostname must be the name or address of a server.")
    for name, file in (("database.ssl.truststore", config.truststore), ("database.ssl.keystore", config.keystore)):
        if file.lower().endswith(_JAVA_STORES):
            yield ConfigProblem(
                name,
                f"{name} must be a PEM file here: openssl pkcs12 makes one of PKCS12, and keytool "
                "-importkeystore makes PKCS12 of JKS.",
            )
    yield from list_problems(config.originals, "database")
    yield from ANSWERS.problems(config.originals)
