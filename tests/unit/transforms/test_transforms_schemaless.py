"""Maps without a schema that come as columns stay columns, and give the rows that row by row would give."""

import pyarrow as pa
import pytest

from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.plugins import Catalog
from connect.runtime.build import build_chain
from connect.runtime.chain import apply_chain
from connect.runtime.connector_config import SinkConnectorConfig

ROWS = [{"id": 1, "name": "a", "inner": {"x": None}}, None, {"name": "", "inner": {"x": [1, 2]}}]
KINDS = "org.apache.kafka.connect.transforms."
CONFIGS = {
    "static": {"type": f"{KINDS}InsertField$Value", "static.field": "origin", "static.value": "here"},
    "overwritten": {"type": f"{KINDS}InsertField$Value", "static.field": "name", "static.value": "here"},
    "where from": {
        "type": f"{KINDS}InsertField$Value", "topic.field": "t", "partition.field": "p", "offset.field": "o",
        "timestamp.field": "ms",
    },
    "renamed": {"type": f"{KINDS}ReplaceField$Value", "renames": "id:key,inner:outer"},
    "renamed onto another": {"type": f"{KINDS}ReplaceField$Value", "renames": "id:name"},
    "excluded": {"type": f"{KINDS}ReplaceField$Value", "exclude": "id,missing"},
    "included": {"type": f"{KINDS}ReplaceField$Value", "include": "inner"},
    "nothing left": {"type": f"{KINDS}ReplaceField$Value", "include": "missing"},
}  # fmt: skip


def refuse(name: str, batch: Batch, rows: object) -> None:
    raise AssertionError(f"{name} refused rows {rows} of {len(batch)}")


def transformed(column: Column, config: dict[str, str], times: pa.Array) -> Batch:
    given = {
        "name": "sink", "connector.class": "FileStreamSink", "topics": "t", "transforms": "change",
        **{f"transforms.change.{key}": value for key, value in config.items()},
    }  # fmt: skip
    consumed = Consumed(TopicPartition("t", 3), pa.array(range(10, 10 + len(column))), 10 + len(column))
    batch = Batch("t", column, partition=3, timestamps_ms=times, consumed=consumed)
    [made] = apply_chain(build_chain(Catalog.installed(), SinkConnectorConfig.parse(given)), batch, refuse)
    return made


def decoded(rows: list, array: pa.Array) -> Column:
    """As the JSON converter gives rows without a schema: in both forms. Only the rows tell an absent key from null."""
    return Column(None, len(rows), arrow=lambda: array, rows=lambda: rows)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("times", [[5, 6, 7], [5, None, None]])
@pytest.mark.parametrize("array", [pa.array(ROWS), pa.array([ROWS[2], *ROWS]).slice(1)], ids=["whole", "part"])
def test_both_forms_are_those_of_rows_changed_one_by_one(name: str, times: list, array: pa.Array) -> None:
    when = pa.array(times, pa.int64())
    expected = transformed(Column.from_rows(ROWS, None), CONFIGS[name], when).values
    made = transformed(decoded(ROWS, array), CONFIGS[name], when).values

    assert made.rows() == expected.rows()
    assert made.arrow().to_pylist() == expected.arrow().to_pylist()
    assert made.schema is None


@pytest.mark.parametrize("name", [n for n in CONFIGS if n not in {"nothing left", "renamed onto another"}])
def test_no_row_is_made_for_a_sink_that_takes_columns(name: str) -> None:
    def no_rows() -> list:
        raise AssertionError("rows were made")

    column = Column(None, len(ROWS), arrow=lambda: pa.array(ROWS), rows=no_rows)

    assert len(transformed(column, CONFIGS[name], pa.array([5, 6, 7])).arrow()) == len(ROWS)
