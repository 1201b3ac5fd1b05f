"""The container files name what is in the repository, and the workers' command lines are accepted by a worker."""

import re
import tomllib
from pathlib import Path

import yaml

from connect.cli.shared.overrides import parse_overrides
from connect.cluster.worker_file import read_worker_file
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services.kafka import KAFKA_VERSION

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
WORKERS = {name: service for name, service in COMPOSE.items() if name.startswith("worker")}


def test_what_the_image_installs_and_copies_is_there():
    given = re.findall(r"EXTRAS=([a-z0-9,-]+)", DOCKERFILE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(given) == 2
    assert {extra for extras in given for extra in extras.split(",")} <= set(project["optional-dependencies"])
    copied = [words.split()[:-1] for words in re.findall(r"^COPY ([^-].*)$", DOCKERFILE, re.MULTILINE)]
    missing = [path for paths in copied for path in paths if not (ROOT / path).exists()]
    assert len(copied) == 6
    assert not missing


def test_a_worker_takes_the_command_of_each_service():
    (image_file,) = re.findall(r"^COPY (\S+) (/etc/connect/\S+)$", DOCKERFILE, re.MULTILINE)
    assert len(WORKERS) == 2
    for name, service in WORKERS.items():
        file, *options = service["command"]
        assert file == image_file[1]
        overrides = parse_overrides(option.removeprefix("--set=") for option in options)
        given = read_worker_file(ROOT / image_file[0], overrides)
        config = WorkerConfig.parse(given.properties)
        assert config.rest_advertised_host_name == name
        assert config.bootstrap_servers == ("kafka:9093",)
        assert [port.rpartition(":")[2] for port in service["ports"]] == ["8083"]


def test_the_brokers_are_of_the_version_that_the_tests_run():
    assert COMPOSE["kafka"]["image"] == f"apache/kafka:{KAFKA_VERSION}"
    inside = COMPOSE["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(",")[0]
    assert inside == "INSIDE://kafka:9093"
