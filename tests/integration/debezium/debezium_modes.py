"""Holds the modes of values in which both connectors are run, each with its settings."""

from __future__ import annotations

from collections.abc import Mapping

MODES: Mapping[str, Mapping[str, str]] = {
    "defaults": {},
    "texts": {
        "decimal.handling.mode": "string", "time.precision.mode": "connect", "hstore.handling.mode": "map",
        "interval.handling.mode": "string", "binary.handling.mode": "base64",
        # In this mode Connect's types of dates and times end at the year 9999.
        "column.exclude.list": r"inventory\..*\.(c_timestamp6|c_timestamp3_far|c_date_far|c_time0|d_infinity)",
    },
    "doubles": {
        "decimal.handling.mode": "double", "time.precision.mode": "adaptive_time_microseconds",
        "binary.handling.mode": "hex", "tombstones.on.delete": "false", "skipped.operations": "t",
    },
    "iso": {
        "time.precision.mode": "isostring", "binary.handling.mode": "base64-url-safe",
        "include.unknown.datatypes": "true", "extended.headers.enabled": "false",
    },
    "micros": {"time.precision.mode": "microseconds", "column.exclude.list": "inventory.plain.name"},
    "nanos": {
        "time.precision.mode": "nanoseconds", "unavailable.value.placeholder": "gone",
        # The default infinity ends Debezium's task, and so does a deleted row with times that may not be null.
        "column.exclude.list": r"inventory\.defaulted\.d_infinity", "table.exclude.list": "inventory.required",
    },
    "rules": {
        "column.mask.with.5.chars": r"inventory\.every_type\.(c_char5|c_int4|c_enum|c_json|c_domain_text|c_name)",
        "column.mask.hash.SHA-256.with.salt.pepper": r"inventory\.every_type\.(C_Text|c_varchar|c_bpchar)",
        "column.mask.hash.v2.MD5.with.salt.a.b": r".*\.two_keys\..*,.*\.every_type\.c_varchar_any",
        "column.truncate.to.3.chars": r"inventory\.plain\.(name|big),inventory\.every_type\.c_uuid",
        "message.key.columns": r"inventory\.plain:name;(.*)\.no_key:note,a;inventory.two_keys:a",
        "skip.messages.without.change": "true",
        "snapshot.select.statement.overrides": "inventory.plain",
        "snapshot.select.statement.overrides.inventory.plain": "SELECT id, upper(name) AS name, big, amount FROM "
        "inventory.plain -- all",
        "column.exclude.list": r"inventory\.defaulted\.d_infinity", "table.exclude.list": "inventory.required",
    },
}  # fmt: skip
