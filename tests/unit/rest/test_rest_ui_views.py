"""Checks what pages show, as values: figures of all tasks, one page of a list, one connector."""

from __future__ import annotations

from typing import Any

import pytest

from connect.client.overview import Line
from connect.client.reasons import reasons
from connect.rest.figures.sample_window import Sample, SampleWindow
from connect.rest.ui.views import numbers
from connect.rest.ui.views.connector import KEYS, TASKS, settings, standing
from connect.rest.ui.views.overview import OverviewQuery, overview_page
from connect.rest.ui.views.plot import HEIGHT, WIDTH, plot

LOOK = SampleWindow(
    (
        Sample(10.0, {"a-0": {"rows_total": 100, "lag_rows": 8}, "a-1": {"rows_total": 50}}, {}),
        Sample(
            12.0,
            {"a-0": {"rows_total": 300, "lag_rows": 6, "lag_s": 90.0}, "a-1": {"rows_total": 10}},
            {"w2:1": "it hangs"},
        ),
    )
)


def line(name: str, state: str = "RUNNING", plugin: str = "FileStreamSource") -> Line:
    return Line(name, "source", state, "1/1", plugin, "")


def test_rates_are_growth_in_a_second_and_unknown_where_a_task_began_anew() -> None:
    assert LOOK.rate("a-0") == 100.0
    assert LOOK.rate("a-1") is None
    assert LOOK.rate("b-0") is None
    assert LOOK.rates(["a-0", "a-1"]) == [100.0]
    assert LOOK.lags(["a-0", "b-0"]) == [8, 6]
    assert SampleWindow(LOOK.samples[:1]).rate("a-0") is None


def test_a_source_is_behind_by_the_rows_that_it_tells_of() -> None:
    window = SampleWindow((Sample(10.0, {"a-0": {"source_lag_rows": 8}, "a-1": {"lag_rows": 2}, "b-0": {}}, {}),))
    assert window.pace(["a-0", "a-1"]).lag_rows == 10
    assert window.pace(["b-0"]).lag_rows is None


@pytest.mark.parametrize(
    ("asked", "names", "found", "page"),
    [
        (OverviewQuery(), [f"c{n:02}" for n in range(50)], 60, 1),
        (OverviewQuery(page=2), [f"c{n:02}" for n in range(50, 60)], 60, 2),
        (OverviewQuery(page=99), [f"c{n:02}" for n in range(50, 60)], 60, 2),
        (OverviewQuery("C03 "), ["c03"], 1, 1),
        (OverviewQuery("filestream", "FAILED"), [], 0, 1),
    ],
)
def test_a_list_is_searched_filtered_and_cut_into_pages(
    asked: OverviewQuery, names: list[str], found: int, page: int
) -> None:
    result = overview_page([line(f"c{n:02}") for n in range(60)], {}, {"w": 0}, LOOK, asked)
    assert [row.line.name for row in result.rows] == names
    assert (result.found, result.connectors, result.asked.page, result.pages) == (
        found,
        60,
        page,
        max(1, -(-found // 50)),
    )


def test_a_row_adds_up_its_tasks_and_names_silent_workers() -> None:
    result = overview_page([line("a")], {"a": ["a-0", "a-1"]}, {"w2:1": 1, "w1:1": 1}, LOOK, OverviewQuery())
    (row,) = result.rows
    assert (row.pace.rows_per_s, row.pace.lag_rows, row.pace.lag_s) == (100.0, 6, 90.0)
    assert [(worker.id, worker.silent) for worker in result.workers] == [("w1:1", ""), ("w2:1", "it hangs")]


def status(states: list[str], **own: Any) -> dict[str, Any]:
    tasks = [{"id": n, "state": state, "worker_id": "w2:1"} for n, state in enumerate(states)]
    return {"name": "a", "type": "sink", "connector": {"state": "RUNNING", "worker_id": "w1:1", **own}, "tasks": tasks}


def test_a_connector_says_why_and_is_as_bad_as_its_worst_task() -> None:
    asked = status(["RUNNING", "FAILED"])
    asked["tasks"][1]["trace"] = "Boom\n" + "x" * 10_000
    said = reasons(asked, [{}])
    found = standing(asked, said, LOOK)
    assert (found.state, found.own_state, found.has_failed) == ("FAILED", "RUNNING", True)
    assert [task.number for task in found.tasks] == [1, 0], "what needs a person first"
    assert [(one.about, one.text) for one in found.why] == [(one.about, one.text) for one in said]
    (trace,) = [one.trace for one in found.why if one.trace]
    assert (trace.task, trace.is_cut, trace.chars) == (1, True, 10_005)
    assert found.silent == {"w2:1": "it hangs"}


def test_a_connector_of_many_tasks_shows_those_that_need_a_person() -> None:
    asked = status(["RUNNING"] * 999 + ["FAILED"])
    found = standing(asked, reasons(asked, [{}]), LOOK)
    assert (len(found.tasks), found.task_count, found.tasks[0].number) == (TASKS, 1000, 999)
    assert len(found.why) == TASKS + 1


def test_settings_are_cut() -> None:
    found = settings({f"k{n:04}": "v" * 10_000 for n in range(1000)} | {"connector.class": "x"})
    assert found.values[0] == ("connector.class", "x")
    assert (len(found.values), found.more) == (KEYS, 701)
    assert max(len(value) for _, value in found.values) <= 600


def test_a_plot_stays_inside_its_picture() -> None:
    found = plot([None, 0.0, 5.0, 1e12, None])
    assert found is not None
    points = [tuple(map(float, point.split(","))) for point in found.points.split()]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    assert len(points) == 3
    assert plot([1.0]) is None
    assert plot([0.0, 0.0]) is not None


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (numbers.rate(None), "–"),
        (numbers.rate(0.0), "0"),
        (numbers.rate(2.34), "2.3"),
        (numbers.rate(12345.6), "12,346"),
        (numbers.seconds(0.4), "0.4 s"),
        (numbers.seconds(90), "1.5 min"),
        (numbers.seconds(86400 * 2), "2.0 d"),
        (numbers.size(1536.0), "1.5 KiB"),
        (numbers.size(3 * 2**20), "3.0 MiB"),
        (numbers.count(1234567), "1,234,567"),
        (numbers.cut("abcdef", 4), "abc…"),
        (numbers.cut("abcd", 4), "abcd"),
    ],
)
def test_figures_are_written_for_people(shown: str, text: str) -> None:
    assert shown == text
