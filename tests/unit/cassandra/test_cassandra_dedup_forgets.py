"""Checks that what is remembered of cells is bounded by what the tables hold: the rest is forgotten while the task
runs.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_cassandra_dedup import NOW_S, PLACE, Life, cell, change, element

from connectors.cassandra.dedup.cell_merge import CellMerge

DAY_S = 86_400
BOUNDS = {"start": {"c": 1}, "start_inclusive": True, "end": None, "end_inclusive": True}
OTHER = change("other", key={"k": 2, "c": 2}, columns={"v": cell(1, 9)})


class Entries(dict[bytes, bytes]):
    """Keeps entries of the memory in a dictionary."""

    def put(self, key: bytes, value: bytes) -> None:
        self[key] = value

    def forget(self, key: bytes) -> None:
        del self[key]


def deletion(at: int) -> dict[str, Any]:
    return {"writetime_us": at, "local_s": NOW_S}


def list_of(number: int, cleared_us: int | None) -> dict[str, Any]:
    position = f"00000000-0000-1000-8000-{number:012}"
    return {"l": {"cleared_us": cleared_us, "set": [element(number + 1, position=position, value=1)], "removed": []}}


@pytest.mark.parametrize(
    "rows",
    [
        [change("1", columns={"v": cell(1, 5, ttl_s=60, local_deletion_s=NOW_S + 60)})],
        [change("1", liveness={"writetime_us": 5, "ttl_s": 60, "expires_s": NOW_S + 60})],
        [change("1", columns={"v": cell(1, 5)}), change("2", columns={"v": cell(None, 6, deleted=True)})],
        [change("1", columns={"t": {"cleared_us": 5, "set": [], "removed": [element(6, element="a")]}})],
        [change("1", columns={"v": cell(1, 5)}), change("2", deletion=deletion(5))],
        [change("1", op="range_delete", range=BOUNDS, deletion=deletion(5))],
        [change("1", op="partition_delete", deletion=deletion(5))],
        [change("1", columns={"v": cell(1, 5)}), change("2", op="partition_delete", deletion=deletion(5))],
    ],
    ids=["ttl", "liveness", "removed", "cleared", "row", "range", "partition", "rows of a partition"],
)
def test_what_no_table_holds_is_forgotten_once_no_copy_can_be_so_late(rows: list[Any]) -> None:
    life = Life(rows, **{"merge.cells": "true"})
    task = life.task()
    life.take(task)
    assert life.remembered()
    for days in (19, 22):
        life.day_s, life.now_s = NOW_S + days * DAY_S, life.now_s + 60
        life.kafka.rows[PLACE].append(OTHER)
        life.take(task)
        left = {key for key in life.remembered() if b'"k":2' not in key}
        assert bool(left) is (days == 19), left
    task.close()


def test_a_table_made_anew_under_its_name_is_not_compared_with_the_dropped_one() -> None:
    def of(number: int, name: str, **members: Any) -> tuple[Any, Any]:
        return change(name, source={"node": "n1", "table_id": str(number)}, **members)

    gone = [of(1, "1", columns={"v": cell(1, 5)}), of(1, "2", op="partition_delete", deletion=deletion(9))]
    # The rows were copied with the times that they had.
    copied = [of(2, "3", columns={"v": cell(1, 5)}), of(2, "4", columns={"v": cell(1, 5), "w": None})]
    life = Life([*gone, *copied, of(1, "5", columns={"v": cell(1, 5), "w": None})], **{"merge.cells": "true"})
    life.run()
    assert [(row["op"], row["source"]["table_id"]) for row in life.written] == [
        ("update", "1"), ("partition_delete", "1"), ("update", "2")
    ]  # fmt: skip


def test_what_the_first_version_remembered_without_the_tables_id_goes_over_to_the_first_table_that_asks() -> None:
    stored = Entries({b'["p","row",{"c":2,"k":1}]': b'{"cells":{"[\\"v\\"]":[5,0,0,["aa"]]}}'})
    merge = CellMerge(stored, ["p"], lambda: NOW_S)
    found = [
        merge.newer(*change("1", columns={"v": cell(1, 4)}, source={"node": "n", "table_id": number})) is None
        for number in ("1", "2", "1")
    ]
    assert found == [True, False, True]
    assert sorted(json.loads(key)[1] for key in stored) == ["1", "2"]


def test_what_a_table_holds_stays_remembered() -> None:
    life = Life([change("1", columns={"v": cell(1, 5)})], **{"merge.cells": "true"})
    task = life.task()
    life.take(task)
    life.day_s, life.now_s = NOW_S + 400 * DAY_S, 60.0
    life.kafka.rows[PLACE] += [change("2", columns={"v": cell(1, 5)}), change("3", columns={"v": cell(1, 4)})]
    life.take(task)
    assert len(life.written) == 1
    task.close()


def test_a_list_that_is_replaced_again_and_again_is_remembered_as_it_is_now() -> None:
    life = Life([change(str(n), columns=list_of(n, n)) for n in range(1, 500)], **{"merge.cells": "true"})
    life.run()
    assert len(life.written) == 499
    (value,) = life.remembered().values()
    assert len(value) < 300
    life.kafka.rows[PLACE].append(change("again", columns=list_of(3, 3)))
    life.run()
    assert len(life.written) == 499


def test_elements_that_come_and_go_are_forgotten_though_their_row_changes_all_the_time() -> None:
    life = Life([], **{"merge.cells": "true"})
    task = life.task()
    for day in range(200):
        life.day_s, life.now_s = NOW_S + day * DAY_S, day * 60.0
        gone = {"cleared_us": None, "set": [], "removed": [element(day + 1, element=str(day))]}
        life.kafka.rows[PLACE].append(change(str(day), columns={"t": gone}))
        life.take(task)
    task.close()
    (value,) = life.remembered().values()
    assert value.count(b'"t') <= 22


def test_marks_that_the_first_version_stored_without_a_time_are_read() -> None:
    stored = b'{"cells":{"v":[6,2,0,["aa"]],"w":[5,0,0,["bb"]]},"cleared":{"l":4},"ranges":{"r":3}}'
    memory = {b'["p","row",{"k":1}]': stored}
    merge = CellMerge(Entries(memory), ["p"], lambda: NOW_S)
    (key,) = memory
    timed = merge.still_needed(key, stored, NOW_S - DAY_S)
    assert timed is not None
    assert json.loads(timed) == {
        "cells": {"v": [6, 2, 0, ["aa"], NOW_S], "w": [5, 0, 0, ["bb"]]},
        "cleared": {"l": [4, NOW_S]}, "ranges": {"r": [3, NOW_S]},
    }  # fmt: skip
    assert merge.still_needed(key, timed, NOW_S + DAY_S) == b'{"cells":{"w":[5,0,0,["bb"]]}}'
