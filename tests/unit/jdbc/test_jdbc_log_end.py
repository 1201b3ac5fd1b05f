"""Checks if the reader of a log knows that it has reached the log's end."""

from __future__ import annotations

from connectors.jdbc.log.shared.log_end import LogEnd


def test_the_end_is_reached_as_of_the_time_it_was_asked_for():
    now_s, ends = 100.0, [50, 80, 90]
    end = LogEnd(lambda: ends.pop(0), lambda here: 1000 - here, lambda: now_s)
    end.look(40)
    assert end.reached_s is None, "ten are missing"
    now_s = 130.0
    end.look(50)
    assert end.reached_s == 100.0
    end.look(60)
    assert end.reached_s == 100.0, "the end moved on meanwhile"
    now_s = 131.0
    end.look(80)
    assert end.reached_s == 130.0, "the second end was asked for when the first was reached"


def test_what_is_not_read_is_measured_seldom_and_nothing_at_the_end():
    now_s, ends = 100.0, [50, 80]
    end = LogEnd(lambda: ends.pop(0), lambda here: 90 - here, lambda: now_s)
    assert end.unread_bytes is None, "nobody has asked yet"
    end.measure(40)
    assert end.unread_bytes == 50
    end.measure(45)
    assert end.unread_bytes == 50, "as of the last look"
    now_s = 110.0
    end.look(45)
    assert end.unread_bytes == 45, "the end is not reached"
    end.look(50)
    assert end.unread_bytes == 0
