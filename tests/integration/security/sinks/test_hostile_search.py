"""Checks that what an Elasticsearch says of a bulk request counts for the documents that it names; lies are no
success.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hostile_http import Answer, Handler, hostile, say

from connect.api.errors import ConnectError, RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.http.search.config import SearchSinkConfig
from connectors.http.search.sink import SearchSinkTask

pytestmark = pytest.mark.attacks

TP = TopicPartition("orders", 0)
Items = list[dict[str, Any]]


def task_on(url: str, **keys: str) -> SearchSinkTask:
    given = {"connection.url": url, "schema.ignore": "true", "behavior.on.null.values": "delete", **keys}
    task = SearchSinkTask(SearchSinkConfig.parse(given))
    task.open(FakeSinkContext())
    return task


def batch() -> Batch:
    consumed = Consumed(TP, pa.array(range(3), pa.int64()), 3)
    values, keys = Column.from_rows([{"a": 1}, {"a": 2}, None], None), Column.from_rows(["a", "b", "c"], None)
    return Batch("orders", values, keys, consumed=consumed)


def answering(lie: Callable[[Items], Any]) -> Answer:
    """Answer truly that there is an index, and for a bulk request what a lie makes of the truth."""

    def answer(to: Handler) -> None:
        if to.path != "/_bulk":
            say({"orders": {"mappings": {}}})(to)
            return
        lines = [json.loads(line) for line in to.server.asked[-1][3].splitlines()]
        kinds = [line for line in lines if line.keys() <= {"index", "delete", "update", "create"}]
        true = [
            {kind: {"_index": "orders-1", "_id": of["_id"], "status": 200}} for one in kinds for kind, of in one.items()
        ]
        say({"took": 1, "errors": False, "items": lie(true)})(to)

    return answer


def other(items: Items, **of: Any) -> Items:
    """Say something else of the first one."""
    (kind, first), *_ = items[0].items()
    return [{kind: {**first, **of}}, *items[1:]]


LIES: dict[str, Callable[[Items], Any]] = {
    "another order": lambda items: items[::-1], "another id": lambda items: other(items, _id="z"),
    "another kind": lambda items: [{"delete": of} for item in items for of in item.values()],
    "an update that conflicts": lambda items: [
        {"update": {**of, "status": 409}} for item in items for of in item.values()
    ],
    "no id": lambda items: other(items, _id=None), "one less": lambda items: items[:-1],
    "each twice": lambda items: items * 2, "none": lambda _: [], "nothing": lambda _: None,
    "a number": lambda _: [5] * 3,
    "two in one": lambda items: [{"index": {"status": 200}, "create": {"status": 200}}] * 3,
    "a status without an end": lambda items: other(items, status=float("inf")),
    "an id that is a list": lambda items: other(items, _id=["a"]),
}  # fmt: skip


@pytest.mark.parametrize("method", ["insert", "upsert"])
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_documents_is_no_success(lie: str, method: str) -> None:
    with hostile(answering(LIES[lie])) as server:
        task = task_on(server.url, **{"write.method": method})
        with pytest.raises(ConnectError, match="no Elasticsearch") as refused:
            task.put(batch(), Deadline.after(20))
        assert not isinstance(refused.value, RejectedRowsError)
        assert task.flush(Deadline.after(1)).get(TP) is None


def test_the_truth_is_believed() -> None:
    """The index of an answer is another one where an alias was written to."""
    with hostile(answering(lambda items: items)) as server:
        task = task_on(server.url)
        task.put(batch(), Deadline.after(20))
        assert task.flush(Deadline.after(1)) == {TP: 3}
