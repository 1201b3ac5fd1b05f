"""One life of a task against a store in this process: batches in, objects out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from s3_http_store import TP, Store, config

from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, Header, TopicPartition
from connect.api.schema import Schema
from connect.convert.avro.values import avro_values
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkTask


def batch(
    values: Sequence[Any],
    schema: Schema | None = None,
    first: int = 0,
    keys: Column | None = None,
    headers: Sequence[Sequence[Header]] | None = None,
) -> Batch:
    """Rows with consecutive offsets."""
    end = first + len(values)
    offsets = pa.array(range(first, end), pa.int64())
    return Batch(
        "t", Column.from_rows(values, schema), timestamps_ms=offsets, consumed=Consumed(TP, offsets, end), keys=keys,
        headers=headers,
    )  # fmt: skip


class TaskRun:
    """A task whose files all end when `written` is asked for."""

    def __init__(self, store: Store, connector: str = "under-test", **settings: str) -> None:
        self._store = store
        self._now_ms = 0
        given = config(store, **{"flush_size": "1000", "rotate_schedule_interval_ms": "1000", **settings})
        self._task = S3SinkTask(ConfluentPlan(given), now_ms=lambda: self._now_ms)
        self.context = FakeSinkContext(connector=connector, avro_values=avro_values)
        self._task.open(self.context)

    def put(self, given: Batch) -> None:
        self._task.put(given, Deadline.after(60))

    def flush(self) -> Mapping[TopicPartition, int]:
        """End all files and create what can be created; what may be committed."""
        self._now_ms += 1000
        return self._task.flush(Deadline.after(60))

    def flush_and_die(self) -> None:
        """The store fails meanwhile."""
        with pytest.raises(RetriableError):
            self.flush()
        self._task.close()

    def written(self) -> dict[str, bytes]:
        """The objects by their keys below the topic."""
        self.flush()
        self._task.close()
        return {unquote(key).split("/", 4)[4]: body for key, (body, _) in sorted(self._store.objects.items())}


def written(store: Store, *batches: Batch, **settings: str) -> dict[str, bytes]:
    """What these batches become."""
    run = TaskRun(store, **settings)
    for given in batches:
        run.put(given)
    return run.written()
