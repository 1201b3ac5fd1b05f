"""Checks that statements which merge into one table run one after the other, whatever process they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from google.api_core import exceptions as api
from google.cloud import bigquery

from connect.api.errors import ConfigError, RetriableError
from connectors.bigquery.dedup.side_tables import MODE_LABEL
from connectors.bigquery.merge.merge_line import MergeLine, first_free, merges_table
from connectors.bigquery.warehouse.warehouse import Warehouse

HOUR_S = 3600.0


class Google:
    """Google's client: jobs and labels of tables. A statement that begins with "slow" runs until `end` is called.

    log: the statements in the order in which they began and ended. lost: answers that do not come. on_slow: it is
    called when a slow statement has begun.
    """

    def __init__(self) -> None:
        self.jobs: dict[int, Any] = {}
        self.tables: dict[str, Any] = {}
        self.log: list[str] = []
        self.lost = 0
        self.asked = 0
        self.looked: list[str] = []
        self.lines: set[str] = set()
        self.on_slow: Callable[[], None] = lambda: None

    def query(self, sql: str, *, job_id: str, job_config: Any, **_: Any) -> Any:
        number = self._number(job_id)
        if number in self.jobs:
            raise api.Conflict("Already Exists")
        self.log.append(f"begin {sql}")
        job = self.jobs[number] = SimpleNamespace(
            sql=sql, job_id=job_id, state="RUNNING", error_result=None, labels=job_config.labels,
            dml_stats=SimpleNamespace(inserted_row_count=1, updated_row_count=0, deleted_row_count=0),
            total_bytes_billed=0, reload=lambda **_: None,
        )  # fmt: skip
        if sql.startswith("slow"):
            self.on_slow()
        else:
            self.end(number)
        if self.lost:
            self.lost -= 1
            raise requests.exceptions.ConnectionError("the answer was lost")
        return job

    def end(self, number: int) -> None:
        self.jobs[number].state = "DONE"
        self.log.append(f"end {self.jobs[number].sql}")

    def get_job(self, job_id: str, **_: Any) -> Any:
        self.asked += 1
        number = self._number(job_id)
        if number not in self.jobs:
            raise api.NotFound(job_id)
        return self.jobs[number]

    def _number(self, job_id: str) -> int:
        line, _, number = job_id.rpartition("-")
        self.lines.add(line)
        assert len(self.lines) == 1, "two lines, whose statements run side by side"
        return int(number)

    def create_table(self, table: Any, **_: Any) -> None:
        self.tables[table.table_id] = table

    def get_table(self, name: str, **_: Any) -> Any:
        self.looked.append(name.rpartition(".")[2])
        if name.rpartition(".")[2] not in self.tables:
            raise api.NotFound(name)
        return self.tables[name.rpartition(".")[2]]

    def update_table(self, table: Any, fields: list[str], **_: Any) -> None:
        self.tables[table.table_id] = table

    @property
    def labels(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.tables[merges_table("orders")].labels
        return found


def life(google: Google, now_s: list[float] | None = None) -> MergeLine:
    """What one process knows of the line."""
    clock = now_s or [0.0]
    return MergeLine(Warehouse(google, "p", "d", timeout_s=1), lambda: clock[0])


def run(line: MergeLine, sql: str) -> int:
    return line.run("orders", sql, "merging").inserted


@pytest.mark.parametrize("taken", [0, 1, 2, 3, 4, 5, 7, 8, 9, 1000])
def test_the_end_of_a_line_is_found_by_few_questions(taken):
    asked = []
    assert first_free(lambda number: asked.append(number) or number < taken) == taken
    assert len(asked) <= 2 * taken.bit_length() + 2


def begin(google: Google, sql: str) -> Any:
    """The job of a process that died, or froze, while BigQuery runs its statement."""
    warehouse = Warehouse(google, "p", "d", timeout_s=1)
    google.on_slow = warehouse.stop
    with pytest.raises(RetriableError, match="still running"):
        run(MergeLine(warehouse), f"slow {sql}")
    return google.jobs[max(google.jobs)]


def test_a_process_that_comes_later_waits_for_the_statement_that_runs():
    google = Google()
    run(life(google), "first")
    begin(google, "second").reload = lambda **_: google.end(1)
    run(life(google), "third")
    assert google.log == [
        "begin first", "end first", "begin slow second", "end slow second", "begin third", "end third",
    ]  # fmt: skip


def test_a_process_that_froze_before_its_submission_runs_behind_the_others():
    google = Google()
    zombie = life(google)
    run(zombie, "first")
    run(life(google), "second")
    begin(google, "third").reload = lambda **_: google.end(2)
    run(zombie, "late")
    assert google.log[-4:] == ["begin slow third", "end slow third", "begin late", "end late"]


def test_statements_of_one_process_ask_for_nothing_but_their_own_job():
    google = Google()
    line = life(google)
    run(line, "first")
    asked, looked = google.asked, len(google.looked)
    for number in range(20):
        run(line, f"statement {number}")
    assert google.asked == asked
    assert google.looked[looked:] == []
    assert sorted(google.jobs) == list(range(21))


def test_who_stood_still_behind_its_own_statement_looks_again_where_another_mode_has_ended_the_line():
    """Also where the answer to its statement is lost, and where other processes have merged before the end."""
    for before in (0, 1, 3):
        for lost in (0, 1):
            google = Google()
            google.tables["orders"] = table = bigquery.Table("p.d.orders")
            zombie = life(google)
            run(zombie, "first")
            for number in range(before):
                run(life(google), f"of another one {number}")
            table.labels = {MODE_LABEL: "view"}
            life(google).end("orders")
            google.lost = lost
            log, looked = list(google.log), google.looked.count("orders")
            with pytest.raises(ConfigError, match=r"one of dedup\.mode=view"):
                run(zombie, "late")
            assert google.log == log, "nothing ran"
            assert google.looked.count("orders") == looked + 1


def test_no_statement_follows_one_whose_answer_was_lost_once_another_mode_has_ended_the_line():
    google = Google()
    google.tables["orders"] = table = bigquery.Table("p.d.orders")
    line = life(google)
    run(line, "first")
    google.lost = 1
    with pytest.raises(RetriableError):
        run(line, "second")
    table.labels = {MODE_LABEL: "view"}
    life(google).end("orders")
    with pytest.raises(ConfigError):
        run(line, "third")
    assert [job.sql for job in google.jobs.values()] == ["first", "second", "SELECT 1 AS ended"]


def test_a_statement_whose_answer_was_lost_is_found_again_and_another_one_is_not_taken_for_it():
    google = Google()
    line = life(google)
    google.lost = 1
    with pytest.raises(RetriableError):
        run(line, "one")
    assert run(line, "one") == 1
    google.lost = 1
    with pytest.raises(RetriableError):
        run(line, "two")
    run(line, "two and three")
    assert [job.sql for job in google.jobs.values()] == ["one", "two", "two and three"]


def test_jobs_that_bigquery_has_forgotten_begin_no_second_line():
    """The number is noted once an hour, so that the jobs at the noted one are known for another half year."""
    google, now_s = Google(), [0.0]
    line = life(google, now_s)
    for number in range(50):
        now_s[0] += HOUR_S / 4
        run(line, f"statement {number}")
    noted = int(google.labels["kafka-connect-merge-number"])
    assert 40 < noted <= 49
    for number in range(noted):
        del google.jobs[number]
    run(life(google), "of a later life")
    assert max(google.jobs) == 50
    assert google.jobs[50].sql == "of a later life"


def test_a_note_never_goes_back():
    google, now_s = Google(), [0.0]
    zombie = life(google, now_s)
    run(zombie, "first")
    owner = life(google, now_s)
    for number in range(9):
        now_s[0] += 2 * HOUR_S
        run(owner, f"statement {number}")
    noted = google.labels["kafka-connect-merge-number"]
    run(zombie, "late")
    assert google.labels["kafka-connect-merge-number"] == noted
    assert max(google.jobs) == 10


def test_a_line_is_ended_though_somebody_has_dropped_the_table_that_notes_it():
    google = Google()
    google.tables["orders"] = table = bigquery.Table("p.d.orders")
    zombie = life(google)
    run(zombie, "first")
    del google.tables[merges_table("orders")]
    table.labels = {MODE_LABEL: "view"}
    life(google).end("orders")
    with pytest.raises(ConfigError, match=r"one of dedup\.mode=view"):
        run(zombie, "late")
    assert [job.sql for job in google.jobs.values()] == ["first", "SELECT 1 AS ended"]


def test_the_line_of_a_table_into_which_nobody_merged_needs_no_end():
    google = Google()
    google.tables["orders"] = bigquery.Table("p.d.orders")
    life(google).end("orders")
    assert google.jobs == {}
    assert list(google.tables) == ["orders"]


def test_a_line_goes_on_where_it_was_though_its_table_was_dropped_and_its_first_jobs_are_forgotten(caplog):
    google, now_s = Google(), [0.0]
    google.tables["orders"] = bigquery.Table("p.d.orders")
    line = life(google, now_s)
    for number in range(50):
        now_s[0] += HOUR_S / 4
        run(line, f"statement {number}")
    for number in range(40):
        del google.jobs[number]
    del google.tables[merges_table("orders")]
    run(life(google), "of a later life")
    assert max(google.jobs) == 50
    assert google.jobs[50].sql == "of a later life"
    assert "_orders_merges is gone" in caplog.text
    assert int(google.labels["kafka-connect-merge-number"]) == 49


def test_a_process_whose_line_began_anew_joins_the_one_that_others_note():
    google, now_s = Google(), [0.0]
    google.tables["orders"] = table = bigquery.Table("p.d.orders")
    line = life(google, now_s)
    for number in range(9):
        now_s[0] += HOUR_S
        run(line, f"statement {number}")
    google.jobs = {8: google.jobs[8]}
    del google.tables[merges_table("orders")]
    table.labels = {}
    lost = life(google, now_s)
    run(lost, "beside the line")
    now_s[0] += HOUR_S
    run(line, "in line")
    now_s[0] += HOUR_S
    run(lost, "in line again")
    assert [google.jobs[number].sql for number in sorted(google.jobs)][-2:] == ["in line", "in line again"]
