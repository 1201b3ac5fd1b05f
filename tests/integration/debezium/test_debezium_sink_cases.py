"""Each type and setting of Debezium's JDBC sink makes the table that Debezium's own one was seen to make."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
import requests
import sqlalchemy as sa
from confluent_kafka import Producer
from debezium_peer import JSON, PATIENCE_S, create, java_worker
from debezium_recordings import FOLDER, RECORDINGS
from debezium_sink_cases import Case, cases
from debezium_sink_events import table_of
from test_debezium_sink_beside_java import DATABASES, config_of, database, engine_of

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError, RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services import KafkaEndpoint
from connect.tools.services.sql import SqlEndpoint
from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig
from connectors.jdbc.sink.debezium.connector import DebeziumSinkConnector

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore:Did not recognize type:sqlalchemy.exc.SAWarning"),
]
Found = dict[str, Any]
_RUN: Final = "run"
_TOGETHER: Final = 12
"""So many connectors run at one time on the Java worker."""
_KEPT = "a null stays null where its field has a default"
_ISO = "times in columns of texts are in ISO 8601, with all digits"
_CUT = "nanoseconds are cut, and not rounded to the next microsecond"
_REFUSED = "a value that the column cannot hold is a bad row"
_DEFAULT = "columns of long texts and bits have their default, too"
_BOTH: Final = {
    "default_null": _KEPT, "default_text_null": _KEPT, "micros_in_text": _ISO, "moment_in_text": _ISO,
    "nanos_in_text": _ISO, "zoned_in_text": _ISO, "micros_bc": _REFUSED, "raw_in_text": _REFUSED,
}  # fmt: skip
DIFFERENT: Final[Mapping[str, Mapping[str, str]]] = {
    "postgres": {
        **_BOTH, "nano_time": _CUT, "nanos_old": _CUT, "zoned_nanos": _CUT, "date_bc": _REFUSED,
        "double_in_int": _REFUSED, "micros_infinity": _REFUSED, "default_bits": _DEFAULT,
        "decimal_none": "Debezium's NUMERIC(38, -1) rounds to tens",
        "decimal_small": "NUMERIC has no fewer digits than its scale",
        "bits_any": "bits of a column without a length are one at least",
        "float_special": "a zero keeps its sign",
    },
    "mariadb": {
        **_BOTH, "default_bytes": _DEFAULT, "default_json": _DEFAULT, "default_uuid": _DEFAULT,
    },
}  # fmt: skip
"""Tells why tables differ from Debezium's on purpose."""


def _config(endpoint: SqlEndpoint, database: str, topic: str, case: Case) -> dict[str, str]:
    return {**config_of(endpoint, database, topic), **case.settings}


def _found(engine: sa.Engine, run: str, case: Case) -> Found | None:
    """Return a case's table with the same name for each run, or None if there is none."""
    name = f"{run}_{case.name}"
    if not sa.inspect(engine).has_table(name):
        return None
    cast = "::text" if engine.dialect.name == "postgresql" else ""
    found: Found = json.loads(json.dumps(table_of(engine, name, cast)).replace(run, _RUN))
    return found


def _made(engine: sa.Engine, run: str, some: Sequence[Case]) -> None:
    with engine.begin() as session:
        for case in some:
            if case.made is not None:
                columns = ", ".join(filter(None, ["id BIGINT PRIMARY KEY", case.made]))
                session.exec_driver_sql(f"CREATE TABLE {run}_{case.name} ({columns})")
            if case.there:
                session.exec_driver_sql(f"INSERT INTO {run}_{case.name} VALUES {case.there}")


def ours(endpoint: SqlEndpoint, database: str, run: str, case: Case) -> str:
    """Put a case's records by our sink, and return why rows are bad or the task fails."""
    topic, (key, value) = f"{run}.{case.name}", case.schemas
    config = {**_config(endpoint, database, topic, case), **EVERYWHERE}
    try:
        task = DebeziumSinkConnector(DebeziumSinkConfig.parse(config)).task(config)
    except ConfigError as error:
        return str(error)
    task.open(FakeSinkContext())
    task.assigned([TopicPartition(topic, 0)])
    size = len(case.values)
    rows = [{"id": number, "v": v} for number, v in zip(case.ids, case.values, strict=True)]
    given = Batch(
        topic, Column.from_rows(rows, value), Column.from_rows([{"id": number} for number in case.ids], key),
        partition=0, consumed=Consumed(TopicPartition(topic, 0), pa.array(range(size), pa.int64()), size),
    )  # fmt: skip
    try:
        task.put(given, Deadline.after(60))
    except (ConnectError, RejectedRowsError) as error:
        return str(error)
    finally:
        task.close()
    return ""


@database
def test_tables_are_those_that_debezium_was_seen_to_make(
    request: pytest.FixtureRequest, unique: str, database: str
) -> None:
    recorded = json.loads((FOLDER / f"sink-cases-{database}.json").read_text())
    endpoint: SqlEndpoint = request.getfixturevalue(database)
    different = {}
    with engine_of(endpoint, DATABASES[database][1]) as engine:
        _made(engine, unique, cases(database))
        for case in cases(database):
            why = ours(endpoint, database, unique, case)
            found = _found(engine, unique, case)
            if recorded[case.name] is not None and found != recorded[case.name]:
                different[case.name] = (why, found, recorded[case.name])
    assert different.keys() == DIFFERENT[database].keys(), different


def _produce(bootstrap_servers: str, run: str, some: Sequence[Case]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    of_key, of_value = JsonConverter(JsonConfig.parse({}), is_key=True), JsonConverter(JsonConfig.parse({}))
    for case in some:
        topic, (key, value) = f"{run}.{case.name}", case.schemas
        rows = [{"id": number, "v": v} for number, v in zip(case.ids, case.values, strict=True)]
        keys = of_key.encode(topic, Column.from_rows([{"id": number} for number in case.ids], key)).to_pylist()
        for told, row in zip(keys, of_value.encode(topic, Column.from_rows(rows, value)).to_pylist(), strict=True):
            producer.produce(topic, row, told, partition=0)
    assert producer.flush(30) == 0


def _as_lines(found: Mapping[str, Found | None]) -> str:
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(table)}" for name, table in found.items())
    return f"{{\n{lines}\n}}\n"


def _until_done(url: str, name: str, records: int) -> bool:
    """Wait until a connector of Java has written all records, or has failed, and drop it. Return True if it has."""
    limit = Deadline.after(PATIENCE_S)
    while True:
        tasks = requests.get(f"{url}/connectors/{name}/status", timeout=30).json().get("tasks", ())
        offsets = requests.get(f"{url}/connectors/{name}/offsets", timeout=30).json().get("offsets") or ()
        is_done = any(offset["offset"]["kafka_offset"] >= records for offset in offsets)
        if is_done or any(task["state"] == "FAILED" for task in tasks):
            requests.delete(f"{url}/connectors/{name}", timeout=30)
            return is_done
        assert limit.wait(0.5), f"{name} neither wrote its records nor failed."


@database
@pytest.mark.chaos
def test_tables_are_those_of_debezium(
    request: pytest.FixtureRequest, kafka: KafkaEndpoint, tmp_path: Path, database: str
) -> None:
    endpoint: SqlEndpoint = request.getfixturevalue(database)
    run, all_cases = f"java{secrets.token_hex(3)}", cases(database)
    further = {
        "key.converter": JSON, "value.converter": JSON, "value.converter.replace.null.with.default": "false",
        "connection.pool.min_size": "1", "connection.pool.max_size": "2",
    }  # fmt: skip
    found: dict[str, Found | None] = {}
    _produce(kafka.bootstrap_servers, run, all_cases)
    with (
        java_worker(kafka.bootstrap_servers, run, tmp_path / "java", "jdbc") as url,
        engine_of(endpoint, DATABASES[database][1]) as engine,
    ):
        _made(engine, run, all_cases)
        for first in range(0, len(all_cases), _TOGETHER):
            some = all_cases[first : first + _TOGETHER]
            for case in some:
                config = _config(endpoint, database, f"{run}.{case.name}", case)
                create(url, f"{run}-{case.name}", {**config, **further})
            for case in some:
                is_done = _until_done(url, f"{run}-{case.name}", len(case.values))
                found[case.name] = _found(engine, run, case) if is_done else None
    if RECORDINGS in os.environ:
        (Path(os.environ[RECORDINGS]) / f"sink-cases-{database}.json").write_text(_as_lines(found))
    assert found == json.loads((FOLDER / f"sink-cases-{database}.json").read_text())
