"""A task stops when more rows are bad than its limits allow, and goes on as long as they are few."""

import pytest

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.runtime.records.error_limits import ErrorLimits
from connect.runtime.records.retry import RetriesOverError, RetryBudget
from connect.runtime.records.tolerance import BadRow, LimitExceededError, Stage, Tolerance, ToleranceExceededError
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.task.task_metrics import TaskFigures


class Clock:
    def __init__(self):
        self.now_s = 1000.0

    def __call__(self):
        return self.now_s


def test_without_limits_any_number_of_bad_rows_is_tolerated():
    limits = ErrorLimits(None, None, 60)
    limits.saw(10)
    assert limits.refused(10**9) is None


def test_a_count_is_of_the_last_window_only():
    clock = Clock()
    limits = ErrorLimits(3, None, 60, clock)
    assert limits.refused(3) is None
    clock.now_s += 61
    assert limits.refused(3) is None
    clock.now_s += 30
    assert "4 bad rows" in limits.refused(1)


def test_a_ratio_counts_once_there_are_enough_rows():
    limits = ErrorLimits(None, 0.05, 60, Clock())
    limits.saw(99)
    assert limits.refused(99) is None
    limits.saw(2000)
    assert limits.refused(1) is None
    text = limits.refused(10)
    assert text == (
        "110 of 2099 rows in the last 60 s (errors.tolerance.limit.window.ms) are bad, more than"
        " errors.tolerance.limit.ratio=0.05 allows."
    )


def test_what_the_window_forgets_counts_no_more():
    clock = Clock()
    limits = ErrorLimits(None, 0.1, 10, clock)
    limits.saw(1000)
    assert limits.refused(100) is None
    clock.now_s += 11
    limits.saw(200)
    assert limits.refused(20) is None
    assert limits.refused(1) is not None


def tolerance(letters=None, **settings):
    config = SourceConnectorConfig.parse({"name": "n", "connector.class": "c", **settings})
    return Tolerance(config, TaskFigures(), letters, "orders-0")


def row(text="no"):
    return BadRow(Stage.TRANSFORMATION, "Cast", ValueError(text), "t", 1, 7)


def test_rows_beyond_the_limit_are_not_set_aside():
    letters = []
    some = tolerance(letters.extend, **{"errors.tolerance": "all", "errors.tolerance.limit.count": "2"})
    some.give_up([row(), row()])
    with pytest.raises(LimitExceededError, match=r"3 bad rows .*t-1@7: ValueError: no"):
        some.give_up([row()])
    assert len(letters) == 2


def test_without_tolerance_the_first_row_fails_the_task_whatever_the_limit():
    with pytest.raises(ToleranceExceededError):
        tolerance(**{"errors.tolerance.limit.count": "100"}).give_up([row()])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("errors.tolerance.limit.count", "-1"),
        ("errors.tolerance.limit.ratio", "5%"),
        ("errors.tolerance.limit.ratio", "1.5"),
        ("errors.tolerance.limit.window.ms", "0"),
    ],
)
def test_a_wrong_limit_is_named(key, value):
    with pytest.raises(ConfigError, match=key):
        tolerance(**{key: value})


def test_errors_are_logged_with_the_place_of_the_record_only_when_asked(caplog):
    tolerance(**{"errors.tolerance": "all"}).give_up([row()])
    assert caplog.messages == []
    tolerance(**{"errors.tolerance": "all", "errors.log.enable": "true"}).give_up([row()])
    both = {"errors.log.enable": "true", "errors.log.include.messages": "true"}
    tolerance(**{"errors.tolerance": "all", **both}).give_up([row()])
    said = "Error encountered in task orders-0. Executing stage 'TRANSFORMATION' with class 'Cast'"
    assert caplog.messages == [
        f"{said}. ValueError: no",
        f"{said}, where consumed record is {{topic='t', partition=1, offset=7}}. ValueError: no",
    ]


def test_an_outage_is_waited_for_as_long_as_said():
    clock = Clock()
    budget = RetryBudget(5000, clock)
    away = RetriableError("The registry is away.")
    budget.failed(away, "A batch")
    clock.now_s += 4.9
    budget.failed(away, "A batch")
    budget.succeeded()
    clock.now_s += 100
    budget.failed(away, "A batch")
    clock.now_s += 5.1
    with pytest.raises(RetriesOverError, match=r"away\. Tried again for 5.1 s \(errors.retry.timeout=5000\)"):
        budget.failed(away, "A batch")


def test_no_retry_is_the_default_and_for_ever_can_be_said():
    with pytest.raises(ConnectError, match="It was not tried again"):
        RetryBudget(0).failed(RetriableError("away"), "A batch")
    clock = Clock()
    endless = RetryBudget(-1, clock)
    for _ in range(3):
        clock.now_s += 1e6
        endless.failed(RetriableError("away"), "A batch")
