"""Lets verify find records that are missing, changed or doubled in a topic of real Kafka, chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from backfill_job import OneAfterTheOther, Table
from click.testing import CliRunner
from confluent_kafka import Message, Producer

from connect.api.errors import ConnectError
from connect.backfill.job.chunk import LaneReport
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.backfill.verify.verify import verify
from connect.cli.backfill import backfill
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline
from connect.tools.services.process.polling import poll_until

ROWS, PART = 2000, 500


@pytest.fixture
def copied(table: Table) -> Table:
    """A table of four chunks that is in its topic."""
    table.fill(ROWS)
    settings = table.connector(key__mode="primary_key")
    with table.driver(settings) as driver:
        driver.run(OneAfterTheOther())
    return table


def chunk_of(message: Message) -> str:
    return dict(message.headers() or ())["bf.chunk"].decode()


def tampered(table: Table, found: list[Message], changes: dict[int, bytes | None]) -> None:
    """The topic made anew with the same records, but those of `changes`: None leaves one out."""
    admin = TopicAdmin({"bootstrap.servers": table.kafka.bootstrap_servers})
    admin.delete([table.topic], Deadline.after(30))
    poll_until(
        lambda: table.topic not in admin.topics(Deadline.after(10)), deadline_s=30, waiting_for="no topic", fix=""
    )
    admin.create(table.topic, partitions=3, replication_factor=1, configs={}, deadline=Deadline.after(30))
    producer = Producer({"bootstrap.servers": table.kafka.bootstrap_servers})
    for number, message in enumerate(found):
        value = changes.get(number, message.value())
        if value is not None:
            producer.produce(
                table.topic, value, message.key(), partition=message.partition(), headers=list(message.headers() or ())
            )
    assert producer.flush(30) == 0


def test_what_was_tampered_with_is_found_and_its_chunk_is_named(copied: Table, tmp_path: Path) -> None:
    settings = copied.connector(key__mode="primary_key")
    with copied.driver(settings) as driver:
        good = verify(driver)
        assert (good.is_good, good.keys.records, good.keys.distinct) == (True, ROWS, ROWS)
        found = copied.records()
        first = {chunk: n for n, chunk in reversed(list(enumerate(map(chunk_of, found))))}
        lost, changed, *_ = first
        tampered(copied, found, {first[lost]: None, first[changed]: found[first[changed]].value() + b" "})
        verdict = verify(driver)
        assert {chunk.chunk for chunk in verdict.bad} == {lost, changed}
        by_name = {chunk.chunk: chunk for chunk in verdict.chunks}
        assert (by_name[lost].missing, by_name[lost].twice) == (1, 0)
        assert verdict.changed == [changed]
        assert "other content" in by_name[changed].finding
        assert f"{copied.topic}-" in by_name[changed].finding
        looked = verify(driver, sample=0.5)
        assert looked.looked_at == 2
        sampled = {chunk.chunk for chunk in looked.chunks if chunk.found is not None}
        assert {chunk.chunk for chunk in looked.bad} == {lost, changed} & sampled

        copied.run("DELETE FROM {t} WHERE id = 7")
        assert sum(chunk.gone for chunk in verify(driver).chunks) == 1, "the mark is as it was, the row is not"


def test_a_topic_that_was_made_anew_between_two_runs_stops_the_job(table: Table) -> None:
    table.fill(ROWS)

    class DiesBehindOneLane(OneAfterTheOther):
        def run(self, tasks: Sequence[LaneTask], _at_once: int) -> list[LaneReport]:
            run_lane(tasks[0])
            raise ConnectError("the machine is gone")

    with table.driver() as driver, pytest.raises(ConnectError, match="the machine is gone"):
        driver.run(DiesBehindOneLane())
    tampered(table, table.records(), dict.fromkeys(range(ROWS)))
    with table.driver() as driver, pytest.raises(ConnectError, match=rf"Topic {table.topic} was made anew"):
        driver.run(OneAfterTheOther())


def test_the_command_writes_all_three_reports_and_ends_with_1_where_something_is_wrong(
    copied: Table, tmp_path: Path
) -> None:
    worker, spec, config, page = (
        tmp_path / name for name in ("worker.properties", "job.yaml", "c.json", "report.html")
    )
    worker.write_text("".join(f"{key}={text}\n" for key, text in copied.worker_properties().items()))
    config.write_text(json.dumps({"name": copied.name, "config": copied.connector(key__mode="primary_key")}))
    spec.write_text(
        f"apiVersion: backfill/v1\nname: {copied.name}\nsource: {{connector: {copied.name}, config: c.json}}\n"
        f"engine: {{type: local}}\nchunking: {{rows: {PART}, lanes: 2}}\nstate: {{jobs_topic: {copied.name}-jobs}}\n"
    )
    call = ["verify", str(spec), "--worker", str(worker), "--html", str(page)]
    good = CliRunner().invoke(backfill, call)
    assert (good.exit_code, good.output.splitlines()[-1]) == (0, "good: 0 missing, 0 twice"), good.output
    assert "Every row is there once" in page.read_text()
    tampered(copied, copied.records(), {0: None})
    bad = CliRunner().invoke(backfill, [*call, "--json"])
    assert bad.exit_code == 1
    assert json.loads(bad.stdout)["missing"] == 1
    assert "1 of 4 chunks are not as they were written" in page.read_text()
