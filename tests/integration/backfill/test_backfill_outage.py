"""Kills brokers and a database while a chunk is written; after they have come back, every row is there once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from backfill_job import OneAfterTheOther, Table

from connect.backfill.job.chunk import LaneReport, Step
from connect.backfill.job.states import JobState
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.tools.services import KafkaService
from connect.tools.services.postgres import PostgresService
from connect.tools.services.process.polling import poll_until

ROWS = 3000
AWAY_S = 3.0


class WithAnOutage(OneAfterTheOther):
    """Runs lanes here, and kills a service at the `after`th time of a step; it is started again a little later."""

    def __init__(self, service: KafkaService | PostgresService, step: Step, after: int) -> None:
        self._service = service
        self._step = step
        self._left = after
        self._back: threading.Timer | None = None

    def run(self, tasks: list[LaneTask], _at_once: int) -> list[LaneReport]:
        try:
            return [run_lane(task, self._on_step) for task in tasks]
        finally:
            assert self._back is not None
            self._back.join()

    def _on_step(self, step: Step, _chunk: str) -> None:
        if step is not self._step:
            return
        self._left -= 1
        if self._left == 0:
            self._service.kill()
            self._back = threading.Timer(AWAY_S, self._service.start)
            self._back.start()


@pytest.fixture(scope="module")
def own_kafka() -> Iterator[KafkaService]:
    with KafkaService() as service:
        yield service


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresService]:
    with PostgresService() as service:
        yield service


@pytest.mark.parametrize(
    ("who", "step"),
    [
        ("kafka", Step.ROWS_SENT),
        ("postgres", Step.COMMITTED),
        pytest.param("kafka", Step.COMMITTED, marks=pytest.mark.chaos),
        pytest.param("postgres", Step.ROWS_SENT, marks=pytest.mark.chaos),
    ],
)
def test_a_service_that_is_away_for_a_while_costs_no_row_and_repeats_none(
    own_kafka: KafkaService, own_postgres: PostgresService, who: str, step: Step, unique: str
) -> None:
    table = Table(own_postgres.endpoint, own_kafka.endpoint, unique)
    table.fill(ROWS)
    service = own_kafka if who == "kafka" else own_postgres
    try:
        with table.driver() as driver:
            assert driver.run(WithAnOutage(service, step, 2)).state is JobState.COPIED
        assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
    finally:
        table.engine.dispose()


@pytest.mark.chaos
@pytest.mark.parametrize("who", ["kafka", "postgres"])
def test_a_service_that_is_away_for_a_minute_costs_no_row_and_repeats_none(
    own_kafka: KafkaService, own_postgres: PostgresService, who: str, unique: str
) -> None:
    table = Table(own_postgres.endpoint, own_kafka.endpoint, unique)
    table.fill(ROWS)
    service = own_kafka if who == "kafka" else own_postgres
    back = threading.Timer(60.0, service.start)

    def kill_behind_the_first_chunk() -> None:
        poll_until(table.ids, deadline_s=60, waiting_for="the first chunk", fix="")
        service.kill()
        back.start()

    killer = threading.Thread(target=kill_behind_the_first_chunk)
    try:
        with table.driver(limits={"max_rows_per_second": 400}) as driver:
            killer.start()
            assert driver.run().state is JobState.COPIED
        assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
    finally:
        killer.join()
        back.join()
        table.engine.dispose()
