"""Checks types of a result's columns, from column definitions as MariaDB 10.11 sends them."""

from __future__ import annotations

import pytest

from connect.api import schema as s
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.dialects.mysql.result_types import column_type
from connectors.jdbc.values.types import TypeRules, plan_column

# code, length, scale, flags, character set
DEFINITIONS = {
    "TINYINT(1)": ((1, 1, 0, 0, 63), s.INT8),
    "TINYINT UNSIGNED": ((1, 3, 0, 32, 63), s.INT16),
    "SMALLINT UNSIGNED": ((2, 5, 0, 32, 63), s.INT32),
    "MEDIUMINT": ((9, 9, 0, 0, 63), s.INT32),
    "INT UNSIGNED": ((3, 10, 0, 32, 63), s.INT64),
    "BIGINT UNSIGNED": ((8, 20, 0, 32, 63), s.INT64),
    "DECIMAL(12,2) UNSIGNED NOT NULL": ((246, 13, 2, 0x1021, 63), s.decimal(2, precision=12)),
    "DECIMAL(5,0)": ((246, 6, 0, 0, 63), s.decimal(0, precision=5)),
    "FLOAT": ((4, 12, 31, 0, 63), s.FLOAT32),
    "1e0": ((5, 3, 31, 1, 63), s.FLOAT64),
    "TIME(3)": ((11, 14, 3, 128, 63), s.TIME_SCHEMA),
    "TIMESTAMP(6)": ((7, 26, 6, 160, 63), s.TIMESTAMP_SCHEMA),
    "DATETIME": ((12, 19, 0, 128, 63), s.TIMESTAMP_SCHEMA),
    "DATE": ((10, 10, 0, 128, 63), s.DATE_SCHEMA),
    "YEAR": ((13, 4, 0, 0x60, 63), s.INT16),
    "BIT(1)": ((16, 1, 0, 32, 63), s.INT8),
    "BIT(9)": ((16, 9, 0, 32, 63), s.BYTES),
    "UUID": ((254, 144, 0, 0xA0, 45), s.STRING),
    "JSON of MariaDB": ((252, 4294967295, 0, 0x90, 45), s.STRING),
    "JSON of MySQL": ((245, 4294967295, 0, 0x90, 63), s.STRING),
    "BLOB": ((252, 65535, 0, 0x90, 63), s.BYTES),
    "POINT": ((255, 4294967295, 0, 0x90, 63), s.BYTES),
    "ENUM of bytes": ((254, 4, 0, 1 << 8, 63), s.STRING),
    "SET": ((254, 4, 0, 1 << 11, 45), s.STRING),
    "VARBINARY(10)": ((253, 10, 0, 128, 63), s.BYTES),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_column_definition_has_the_type_of_its_column(name):
    definition, schema = DEFINITIONS[name]
    kind = column_type(*definition)
    assert kind is not None
    assert plan_column("c", kind, nullable=False, rules=TypeRules(dialect_named("mariadb").types)).schema == schema


def test_null_alone_has_no_type():
    assert column_type(254, 0, 0, 128, 63) is None
    assert column_type(6, 0, 0, 128, 63) is None
