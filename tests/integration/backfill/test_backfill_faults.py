"""Checks that a job stops, says what to do and loses no row if its tables, markers or topics are gone or changed."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from backfill_job import OneAfterTheOther, Table
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.backfill.handover import write_offsets
from connect.backfill.job.chunk import LaneReport, Step
from connect.backfill.job.states import JobState
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.backfill.verify.verify import verify
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline

ROWS = 2000


class AtTheSecondChunk(OneAfterTheOther):
    """An engine that does something when a lane has committed its first chunk."""

    def __init__(self, do) -> None:
        self._do = do
        self._committed = 0

    def run(self, tasks: list[LaneTask], _at_once: int) -> list[LaneReport]:
        return [run_lane(task, self._on_step) for task in tasks]

    def _on_step(self, step: Step, _chunk: str) -> None:
        self._committed += step is Step.COMMITTED
        if step is Step.COMMITTED and self._committed == 1:
            self._do()


def admin(table: Table) -> TopicAdmin:
    return TopicAdmin({"bootstrap.servers": table.kafka.bootstrap_servers})


def test_a_table_that_is_dropped_stops_the_job_which_goes_on_when_it_is_back(table: Table):
    table.fill(ROWS)
    away = AtTheSecondChunk(lambda: table.run("ALTER TABLE {t} RENAME TO {t}_away"))
    with table.driver(limits={"max_chunk_retries": 1}) as driver, pytest.raises(ConnectError, match=table.name):
        driver.run(away)
    known = table.driver().ownership.require_known()
    assert known.state is JobState.FAILED
    assert table.name in (known.error or "")
    # The chunk that was committed before, and maybe the next one, which is read meanwhile.
    assert sum(Counter(table.ids()).values()) in {500, 1000}
    table.run("ALTER TABLE {t}_away RENAME TO {t}")
    with table.driver() as driver:
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))


def deleted(table: Table, before: dict[TopicPartition, int]) -> bool:
    try:
        admin(table).delete_records(before, Deadline.after(30))
    except ConnectError as error:
        if "POLICY_VIOLATION" not in str(error):
            raise
        return False
    return True


def test_a_job_whose_markers_are_lost_stops_before_it_writes_a_row_again(table: Table):
    table.fill(ROWS)
    with table.driver() as driver, pytest.raises(ConnectError):
        driver.run(AtTheSecondChunk(lambda: table.run("ALTER TABLE {t} RENAME TO {t}_away")))
    table.run("ALTER TABLE {t}_away RENAME TO {t}")
    markers = TopicPartition(f"connect-backfill-{table.name}", 0)
    before = sorted(table.ids())
    ends = admin(table).end_offsets([markers], Deadline.after(30))
    # Brokers refuse it as long as the topic is compacted; somebody has changed that.
    entry = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, markers.topic, incremental_configs=[entry])
    client = AdminClient({"bootstrap.servers": table.kafka.bootstrap_servers})
    for done in client.incremental_alter_configs([changed]).values():
        done.result(30)
    deadline = Deadline.after(60)
    # The controller has taken the change; the broker that leads the partition takes it a moment later.
    while not deleted(table, {markers: ends[markers]}):
        assert deadline.wait(0.1), "the broker does not delete records of a topic that is no longer compacted"
    with table.driver() as driver, pytest.raises(ConnectError, match=r"has lost its first records.*another name"):
        driver.run(OneAfterTheOther())
    assert sorted(table.ids()) == before


def test_a_job_whose_marker_topic_is_gone_is_neither_called_good_nor_handed_over(table: Table):
    table.fill(ROWS)
    with table.driver() as driver:
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
    markers = f"connect-backfill-{table.name}"
    admin(table).delete([markers], Deadline.after(30))
    lost = rf"Topic {markers} has 0 of 4 chunks .*Its records are lost\..*another name"
    with pytest.raises(ConnectError, match=lost):
        verify(table.driver())
    with table.driver() as driver, pytest.raises(ConnectError, match=lost):
        write_offsets(driver, Deadline.after(60))
    assert table.driver().ownership.require_known().state is JobState.COPIED


def test_a_marker_topic_of_other_lanes_is_refused(table: Table):
    table.fill(10)
    name = f"connect-backfill-{table.name}"
    admin(table).create(name, partitions=7, replication_factor=1, configs={}, deadline=Deadline.after(30))
    with table.driver() as driver, pytest.raises(ConnectError, match=r"has 7 partitions, but a job of 2 lanes needs 3"):
        driver.begin()
    assert table.ids() == []


def grown(table: Table) -> None:
    """The topic has six partitions in the place of three."""
    client = AdminClient({"bootstrap.servers": table.kafka.bootstrap_servers})
    for done in client.create_partitions([NewPartitions(table.topic, 6)]).values():
        done.result(30)


def test_a_topic_with_other_partitions_than_the_job_began_with_stops_it(table: Table):
    table.fill(ROWS)
    with table.driver() as driver, pytest.raises(ConnectError):
        driver.run(AtTheSecondChunk(lambda: table.run("ALTER TABLE {t} RENAME TO {t}_away")))
    table.run("ALTER TABLE {t}_away RENAME TO {t}")
    before = sorted(table.ids())
    assert before
    grown(table)
    other = rf"Topic {table.topic} has 6 partitions, and had 3 when .*another name"
    with table.driver() as driver, pytest.raises(ConnectError, match=other):
        driver.run(OneAfterTheOther())
    assert sorted(table.ids()) == before
    known = table.driver().ownership.require_known()
    assert (known.state, "6 partitions" in (known.error or "")) == (JobState.FAILED, True)
    admin(table).delete([table.topic], Deadline.after(30))
    with table.driver() as driver, pytest.raises(ConnectError, match=rf"Topic {table.topic} is gone"):
        driver.run(OneAfterTheOther())


def test_a_topic_that_gets_other_partitions_while_the_job_runs_leaves_it_failed(table: Table):
    table.fill(ROWS)
    with table.driver() as driver, pytest.raises(ConnectError, match=rf"Topic {table.topic} has 6 partitions"):
        driver.run(AtTheSecondChunk(lambda: grown(table)))
    assert table.driver().ownership.require_known().state is JobState.FAILED


def test_dead_letters_have_a_limit_behind_which_the_job_stops_and_goes_on_once_its_rows_are_mended(table: Table):
    table.fill(ROWS)
    table.run("UPDATE {t} SET name = '7' WHERE id > 40")
    limited = table.connector(
        transforms="cast", transforms__cast__type="org.apache.kafka.connect.transforms.Cast$Value"
    )
    limited |= {
        "transforms.cast.spec": "name:int32", "errors.tolerance": "all", "errors.tolerance.limit.count": "10",
        "errors.deadletterqueue.topic.name": f"{table.name}-letters",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }  # fmt: skip
    with table.driver(limited) as driver, pytest.raises(ConnectError, match=r"errors\.tolerance\.limit\.count"):
        driver.run(OneAfterTheOther())
    assert table.driver().ownership.require_known().state is JobState.FAILED
    table.run("UPDATE {t} SET name = '7' WHERE id <= 40")
    with table.driver(limited) as driver:
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
    letters = [json.loads(message.value()) for message in table.records(f"{table.name}-letters")]
    assert letters == [], "what was set aside belonged to a chunk that was not committed"


def test_rows_that_no_record_can_hold_are_dead_letters_by_their_key(table: Table):
    table.fill(ROWS)
    table.run(
        "ALTER TABLE {t} ADD COLUMN d DATE DEFAULT '2026-01-31'",
        "UPDATE {t} SET d = 'infinity' WHERE id IN (7, 8, 1999)",
    )
    with table.driver() as driver, pytest.raises(ConnectError, match=r"Field 'd'.*It is the row with id=7\."):
        driver.run(OneAfterTheOther())
    letters = f"{table.name}-letters"
    tolerant = table.connector() | {
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1", "errors.deadletterqueue.context.headers.enable": "true",
    }  # fmt: skip
    with table.driver(tolerant) as driver:
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
        found = verify(driver)
    assert (found.is_good, sum(chunk.letters for chunk in found.chunks)) == (True, 3)
    assert Counter(table.ids()) == Counter(set(range(1, ROWS + 1)) - {7, 8, 1999})
    bad = [json.loads(message.value())["payload"] for message in table.records(letters)]
    assert sorted((row["id"], row["n"]) for row in bad) == [("1999", "4"), ("7", None), ("8", "1")]
