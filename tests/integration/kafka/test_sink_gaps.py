"""Checks on real Kafka that rows which were deleted before a sink had read them are counted, told and passed over as
Java does.
"""

from __future__ import annotations

import pytest
from kafka_drive import in_s, send, transactions
from test_sink_ends import Target, eventually, new_target, running

from connect.api.records import TopicPartition
from connect.runtime.task.control import Control
from connect.runtime.task.task_metrics import TaskFigures

PATHS = pytest.mark.parametrize("path", ["columnar", "plain"])


def rows(first: int, last: int) -> list[bytes]:
    return [b"%d" % i for i in range(first, last)]


def texts(first: int, last: int) -> list[str]:
    return [str(i) for i in range(first, last)]


def missed(figures: TaskFigures) -> tuple[float, float]:
    found = figures.snapshot()
    return found["missed_rows_total"], found["offset_resets_total"]


def read_some_and_leave(clients, topic: str, group: str, **overrides: str) -> Target:
    """Let a sink read and commit the first ten rows, and go away."""
    target = new_target()
    send(clients, topic, rows(0, 10))
    with running(clients.consumer(group, **overrides), target, topic) as figures:
        eventually(lambda: target.rows == texts(0, 10))
        assert missed(figures) == (0, 0), "rows before the first commit of a group are no loss"
    return target


@PATHS
@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range"])
def test_rows_deleted_while_the_sink_was_away_are_counted(clients, topic_name, unique, path, assignor):
    topic, told = clients.topic(topic_name), {"path": path, "partition_assignment_strategy": assignor}
    tp, target = TopicPartition(topic, 0), read_some_and_leave(clients, topic, unique, **told)
    send(clients, topic, rows(10, 30))
    clients.admin().delete_records({tp: 17}, in_s(60))

    with running(clients.consumer(unique, **told), target, topic) as figures:
        eventually(lambda: target.rows == texts(0, 10) + texts(17, 30))
        assert missed(figures) == (7, 1)
        send(clients, topic, rows(30, 40))
        eventually(lambda: target.rows == texts(0, 10) + texts(17, 40))
        eventually(lambda: clients.admin().group_offsets(unique, in_s(60)).get(tp) == 40)
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)
        assert missed(figures) == (7, 1), "a gap is counted once"


def test_a_gap_up_to_the_end_is_committed_so_that_no_restart_counts_it_again(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    tp, target = TopicPartition(topic, 0), read_some_and_leave(clients, topic, unique)
    send(clients, topic, rows(10, 30))
    clients.admin().delete_records({tp: 30}, in_s(60))

    with running(clients.consumer(unique), target, topic) as figures:
        eventually(lambda: missed(figures) == (20, 1))
        eventually(lambda: clients.admin().group_offsets(unique, in_s(60)).get(tp) == 30)
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)
    with running(clients.consumer(unique), target, topic) as figures:
        send(clients, topic, rows(30, 31))
        eventually(lambda: target.rows == texts(0, 10) + texts(30, 31))
        assert missed(figures) == (0, 0)


@PATHS
def test_an_offset_past_the_end_begins_anew_and_says_so(clients, topic_name, unique, path):
    topic = clients.topic(topic_name)
    tp, target = TopicPartition(topic, 0), read_some_and_leave(clients, topic, unique, path=path)
    clients.admin().alter_group_offsets(unique, {tp: 500}, in_s(60))

    with running(clients.consumer(unique, path=path), target, topic) as figures:
        eventually(lambda: target.rows == texts(0, 10) * 2)
        assert missed(figures) == (0, 1), "nothing is known to be lost"
        send(clients, topic, rows(10, 11))
        eventually(lambda: clients.admin().group_offsets(unique, in_s(60)).get(tp) == 11)
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range"])
def test_a_topic_made_anew_under_a_running_sink_is_read_from_its_first_row(clients, topic_name, unique, assignor):
    topic, target = clients.topic(topic_name), new_target()
    send(clients, topic, rows(0, 10))
    consumer = clients.consumer(unique, metadata_max_age_ms="500", partition_assignment_strategy=assignor)
    with running(consumer, target, topic) as figures:
        eventually(lambda: target.rows == texts(0, 10))
        clients.admin().delete([topic], in_s(60))
        clients.topic(topic)
        send(clients, topic, rows(90, 93))
        eventually(lambda: target.rows == texts(0, 10) + texts(90, 93))
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)


@pytest.mark.parametrize("has_read", [True, False])
def test_rows_deleted_while_a_sink_is_paused_are_none_that_wait(clients, topic_name, unique, has_read):
    topic, control = clients.topic(topic_name), Control()
    tp, target = TopicPartition(topic, 0), read_some_and_leave(clients, topic, unique)
    control.ask_to_pause(not has_read)
    with running(clients.consumer(unique), target, topic, control) as figures:
        if has_read:
            send(clients, topic, rows(10, 20))
            eventually(lambda: len(target.rows) == 20)
            control.ask_to_pause(True)
            send(clients, topic, rows(20, 30))
        else:
            send(clients, topic, rows(10, 30))
        waiting = 10 if has_read else 20
        eventually(lambda: figures.snapshot().get("lag_rows") == waiting)
        clients.admin().delete_records({tp: 27}, in_s(60))
        eventually(lambda: figures.snapshot()["lag_rows"] == 3)
        assert figures.snapshot()["lag_s"] > 0
        clients.admin().delete_records({tp: 30}, in_s(60))
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)
        assert figures.snapshot()["lag_s"] == 0
        send(clients, topic, rows(30, 34))
        eventually(lambda: figures.snapshot()["lag_rows"] == 4)
        control.ask_to_pause(False)
        eventually(lambda: target.rows[-4:] == texts(30, 34))
        assert missed(figures) == (waiting, 1)


def test_rows_deleted_between_rows_that_a_sink_keeps_and_the_next_ones_do_not_wait(clients, topic_name, unique):
    topic, control, target = clients.topic(topic_name), Control(), new_target()
    target.is_full.set()
    send(clients, topic, rows(0, 10))
    with running(clients.consumer(unique), target, topic, control) as figures:
        eventually(lambda: figures.snapshot().get("lag_rows") == 10)
        control.ask_to_pause(True)
        eventually(lambda: "flush_s_total" in figures.snapshot())
        send(clients, topic, rows(10, 30))
        eventually(lambda: figures.snapshot()["lag_rows"] == 30)
        clients.admin().delete_records({TopicPartition(topic, 0): 27}, in_s(60))
        eventually(lambda: figures.snapshot()["lag_rows"] == 13)
        control.ask_to_pause(False)
        eventually(lambda: len(target.rows) == 13)
        eventually(lambda: figures.snapshot()["lag_rows"] == 13)
        assert missed(figures) == (17, 1)


def test_rows_passed_over_by_latest_are_counted_too(clients, topic_name, unique):
    topic, latest = clients.topic(topic_name), {"auto_offset_reset": "latest"}
    tp, target = TopicPartition(topic, 0), read_some_and_leave(clients, topic, unique)
    send(clients, topic, rows(10, 30))
    clients.admin().delete_records({tp: 17}, in_s(60))

    with running(clients.consumer(unique, **latest), target, topic) as figures:
        eventually(lambda: missed(figures) == (20, 1))
        send(clients, topic, rows(30, 31))
        eventually(lambda: target.rows == texts(0, 10) + texts(30, 31))


def test_a_duration_reads_what_is_younger(clients, topic_name, unique):
    topic, target = clients.topic(topic_name), new_target()
    send(clients, topic, rows(0, 10))
    with running(clients.consumer(unique, auto_offset_reset="by_duration:PT1H"), target, topic) as figures:
        eventually(lambda: target.rows == texts(0, 10))
        assert missed(figures) == (0, 0)


def test_gaps_of_compaction_and_transactions_are_no_loss(clients, topic_name, unique):
    topic, target = clients.topic(topic_name), new_target()
    write = transactions(clients, topic, unique)
    write(2, "commit")
    write(5, "abort")
    with running(clients.consumer(unique), target, topic) as figures:
        eventually(lambda: len(target.rows) == 2)
        eventually(lambda: figures.snapshot()["lag_rows"] == 0)
    write(3, "commit")
    with running(clients.consumer(unique), target, topic) as figures:
        eventually(lambda: len(target.rows) == 5)
        assert missed(figures) == (0, 0)
