"""Shows a cluster's tasks on one line each: rates out of two scrapes, and what a Java cluster does not tell."""

from __future__ import annotations

from connect.client.task_lines import COLUMNS, Scrape, cells, figures_of, task_lines, workers_of

METRICS = """
# TYPE kafka_connect_task_rows counter
kafka_connect_task_rows_total{connector="a-b",task="0"} 500
# TYPE kafka_connect_task_lag_rows gauge
kafka_connect_task_lag_rows{connector="a-b",task="0"} 7
# TYPE kafka_connect_task_host_cpu_seconds counter
kafka_connect_task_host_cpu_seconds_total{connector="a-b",task="0"} 3
# TYPE kafka_connect_task_host_memory_bytes gauge
kafka_connect_task_host_memory_bytes{connector="a-b",task="0"} 104857600
# TYPE kafka_connect_worker_task_count gauge
kafka_connect_worker_task_count 1
"""


def status(state, *tasks, reason=None):
    return {"connector": {"state": state, "worker_id": "w:1", **({"reason": reason} if reason else {})}, "tasks": tasks}


def task(number, state="RUNNING", **more):
    return {"id": number, "state": state, "worker_id": "w:1", **more}


def test_rates_are_what_has_grown_between_two_scrapes():
    now = figures_of(METRICS)
    before = {("a-b", "0"): {"rows_total": 100.0, "host_cpu_seconds_total": 2.0}}
    (line,) = task_lines(
        {"a-b": {"info": {"type": "sink"}, "status": status("RUNNING", task(0))}},
        Scrape(10.0, before),
        Scrape(14.0, now),
    )
    assert (line.rows_per_second, line.host_cpu_percent, line.lag_rows) == (100.0, 25.0, 7.0)
    assert cells(line) == ("a-b", "0", "RUNNING", "100", "7", "–", "25 %", "100 MiB", "w:1", "")
    assert len(cells(line)) == len(COLUMNS)


def test_a_task_that_began_again_has_no_rate_yet():
    (line,) = task_lines(
        {"a-b": {"status": status("RUNNING", task(0))}},
        Scrape(0.0, {("a-b", "0"): {"rows_total": 501.0}}), Scrape(1.0, figures_of(METRICS)),
    )  # fmt: skip
    assert line.rows_per_second is None
    assert line.lag_rows == 7.0


def test_what_needs_a_person_comes_first_and_java_tells_states_and_traces():
    found = {
        "idle": {"info": {"type": "source"}, "status": status("STOPPED", reason="by a person")},
        "fine": {"info": {"type": "source"}, "status": status("RUNNING", task(0))},
        "bad": {"info": {"type": "sink"}, "status": status("RUNNING", task(0, "FAILED", trace="Boom: no\n at x"))},
    }
    lines = task_lines(found, Scrape(0.0, {}), Scrape(1.0, {}))
    assert [(line.connector, line.task, line.reason) for line in lines] == [
        ("bad", "0", "Boom: no"), ("idle", "", "by a person"), ("fine", "0", "")
    ]  # fmt: skip
    assert cells(lines[0])[3:8] == ("–",) * 5
    assert workers_of(found) == ["w:1"]


def test_a_source_shows_how_many_rows_it_is_behind():
    told = 'kafka_connect_task_source_lag_rows{connector="a-b",task="0"} 1200\nkafka_connect_task_rows_total 3\n'
    (line,) = task_lines(
        {"a-b": {"status": status("RUNNING", task(0))}}, Scrape(0.0, {}), Scrape(1.0, figures_of(told))
    )
    assert line.lag_rows == 1200.0
