"""Runs the black-box REST suite that Apache Kafka Connect 4.1 passes, unchanged, against two workers of ours.

The suite is `tests/conformance`. It runs once, in a pytest of its own, while two real workers share one fresh broker;
each of its files is a test here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from e2e_worker import WorkerProcess

from connect.api.allowed_paths import EVERYWHERE
from connect.tools.services import KafkaEndpoint

ROOT = Path(__file__).resolve().parents[3]
SUITE = ROOT / "tests" / "conformance"
FILES = sorted(path.stem for path in SUITE.glob("test_*.py"))
GROUP = "conformance"
LIMIT_S = 900
"""For the whole suite; a quiet machine needs a tenth of it."""
SHOWN_CHARACTERS = 1500
WORKER = {
    **EVERYWHERE, "offset.flush.interval.ms": "1000", "exactly.once.source.support": "disabled",
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "slots": "60", "offset.storage.partitions": "25", "status.storage.partitions": "5",
}  # fmt: skip

pytestmark = pytest.mark.timeout(LIMIT_S + 180)


@pytest.fixture(scope="module")
def outcomes(
    kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, list[ET.Element]]]:
    """The suite's test cases by file."""
    folder = tmp_path_factory.mktemp("conformance")
    workers = [WorkerProcess(folder / f"worker-{n}", kafka.bootstrap_servers, GROUP, **WORKER) for n in (1, 2)]
    try:
        for worker in workers:
            worker.start()
        yield run_suite(folder, kafka.bootstrap_servers, [worker.url for worker in workers])
    finally:
        for worker in workers:
            worker.stop()


def run_suite(folder: Path, bootstrap_servers: str, urls: list[str]) -> Mapping[str, list[ET.Element]]:
    report = folder / "report.xml"
    argv = [sys.executable, "-B", "-m", "pytest", str(SUITE), "-q", "--tb=short",
            "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:xdist",
            "--junit-xml", str(report), "--basetemp", str(folder / "files")]  # fmt: skip
    environ = {
        "CONFORMANCE_PROFILE": "ours", "CONFORMANCE_TIMEOUT": "120", "KAFKA_BOOTSTRAP": bootstrap_servers,
        "CONNECT_URL": urls[0], "CONNECT_URL2": urls[1], "CONNECT_GROUP_ID": GROUP,
        "CONNECT_CONFIG_TOPIC": f"{GROUP}-configs", "CONNECT_OFFSET_TOPIC": f"{GROUP}-offsets",
        "CONNECT_STATUS_TOPIC": f"{GROUP}-status",
    }  # fmt: skip
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        argv, cwd=SUITE, env=inherited | environ, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert report.exists(), f"the suite did not run: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    cases = defaultdict(list)
    for case in ET.parse(report).iter("testcase"):
        cases[(case.get("classname") or case.get("name", "")).split(".")[0]].append(case)
    return cases


@pytest.mark.parametrize("file", FILES)
def test_each_file_of_the_black_box_suite_passes(file: str, outcomes: Mapping[str, list[ET.Element]]) -> None:
    cases = outcomes.get(file, [])
    assert cases, f"{file} ran no test; files that did: {sorted(outcomes)}"
    failures = [(case.get("name"), found) for case in cases for found in (*case.iter("failure"), *case.iter("error"))]
    skipped = [found for case in cases for found in case.iter("skipped")]
    if len(skipped) == len(cases):
        pytest.skip(f"{file}: {skipped[0].text or skipped[0].get('message')}")
    text = "\n".join(f"{name}:\n{(found.text or '')[-SHOWN_CHARACTERS:]}" for name, found in failures)
    assert not failures, f"{len(failures)} of {len(cases)} tests of {file} failed\n{text}"
