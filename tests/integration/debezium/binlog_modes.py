"""Holds the modes of values in which both connectors are run on MariaDB and MySQL, each with its settings."""

from __future__ import annotations

from collections.abc import Mapping

MODES: Mapping[str, Mapping[str, str]] = {
    "defaults": {},
    "texts": {
        "decimal.handling.mode": "string", "time.precision.mode": "connect", "binary.handling.mode": "base64",
        "bigint.unsigned.handling.mode": "precise",
        # A time that is no time of day ends Debezium's task.
        "column.exclude.list": r"inventory\..*\.c_time_far",
    },
    "doubles": {
        "decimal.handling.mode": "double", "binary.handling.mode": "hex", "tombstones.on.delete": "false",
        "skipped.operations": "none",
    },
    "iso": {
        "time.precision.mode": "isostring", "binary.handling.mode": "base64-url-safe",
        "extended.headers.enabled": "false", "column.exclude.list": r"inventory\..*\.c_time_far",
    },
    "micros": {
        "time.precision.mode": "microseconds", "column.exclude.list": r"inventory\..*\.c_time_far,inventory.plain.name",
    },
    "nanos": {
        # Nanoseconds that 64 bits cannot hold end it, too.
        "time.precision.mode": "nanoseconds",
        "column.exclude.list": r"inventory\..*\.(c_time_far|c_datetime3|c_datetime6)",
    },
    "rules": {
        "column.mask.with.5.chars": r"inventory\.every_type\.(c_char|c_int|c_json|c_text|c_latin1)",
        "column.mask.hash.SHA-256.with.salt.pepper": r"inventory\.every_type\.(C_Varchar|c_mediumtext|c_utf16)",
        "column.mask.hash.v2.MD5.with.salt.a.b": r".*\.two_keys\..*",
        "column.truncate.to.3.chars": r"inventory\.plain\.(name|big),inventory\.every_type\.(c_ascii|c_utf8_bin)",
        "message.key.columns": r"inventory\.plain:name;(.*)\.no_key:note,a;inventory.two_keys:a",
        "skip.messages.without.change": "true",
        "snapshot.select.statement.overrides": "inventory.plain",
        "snapshot.select.statement.overrides.inventory.plain": "SELECT id, upper(name) AS name, big, amount FROM "
        "inventory.plain -- all",
    },
}  # fmt: skip
