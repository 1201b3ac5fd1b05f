"""Rows go from a database to S3 and BigQuery for long, with restarts, new columns and a broker that is rolled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from bigquery_dataset import Dataset
from e2e_brokers import ThreeBrokers
from e2e_pipeline import WAIT_S, Pipeline, pipeline
from e2e_use import UNITS, Use
from e2e_worker import wait_for

from connect.lib.deadline import Deadline

SOAK_S = float(os.environ.get("CONNECT_SOAK_S", "120"))
EVERY_S = 60.0
"""From one restart of all connectors to the next."""
COLUMN_EVERY = 5
"""Restarts from one new column to the next."""
MOST_MORE = {"private memory": 1.15, "threads": 1.1, "descriptors": 1.1, "connections": 1.2}
"""How many times what it was in its second quarter a worker may take in its last one."""
REPORT = Path("build/soak")
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800 + round(2 * SOAK_S))]


@pytest.fixture
def dataset(bigquery_service, unique) -> Iterator[Dataset]:
    endpoint = bigquery_service.endpoint
    with Dataset(endpoint.project, unique, endpoint) as made:
        yield made


def restart(flow: Pipeline, names: list[str]) -> None:
    for name in names:
        answer = flow.workers[0].call("POST", name, "/restart?includeTasks=true")
        assert answer.status_code in {202, 204}, answer.text


def roll(brokers: ThreeBrokers, flow: Pipeline) -> float:
    brokers.stop(2)
    flow.until_rows_flow()
    brokers.start(2)
    brokers.wait_until_whole()
    return flow.until_rows_flow()


def soak(brokers: ThreeBrokers, flow: Pipeline, names: list[str]) -> tuple[int, int, list[float]]:
    """Restart all connectors each minute; return the restarts, the new columns, and how long rows stood each time."""
    whole, restarts, columns, stood_s = Deadline.after(SOAK_S), 0, 0, []
    while not whole.expired:
        Deadline.after(EVERY_S).sooner(whole.remaining_s).wait(EVERY_S)
        restart(flow, names)
        restarts += 1
        if restarts % COLUMN_EVERY == 1:
            columns += 1
            flow.writer.add_column(f"added_{columns}")
        stood_s.append(flow.until_rows_flow())
        if restarts == max(1, int(SOAK_S / EVERY_S / 2)):
            stood_s.append(roll(brokers, flow))
    return restarts, columns, stood_s


def begin(flow: Pipeline, dataset: Dataset) -> list[str]:
    """Let the rows go to BigQuery, too, and into fewer objects in S3; return the names of all connectors."""
    warehouse = f"{flow.name}-warehouse"
    config = {
        **dataset.settings(allowNewBigQueryFields="true"),
        "topics": flow.topic,
        "offset.flush.interval.ms": "500",
    }
    answer = flow.workers[1].create(warehouse, config)
    assert answer.status_code == 201, answer.text
    seldom = {**flow.sink_config, "rotate.schedule.interval.ms": "3000"}
    answer = requests.put(f"{flow.workers[0].url}/connectors/{flow.sink}/config", json=seldom, timeout=60)
    assert answer.status_code == 200, answer.text
    wait_for(
        lambda: flow.topic in dataset.tables(), WAIT_S, lambda: f"{flow.topic} among the tables {dataset.tables()}"
    )
    return [flow.source, flow.sink, warehouse]


def in_warehouse(dataset: Dataset, flow: Pipeline, column: str) -> str:
    """Wait for all rows in BigQuery; each is there once, and some have a value in the column."""
    counts = f"COUNT(*) AS n, COUNT(DISTINCT id) AS ids, COUNT({column}) AS newest"
    counted = f"SELECT {counts} FROM `{dataset.name}`.`{flow.topic}`"
    total = flow.writer.rows
    found = wait_for(
        lambda: (row := dataset.query(counted)[0])["n"] >= total and row, WAIT_S, f"{total} rows in BigQuery", pause_s=1
    )
    assert (found["n"], found["ids"]) == (total, total), found
    assert found["newest"], f"no row has a value in {column}"
    return f"BigQuery: {total} rows, each once, {found['newest']} of them with {column}."


def test_rows_are_equal_and_workers_take_no_more_after_a_long_time(tmp_path, s3, s3_bucket, dataset, unique):
    with ThreeBrokers(tmp_path) as brokers, pipeline(brokers, s3, s3_bucket, tmp_path, unique) as flow:
        names = begin(flow, dataset)
        with Use({f"worker {n}": lambda worker=worker: worker.pid for n, worker in enumerate(flow.workers, 1)}) as use:
            restarts, columns, stood_s = soak(brokers, flow, names)
        seen = flow.check().partition(", failed")[0]
        stored = in_warehouse(dataset, flow, f"added_{columns}")
    grown = {(name, figure): use.growth(name, figure) for name in use.seen for figure in UNITS}
    lines = [
        f"{SOAK_S:.0f} s, {restarts} restarts of three connectors, {columns} columns added, one broker rolled.",
        f"S3: {seen}. {stored} Rows stood for {max(stood_s):.1f} s at most.",
        *(f"{name}, {figure}: {first:.1f}, at the end {last:.1f}" for (name, figure), (first, last) in grown.items()),
    ]
    print(*lines, use.write(REPORT, lines), sep="\n", flush=True)  # noqa: T201 - this is the report of `make soak`
    too_much = {key: pair for key, pair in grown.items() if pair[1] > MOST_MORE[key[1]] * pair[0] + 1}
    assert too_much == {}
