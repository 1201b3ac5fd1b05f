"""A connector that is moved to Debezium while tables are read again leaves a list of them there."""

from __future__ import annotations

import json

from connectors.jdbc.log.incremental.progress import MEMBER, Progress, TableProgress, progress_of

PROGRESS = Progress((TableProgress("shop.orders", "id > 3", ("7",), ("9",)), TableProgress("shop.items")), ("5/1",))


def test_debezium_finds_the_tables_that_are_left() -> None:
    offset = PROGRESS.offset()
    assert progress_of(offset) == PROGRESS
    # Debezium has a form of its own for keys, so that it begins the tables again.
    of_debezium = {name: value for name, value in offset.items() if name != MEMBER}
    assert progress_of(of_debezium) == Progress((TableProgress("shop.orders", "id > 3"), TableProgress("shop.items")))
    (listed,) = of_debezium.values()
    assert json.loads(str(listed))[1] == {
        "incremental_snapshot_collections_id": "shop.items",
        "incremental_snapshot_collections_additional_condition": None,
        "incremental_snapshot_collections_surrogate_key": None,
    }


def test_nothing_is_left_behind_the_last_table() -> None:
    assert [*PROGRESS.without(["shop.orders", "shop.items"]).offset()] == [MEMBER]
    assert Progress().offset() == {}
