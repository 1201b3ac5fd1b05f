"""Checks on a real worker that the connector goes on after its backfill, with no row missing, doubled or
overwritten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from backfill_job import OneAfterTheOther, Table
from click.testing import CliRunner
from e2e_worker import WorkerProcess, wait_for

from connect.api.errors import ConfigError, ConnectError
from connect.backfill.driver import Driver
from connect.backfill.handover import ConnectorsByRest, hand_over
from connect.backfill.job.states import JobState
from connect.cli.backfill import backfill
from connect.client.rest import Access, ConnectClient
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint

ROWS = 1200
MODES: Mapping[str, Mapping[str, str]] = {
    "incrementing": {},
    "timestamp": {"mode": "timestamp", "timestamp.column.name": "ts"},
    "both": {"mode": "timestamp+incrementing", "timestamp.column.name": "ts"},
    "at least once": {"exactly.once.support": "requested"},
}


class Cluster:
    """A worker whose settings a backfill has, too."""

    def __init__(self, process: WorkerProcess, kafka: KafkaEndpoint) -> None:
        self.process = process
        self.client = ConnectClient(Access(process.url))
        self.worker = WorkerConfig.parse(dict(process.properties))

    def type_handover(self, table: Table, folder: Path) -> str:
        """Type the command with the name of the table's job; return what it prints."""
        file = folder / "worker.properties"
        file.write_text("".join(f"{key}={text}\n" for key, text in self.process.properties.items()))
        options = ["--worker", str(file), "--jobs-topic", f"{table.name}-jobs", "--url", self.process.url]
        done = CliRunner().invoke(backfill, ["handover", table.name, *options])
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    def job(self, table: Table, settings: Mapping[str, str], **parts: object) -> Driver:
        return Driver(table.spec(**parts), self.worker, settings)


@pytest.fixture(scope="module")
def cluster(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, "backfill-handover")
    process.start()
    yield Cluster(process, kafka)
    process.stop()


def handed_over(driver: Driver, cluster: Cluster) -> None:
    hand_over(driver, ConnectorsByRest(cluster.client), Deadline.after(60))


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_come_during_and_after_a_backfill_come_by_the_connector(
    table: Table, cluster: Cluster, mode: str, tmp_path: Path
):
    table.fill(ROWS)
    settings = table.connector() | {"exactly.once.support": "required"} | MODES[mode]
    cluster.client.create(table.name, settings, "STOPPED")
    during = "INSERT INTO {t} (name) SELECT 'during ' || s FROM generate_series(1, 50) s"
    with cluster.job(table, settings) as driver:
        driver.begin()
        table.run(during)
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
        handed_over(driver, cluster)
    # Called again, it writes nothing: a handover that died goes on.
    with cluster.job(table, settings) as driver:
        handed_over(driver, cluster)
        assert driver.ownership.require_known().state is JobState.DONE
    told = cluster.type_handover(table, tmp_path)
    assert f"backfill {table.name} was handed over before" in told
    assert ("began at" in told, "goes on" in told) == (True, False)
    table.run(during)
    everything = Counter(range(1, ROWS + 101))
    wait_for(lambda: Counter(table.ids()).keys() == everything.keys(), 60, "the rows of the connector")
    assert Counter(table.ids()) == everything
    streamed = [message for message in table.records() if not message.headers()]
    assert len(streamed) == 100, "what was backfilled was not read again"
    cluster.client.delete(table.name)


def test_offsets_that_exist_are_not_overwritten_unless_the_spec_says_so(table: Table, cluster: Cluster):
    table.fill(ROWS)
    settings = table.connector()
    cluster.client.create(table.name, settings, "STOPPED")
    partition = {"protocol": "1", "table": f"public.{table.name}"}
    cluster.client.alter_offsets(table.name, [{"partition": partition, "offset": {"incrementing": 7}}])
    with cluster.job(table, settings) as driver:
        driver.run(OneAfterTheOther())
        with pytest.raises(ConfigError, match=r"has offsets already.*incrementing.*7"):
            handed_over(driver, cluster)
    assert cluster.client.offsets(table.name)[0]["offset"] == {"incrementing": 7}
    with cluster.job(table, settings, handover={"overwrite": True, "start_connector": False}) as driver:
        handed_over(driver, cluster)
    assert cluster.client.offsets(table.name)[0]["offset"] == {"incrementing": ROWS}
    assert cluster.client.status(table.name)["connector"]["state"] == "STOPPED"
    cluster.client.delete(table.name)


@pytest.mark.parametrize("is_old", [False, True])
def test_an_offset_of_a_table_that_was_empty_is_refused_and_goes_where_the_spec_says_so(
    table: Table, cluster: Cluster, is_old: bool
):
    table.fill(10)
    table.run("CREATE TABLE {t}_b (id BIGINT PRIMARY KEY)")
    settings = table.connector(table__whitelist=f"{table.name},{table.name}_b")
    cluster.client.create(table.name, settings, "STOPPED")
    # Confluent's older connectors stored offsets by the table's bare name.
    partition = {"table": f"{table.name}_b"} if is_old else {"protocol": "1", "table": f"public.{table.name}_b"}
    cluster.client.alter_offsets(table.name, [{"partition": partition, "offset": {"incrementing": 7}}])
    with cluster.job(table, settings) as driver:
        driver.run(OneAfterTheOther())
        with pytest.raises(ConfigError, match=rf"has offsets already.*{table.name}_b.*incrementing.*7"):
            handed_over(driver, cluster)
    with cluster.job(table, settings, handover={"overwrite": True, "start_connector": False}) as driver:
        handed_over(driver, cluster)
    (left,) = cluster.client.offsets(table.name)
    assert (left["partition"]["table"], left["offset"]) == (f"public.{table.name}", {"incrementing": 10})
    cluster.client.delete(table.name)


def test_a_connector_that_is_not_stopped_keeps_its_offsets(table: Table, cluster: Cluster):
    table.fill(10)
    settings = table.connector(topic__prefix="other-")
    cluster.client.create(table.name, settings, "PAUSED")
    with cluster.job(table, settings) as driver:
        with pytest.raises(ConnectError, match="There is no backfill"):
            handed_over(driver, cluster)
        driver.run(OneAfterTheOther())
        with pytest.raises(ConnectError, match="is PAUSED"):
            handed_over(driver, cluster)
    cluster.client.delete(table.name)
    with cluster.job(table, settings) as driver, pytest.raises(ConnectError, match="There is no connector"):
        handed_over(driver, cluster)
