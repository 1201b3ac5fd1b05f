"""The Helm chart's own files agree with each other and with the worker; what Helm makes of them, `make chaos` tells."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from connect.cluster.worker_file import read_worker_file, worker_config
from connect.plugins.catalog import Catalog

REPOSITORY = Path(__file__).parents[3]
CHART = REPOSITORY / "docker" / "helm"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())

pytestmark = pytest.mark.quick


def test_the_schema_names_every_value():
    schema = json.loads((CHART / "values.schema.json").read_text())

    def check(values: dict, properties: dict, where: str) -> None:
        assert values.keys() <= properties.keys(), f"{where}: {values.keys() - properties.keys()}"
        for name, value in values.items():
            if isinstance(value, dict) and "properties" in properties[name]:
                check(value, properties[name]["properties"], f"{where}.{name}")

    check(VALUES, schema["properties"], "values")


def test_the_chart_is_of_this_version():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    assert (chart["version"], str(chart["appVersion"])) == (version, version)


def test_a_worker_takes_the_keys_of_the_values(tmp_path):
    file = tmp_path / "worker.properties"
    more = {"bootstrap.servers": "kafka:9092", "group.id": "g", "config.storage.topic": "g-configs",
            "offset.storage.topic": "g-offsets", "status.storage.topic": "g-status"}  # fmt: skip
    file.write_text("".join(f"{key}={value}\n" for key, value in {**more, **VALUES["worker"]}.items()))
    given = read_worker_file(file, {})
    assert not given.notes
    config = worker_config(given.properties, Catalog.installed())
    assert config.group_id == "g"
