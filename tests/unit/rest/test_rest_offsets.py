"""Checks offsets: reading, altering, resetting, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from rest_client import Rest, refused
from sample_plugins import FILE_SINK, FILE_SOURCE

from connect.cluster.model.connector_values import PartitionOffset
from connect.rest.errors.http_error import HttpError
from connect.rest.resources.offsets import sink_offsets
from connect.rest.server.json_body import GivenOffset

PATH = "/connectors/a/offsets"
ENTRY = {"partition": {"filename": "f"}, "offset": {"position": 4, "exact": 1.5, "nothing": None}}
NOTHING = "Partitions / offsets need to be provided for an alter offsets request"
EXTERNAL = (
    "The Connect framework-managed offsets for this connector have been reset successfully. However, if this connector "
    "manages offsets externally, they will need to be manually reset in the system that the connector uses."
)


def test_alter_read_and_reset(rest: Rest) -> None:
    rest.create("a", "STOPPED")
    altered = rest("PATCH", PATH, {"offsets": [ENTRY]})
    assert altered.json() == {"message": "The offsets for this connector have been altered successfully"}
    assert rest.operations.cluster.offsets["a"] == [PartitionOffset(ENTRY["partition"], ENTRY["offset"])]
    assert rest.get(PATH) == {"offsets": [ENTRY]}
    assert rest("DELETE", PATH).json() == {"message": EXTERNAL}
    assert rest.get(PATH) == {"offsets": []}


def creation(kind: str = FILE_SOURCE, **over: Any) -> dict[str, Any]:
    return {"name": "a", "config": {"connector.class": kind, "topic": "t", "topics": "t"}, **over}


def test_a_connector_may_be_created_with_its_offsets(rest: Rest) -> None:
    rest.operations.cluster.offsets["a"] = [PartitionOffset({"filename": "old"}, {"position": 9})]
    created = rest("POST", "/connectors", creation(initial_offsets=[ENTRY], initial_state="STOPPED"))
    assert created.status_code == 201
    assert list(created.json()) == ["name", "config", "tasks", "type", "offsets_status"]
    assert created.json()["offsets_status"] == "The offsets for this connector have been altered successfully"
    assert rest.get(PATH) == {"offsets": [ENTRY]}
    assert "offsets_status" not in rest.get("/connectors/a")


def test_without_initial_offsets_nothing_is_said_of_them(rest: Rest) -> None:
    assert "offsets_status" not in rest("POST", "/connectors", creation(initial_offsets=None)).json()


@pytest.mark.parametrize(
    ("kind", "offsets", "status", "text"),
    [
        (FILE_SOURCE, [], 400, NOTHING),
        (FILE_SOURCE, [{"offset": {}}], 400, "Partition objects cannot be null"),
        (FILE_SOURCE, "x", 500, "Cannot construct instance"),
        (FILE_SOURCE, [ENTRY | {"z": 1}], 500, 'Unrecognized field "z"'),
        (FILE_SINK, [ENTRY], 400, "must contain the keys 'kafka_topic' and 'kafka_partition'"),
    ],
)
def test_initial_offsets_that_are_refused_leave_no_connector(
    rest: Rest, kind: str, offsets: Any, status: int, text: str
) -> None:
    assert text in refused(rest("POST", "/connectors", creation(kind, initial_offsets=offsets)), status)
    refused(rest("GET", "/connectors/a"), 404)


def test_null_forgets_one_partition(rest: Rest) -> None:
    rest.create("a", "STOPPED")
    rest("PATCH", PATH, {"offsets": [ENTRY]})
    rest("PATCH", PATH, {"offsets": [ENTRY | {"offset": None}]})
    assert rest.get(PATH) == {"offsets": []}


def test_a_connector_may_be_deleted_with_its_offsets(rest: Rest) -> None:
    for query, left in (("", [PartitionOffset(ENTRY["partition"], ENTRY["offset"])]), ("?reset_offsets=true", None)):
        rest.create("a", "STOPPED")
        rest("PATCH", PATH, {"offsets": [ENTRY]})
        assert rest("DELETE", f"/connectors/a{query}").status_code == 204
        assert rest.operations.cluster.offsets.get("a") == left
    refused(rest("DELETE", "/connectors/a?reset_offsets=true"), 404, "Connector a not found")


def test_large_whole_numbers_stay_exact(rest: Rest) -> None:
    rest.create("a", "STOPPED")
    entry = {"partition": {}, "offset": {"position": 2**63 - 1}}
    rest("PATCH", PATH, {"offsets": [entry]})
    assert rest.get(PATH)["offsets"] == [entry]


def test_offsets_are_changed_only_while_the_connector_is_stopped(rest: Rest) -> None:
    rest.create("a")
    assert "STOPPED state" in refused(rest("PATCH", PATH, {"offsets": [ENTRY]}), 400)
    assert "STOPPED state" in refused(rest("DELETE", PATH), 400)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_offsets_of_an_unknown_connector_are_a_404(rest: Rest, method: str) -> None:
    refused(rest(method, "/connectors/x/offsets"), 404, "Connector x not found")


def test_alter_unknown_comes_after_the_body(rest: Rest) -> None:
    refused(rest("PATCH", "/connectors/x/offsets", {"offsets": [ENTRY]}), 404, "Connector x not found")
    refused(rest("PATCH", "/connectors/x/offsets", {"offsets": []}), 400, NOTHING)


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"offsets": []}, 400, NOTHING),
        ({}, 400, NOTHING),
        ({"offsets": None}, 400, NOTHING),
        (None, 500, "is null"),
        ([], 500, "Cannot deserialize value"),
        ({"offsets": "x"}, 500, "Cannot construct instance"),
        ({"x": 1}, 500, 'Unrecognized field "x"'),
        ({"offsets": [ENTRY | {"z": 1}]}, 500, 'Unrecognized field "z"'),
        ({"offsets": [{"partition": "x"}]}, 500, "Cannot construct instance"),
        ({"offsets": [ENTRY | {"offset": {"position": 2**63}}]}, 400, "offsets[0].offset.position: Numeric value"),
        ({"offsets": [ENTRY, {"partition": {"n": 10**30}}]}, 400, "offsets[1].partition.n: Numeric value"),
        ({"offsets": [ENTRY | {"offset": {"position": [1]}}]}, 400, "offsets[0].offset.position has an array"),
        ({"offsets": [{"partition": {"filename": {"a": "b"}}}]}, 400, "offsets[0].partition.filename has an object"),
        ({"offsets": [{"offset": {}}]}, 500, "Partition objects cannot be null"),
    ],
)
def test_bodies_that_are_refused(rest: Rest, body: Any, status: int, text: str) -> None:
    rest.create("a", "STOPPED")
    assert text in refused(rest("PATCH", PATH, body), status)


def test_offsets_of_a_sink_are_read_as_numbers(rest: Rest) -> None:
    rest("PUT", "/connectors/a/config", {"connector.class": FILE_SINK, "topics": "t"})
    rest("PUT", "/connectors/a/stop")
    entry = {"partition": {"kafka_topic": "t", "kafka_partition": "1"}, "offset": {"kafka_offset": "20"}}
    assert rest("PATCH", PATH, {"offsets": [entry]}).status_code == 200
    assert rest.get(PATH)["offsets"] == [
        {"partition": {"kafka_topic": "t", "kafka_partition": 1}, "offset": {"kafka_offset": 20}}
    ]


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        (None, None, "The partition for a sink connector offset cannot be null or missing"),
        ({"kafka_topic": "t"}, None, "must contain the keys 'kafka_topic' and 'kafka_partition'"),
        ({"kafka_topic": None, "kafka_partition": 1}, None, "Kafka topic names must be valid strings"),
        ({"kafka_topic": "", "kafka_partition": 1}, None, "Kafka topic names must be valid strings"),
        (
            {"kafka_topic": "t", "kafka_partition": None},
            None,
            "Kafka partitions must be valid numbers and may not be null",
        ),
        ({"kafka_topic": "t", "kafka_partition": -1}, None, "may not be negative: found -1"),
        ({"kafka_topic": "t", "kafka_partition": 2**31}, None, "need to be integers."),
        ({"kafka_topic": "t", "kafka_partition": 10**30}, None, "need to be integers."),
        (
            {"kafka_topic": "t", "kafka_partition": 1},
            {"kafka_offset": 10**30},
            "Offset values for sink connectors need",
        ),
        ({"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": -5}, "may not be negative: found -5"),
        ({"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": str(2**63)}, "Offset values for sink"),
        (
            {"kafka_topic": "t", "kafka_partition": "x"},
            None,
            "Partition values for sink connectors need to be integers.",
        ),
        ({"kafka_topic": "t", "kafka_partition": True}, None, "need to be integers."),
        ({"kafka_topic": "t", "kafka_partition": 1}, {}, "should either be null or contain the key 'kafka_offset'"),
        ({"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": 1.5}, "Offset values for sink connectors need"),
        ({"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": None}, "offsets: 'null'. Offset values"),
    ],
)
def test_offsets_of_a_sink_that_are_refused(
    partition: dict[str, Any] | None, offset: dict[str, Any] | None, text: str
) -> None:
    with pytest.raises(HttpError) as caught:
        sink_offsets([GivenOffset(partition, offset)])
    assert caught.value.status == 400
    assert text in caught.value.message
