"""Checks that the model of the random histories rejects what a cluster may not do, and accepts what it may."""

from __future__ import annotations

import pytest
from cluster_evidence import Row, check_presence, check_sink, check_source
from cluster_model import ABSENT, Answer, Asked, Connector, Operation, PromiseError, Truth

CREATE, PAUSE, STOP = Operation("create", 1, 2), Operation("pause"), Operation("stop")
RUNNING = Truth(1, 2, "RUNNING")


def asked(operation: Operation, status: int, at: int = 1, *, text: str = "") -> Asked:
    return Asked(operation, Answer(status, text), at * 10, at * 10 + 5)


def created() -> Connector:
    connector = Connector("c")
    connector.take([asked(CREATE, 201)])
    return connector


def rows(mark_and_numbers: dict[str, range]) -> list[Row]:
    return [Row(0, number, f"7-{mark}", 1) for mark, numbers in mark_and_numbers.items() for number in numbers]


def test_what_was_acknowledged_is_true() -> None:
    connector = created()
    assert connector.allowed() == {RUNNING}
    connector.take([asked(PAUSE, 202)])
    with pytest.raises(PromiseError, match="may be only"):
        connector.settle(RUNNING)


def test_an_answer_that_cannot_be_is_a_defect() -> None:
    with pytest.raises(PromiseError, match="no order"):
        created().take([asked(PAUSE, 404)])
    with pytest.raises(PromiseError, match="no order"):
        created().take([asked(Operation("reset_offsets"), 200)])


def test_two_at_once_come_in_either_order() -> None:
    connector = created()
    connector.take([asked(PAUSE, 202), asked(STOP, 204)])
    assert {truth.state for truth in connector.allowed()} == {"PAUSED", "STOPPED"}
    with pytest.raises(PromiseError):
        created().take([asked(Operation("delete"), 204), asked(Operation("delete"), 204)])


@pytest.mark.parametrize(
    "lost", [Answer(0), Answer(500), Answer(409, "a conflicting operation (e.g. worker rebalance)")]
)
def test_what_nobody_answered_may_be_done_late_or_never(lost: Answer) -> None:
    connector = created()
    connector.take([Asked(Operation("delete_all"), lost, 1, 1 << 62)])
    assert connector.allowed() == {RUNNING, RUNNING._replace(state="STOPPED"), ABSENT}
    connector.settle(RUNNING)
    assert ABSENT in connector.allowed()  # it may still be under way


def test_what_was_late_may_be_done_before_the_next_look() -> None:
    connector = created()
    connector.take([asked(PAUSE, 0)])
    connector.settle(RUNNING)  # an hour later
    assert connector.allowed() == {RUNNING}


def test_a_missing_row_is_found() -> None:
    with pytest.raises(PromiseError, match="12 follows 10"):
        check_source("c", [row for row in rows({"1-a": range(15)}) if row.number != 11], [], once=False)
    with pytest.raises(PromiseError, match="begins at 11"):
        check_source("c", rows({"1-a": range(10), "2-b": range(11, 15)}), [], once=False)


def test_rows_may_come_again_only_where_that_is_allowed() -> None:
    again = rows({"1-a": range(10), "2-b": range(5, 15)})
    check_source("c", again, [], once=False)
    with pytest.raises(PromiseError, match="begins at 5"):
        check_source("c", again, [], once=True)
    with pytest.raises(PromiseError, match="begins at 0"):
        check_source("c", [*again, *rows({"3-c": range(2)})], [], once=False)


def test_rows_of_a_former_run_are_late() -> None:
    with pytest.raises(PromiseError, match="another run stand between"):
        check_source(
            "c", [*rows({"1-a": range(10), "2-b": range(5, 12)}), *rows({"1-a": range(10, 11)})], [], once=False
        )


def test_offsets_that_were_set_are_where_the_next_run_begins() -> None:
    change = asked(Operation("set_offsets", start=100), 200, at=5)
    check_source("c", rows({"1-a": range(10), "60-b": range(100, 102)}), [change], once=True)
    with pytest.raises(PromiseError, match="was acknowledged"):
        check_source("c", rows({"1-a": range(10), "60-b": range(10, 12)}), [change], once=True)
    refused = asked(Operation("set_offsets", start=100), 400, at=5)
    with pytest.raises(PromiseError, match="begins at 100"):
        check_source("c", rows({"1-a": range(10), "60-b": range(100, 102)}), [refused], once=True)


def test_a_task_in_two_places_is_found(tmp_path) -> None:
    (tmp_path / "c-0").write_text("1-1-a\n1-1-a\n2-2-b\n")
    check_presence(tmp_path)
    (tmp_path / "c-0").write_text("1-1-a\n2-2-b\n1-1-a\n")
    with pytest.raises(PromiseError, match="two places"):
        check_presence(tmp_path)


def test_a_row_that_a_sink_lacks_is_found(tmp_path) -> None:
    (tmp_path / "sink-1").write_text("t 0 0\nt 0 2\n")
    check_sink(tmp_path, "sink", {"t": [0, 2]})
    with pytest.raises(PromiseError, match="lacks 1 rows of t"):
        check_sink(tmp_path, "sink", {"t": [0, 1, 2]})
