"""Every column type of SQLite with its edge values, end to end, against a golden table a reviewer can read."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from jdbc_drive import OffsetStore, batches, opened, run_sql

from connect.api.errors import SchemaError
from connect.api.schema import Schema

GOLDEN = Path(__file__).parents[2] / "golden" / "jdbc_sqlite_types.json"

CASES = {
    "integer": ("integer", ["-9223372036854775808", "0", "9223372036854775807", "NULL"]),
    "int": ("int", ["-2147483648", "2147483647", "NULL"]),
    "bigint": ("bigint", ["9223372036854775807", "NULL"]),
    "tinyint": ("tinyint", ["127", "300", "NULL"]),
    "smallint": ("smallint", ["-32768", "40000", "NULL"]),
    "unsigned_big_int": ("unsigned big int", ["1", "NULL"]),
    "integer_not_null": ("integer not null", ["1"]),
    "integer_holds_text": ("integer", ["'abc'"]),
    "integer_holds_real": ("integer", ["1.5"]),
    "boolean": ("boolean", ["1", "0", "true", "NULL"]),
    "boolean_holds_2": ("boolean", ["2"]),
    "real": ("real", ["0.1", "1e308", "-0.0", "NULL"]),
    "double": ("double", ["0.1", "NULL"]),
    "float": ("float", ["0.1", "NULL"]),
    "real_holds_text": ("real", ["'abc'"]),
    "numeric": ("numeric", ["1", "1.5", "NULL"]),
    "numeric_holds_2_53_plus_1": ("numeric", ["9007199254740993"]),
    "numeric_9_0": ("numeric(9,0)", ["999999999", "NULL"]),
    "decimal_10_2": ("decimal(10,2)", ["1.10", "12345678.91", "7", "NULL"]),
    "decimal_10_2_holds_3_digits": ("decimal(10,2)", ["1.123"]),
    "text": ("text", ["''", "'a'", "'é漢😀'", "NULL"]),
    "varchar": ("varchar(10)", ["'a'", "NULL"]),
    "char": ("char(3)", ["'a'", "NULL"]),
    "clob": ("clob", ["'a'", "NULL"]),
    "text_holds_blob": ("text", ["x'00ff'"]),
    "blob": ("blob", ["x''", "x'00ff'", "NULL"]),
    "blob_holds_text": ("blob", ["'a'"]),
    "no_type": ("", ["'a'", "NULL"]),
    "json": ("json", ["'{}'", "NULL"]),
    "date_text": ("date", ["'2024-02-29'", "'0001-01-01'", "'9999-12-31'", "NULL"]),
    "date_epoch_ms": ("date", ["1709164800000", "NULL"]),
    "date_with_time": ("date", ["'2024-02-29 10:00:00'"]),
    "datetime_text": ("datetime", ["'2024-02-29 12:34:56.123'", "'1969-12-31 23:59:59.5'", "NULL"]),
    "datetime_iso_zulu": ("datetime", ["'2024-02-29T12:34:56Z'", "NULL"]),
    "timestamp_text": ("timestamp", ["'2024-02-29 12:34:56.123'", "NULL"]),
    "timestamp_microseconds": ("timestamp", ["'2024-02-29 12:34:56.123456'"]),
    "timestamp_epoch_ms": ("timestamp", ["1709210096123", "NULL"]),
    "timestamp_mixed": ("timestamp", ["'2024-02-29 12:34:56'", "1709210096123"]),
    "time_text": ("time", ["'12:34:56'", "NULL"]),
}


def shown(schema: Schema) -> str:
    name = "" if schema.name is None else f" {schema.name.rpartition('.')[2]}"
    scale = f"({schema.parameters['scale']})" if "scale" in schema.parameters else ""
    return f"{'optional ' if schema.optional else ''}{schema.type}{name}{scale}"


def observed(tmp_path: Path, name: str) -> dict[str, object]:
    declared, literals = CASES[name]
    path = tmp_path / f"{name}.db"
    run_sql(path, f"CREATE TABLE t (c {declared})", *(f"INSERT INTO t VALUES ({text})" for text in literals))
    task = opened(path, OffsetStore(), mode="bulk", table__whitelist="t", poll__interval__ms=600000)
    try:
        (batch,) = batches(task, OffsetStore(), at_most=1)
    except SchemaError as error:
        return {"type": declared, "error": str(error)}
    finally:
        task.close()
    assert batch.values.schema is not None
    values = [row["c"] for row in batch.values.rows()]
    rows = dict(
        zip(
            literals,
            (value if isinstance(value, int | float | str | None) else str(value) for value in values),
            strict=True,
        )
    )
    return {"type": declared, "schema": shown(batch.values.schema.fields[0].schema), "rows": rows}


def golden() -> dict[str, object]:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_column_type_gives_what_the_golden_table_says(tmp_path, name):
    assert observed(tmp_path, name) == golden()[name]


if __name__ == "__main__":  # rewrites the golden table, to be read before it is committed
    with TemporaryDirectory() as folder:
        table = {name: observed(Path(folder), name) for name in CASES}
    lines = ",\n".join(f" {json.dumps(n)}: {json.dumps(row, ensure_ascii=False)}" for n, row in table.items())
    GOLDEN.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
