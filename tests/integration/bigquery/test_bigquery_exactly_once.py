"""Checks that with exactly.once every record is a row once, whatever is lost, killed or read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import grpc
import pytest
from bigquery_oracle import Message
from bigquery_run import Life
from bigquery_write_shim import AppendFault, WriteShim
from google.cloud import bigquery


@pytest.fixture
def shim(dataset) -> Iterator[WriteShim]:
    if not dataset.is_emulated:
        pytest.skip("ON THE EMULATOR ALONE: Google's service is spoken to without a shim.")
    with WriteShim(dataset.settings()["bigquery.storage.endpoint"], dataset.client, refuses="refuse me") as made:
        yield made


def settings_of(dataset, shim: WriteShim | None = None) -> dict[str, str]:
    settings = dataset.settings(exactly__once="true", timePartitioningType="NONE")
    del settings["dedup.fields"], settings["dedup.merge.interval.ms"]
    return settings if shim is None else {**settings, "bigquery.storage.endpoint": shim.endpoint}


def log_of(partition: int, count: int) -> list[Message]:
    return [Message(partition, 3 * number, number % 4, number) for number in range(count)]


def places(dataset) -> list[tuple[int, int]]:
    rows = dataset.query(f"SELECT _kafka_partition AS p, _kafka_offset AS o FROM `{dataset.name}`.orders ORDER BY p, o")
    return [(row["p"], row["o"]) for row in rows]


def places_of(*logs: Sequence[Message]) -> list[tuple[int, int]]:
    return [(message.partition, message.offset) for log in logs for message in log]


def test_what_is_read_again_after_a_crash_is_not_added_again(dataset):
    zero, one = log_of(0, 12), log_of(1, 7)
    first = Life(settings_of(dataset))
    first.put(zero[:5])
    first.put(one)
    first.settle()
    first.put(zero[5:8])
    first.flush()
    first.task.close()  # nothing was committed
    with Life(settings_of(dataset)) as second:
        for start in (0, 6):
            second.put(zero[start : start + 6])
        second.put(one[:4])
        second.put(one[4:])
        second.settle()
    assert places(dataset) == places_of(zero, one)


@pytest.mark.parametrize(
    ("code", "lost"), [("UNAVAILABLE", True), ("INTERNAL", True), ("RESOURCE_EXHAUSTED", False), ("ABORTED", False)]
)
def test_an_append_that_ends_in_an_error_is_made_once(dataset, shim, code, lost):
    log = log_of(0, 9)
    shim.faults = [AppendFault(grpc.StatusCode[code], lost=lost, after=1)]
    with Life(settings_of(dataset, shim)) as life:
        for start in range(0, 9, 3):
            life.put(log[start : start + 3])
            life.settle()
    assert places(dataset) == places_of(log)
    assert any(code in warning or "lost" in warning for warning in life.warnings), life.warnings
    assert len(shim.streams) == 2


def test_a_task_that_lost_its_partition_and_goes_on_adds_nothing_twice(dataset):
    log = log_of(0, 12)
    with Life(settings_of(dataset)) as zombie, Life(settings_of(dataset), task=0) as owner:
        zombie.put(log[:4])
        zombie.settle()
        owner.put(log[2:8])
        owner.settle()
        zombie.put(log[4:10])
        zombie.settle()
        owner.put(log[8:])
        owner.settle()
    assert places(dataset) == places_of(log)


def test_a_row_that_is_refused_is_a_dead_letter_in_each_life_and_the_others_are_there_once(dataset, shim):
    log = log_of(0, 6)
    log[2] = Message(0, log[2].offset, 1, 0, text="refuse me")
    for _ in range(2):
        with Life(settings_of(dataset, shim)) as life:
            life.put(log)
            life.settle()
        assert [letter.record.offset for letter in life.context.rejected] == [log[2].offset]
    assert places(dataset) == places_of([*log[:2], *log[3:]])


def test_a_column_that_is_added_meanwhile_does_not_end_the_stream(dataset):
    log = log_of(0, 4)
    with Life(settings_of(dataset)) as life:
        life.put(log[:2])
        life.settle()
        table = dataset.client.get_table(f"{dataset.name}.orders")
        table.schema = [*table.schema, bigquery.SchemaField("note", "STRING")]
        dataset.client.update_table(table, ["schema"])
        life.put(log[2:])
        life.settle()
    assert places(dataset) == places_of(log)


@pytest.mark.chaos
def test_streams_that_the_service_forgets_are_replaced(dataset, emulator):
    log = log_of(0, 20)
    with Life(settings_of(dataset)) as life:
        for start in range(0, 20, 5):
            life.put(log[start : start + 5])
            if start % 10:
                emulator.kill()
                life.flush()
                emulator.start()
            else:
                life.settle()
        life.settle()
    assert places(dataset) == places_of(log)
