"""Whether the reader of a log has reached its end."""

from __future__ import annotations

from connectors.jdbc.log.shared.log_end import LogEnd


def test_the_end_is_reached_as_of_the_time_it_was_asked_for():
    now_s, ends = 100.0, [50, 80, 90]
    end = LogEnd(lambda: ends.pop(0), lambda: now_s)
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
