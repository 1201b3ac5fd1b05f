"""Holds the words that Confluent's Avro converter writes into schemas.

Source: io.confluent.connect.avro.AvroData 8.3.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote_plus

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = f"{NAMESPACE}.ConnectDefault"
MAP_ENTRY: Final = "MapEntry"
MAP_ENTRY_NAME: Final = f"{NAMESPACE}.{MAP_ENTRY}"
INTERNAL_TYPE: Final = "connect.internal.type"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
GENERALIZED_UNION, GENERALIZED_ENUM = "org.apache.kafka.connect.data.Union", "org.apache.kafka.connect.data.Enum"
GENERALIZED_UNION_PREFIX, GENERALIZED_FIELD_PREFIX = "connect_union_", "connect_union_field_"
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."
NAME, DOC, VERSION, DEFAULT = "connect.name", "connect.doc", "connect.version", "connect.default"
RECORD_DOC_PARAMETER, ENUM_DOC_PARAMETER = "connect.record.doc", "connect.enum.doc"
PARAMETERS, TYPE = "connect.parameters", "connect.type"
FIXED_SIZE: Final = "connect.fixed.size"
DECIMAL_PRECISION_DEFAULT: Final = 64
"""The converter writes this precision for a Decimal without one; a schema that it reads with it gets no parameter."""


def scrubbed(name: str) -> str:
    """Return a valid Avro name in place of any name: percent-encoded, then `_` for what is still invalid."""
    if name and not name[0].isdigit() and all(c == "_" or (c.isascii() and c.isalnum()) for c in name):
        return name
    encoded = quote_plus(name, safe="*-._")
    encoded = f"x{encoded}" if encoded[:1].isdigit() else encoded
    return "".join(c if c == "_" or (c.isascii() and c.isalnum()) else "_" for c in encoded)


def scrubbed_full(name: str) -> str:
    """Return a dotted name with every part of it scrubbed."""
    return ".".join(map(scrubbed, name.split(".")))
