"""Checks that executors which have nothing but the archive of the environment can run a backfill."""

from __future__ import annotations

import shutil
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from backfill_job import Table
from click.testing import CliRunner
from spark_cluster import SPARK

from connect.backfill.engines.spark import SparkEngine
from connect.backfill.job.states import JobState
from connect.cli.backfill import backfill
from connect.tools.services import KafkaEndpoint

ROWS = 2000
MOST_MB = 250


@pytest.fixture
def clean_work() -> Iterator[None]:
    """A local cluster's executors unpack the archive below Spark's own folder, and leave it there."""
    work = SPARK / "work"
    before = set(work.glob("*"))
    yield
    for left in set(work.glob("*")) - before:
        shutil.rmtree(left)


@pytest.mark.chaos
@pytest.mark.usefixtures("clean_work")
def test_executors_that_see_only_the_archive_move_a_table(
    table: Table, kafka: KafkaEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.fill(ROWS)
    archive = tmp_path / "env.tar.gz"
    made = CliRunner().invoke(backfill, ["package", str(archive), "--extra", "jdbc-postgres"])
    assert made.exit_code == 0, made.output
    assert archive.stat().st_size < MOST_MB * 10**6
    with tarfile.open(archive) as held:
        names = set(held.getnames())
    assert [name for name in names if name.endswith("/site-packages/connect/backfill/lane.py")]
    assert not [
        name for name in names if "/pyspark/" in name or "site-packages/pytest/" in name or "__editable__" in name
    ]

    for name in ("PYSPARK_PYTHON", "PYTHONPATH", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    engine = {
        "type": "spark", "master": "local-cluster[2,1,1024]", "python_env": str(archive),
        "conf": {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1",
                 "spark.driver.bindAddress": "127.0.0.1"},
    }  # fmt: skip
    with table.driver(engine=engine) as driver:
        made_engine = SparkEngine(driver.spec.engine, driver.spec.name)
        with made_engine.session() as session:

            def place(batches):  # by value, as nothing of these tests is in the archive
                import sys

                import pyarrow as pa

                from connect.backfill.lane import lane

                told = f"{sys.executable} {lane.__file__}"
                yield pa.record_batch([pa.array([told])], names=["told"])

            (told,) = session.range(1).repartition(1).mapInArrow(place, "told string").collect()
            assert "/env/bin/python" in told.told
            assert "/env/lib/python" in told.told, "it is not the tree of these tests"
            job = driver.run(made_engine)
        assert job.state is JobState.COPIED
        assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
