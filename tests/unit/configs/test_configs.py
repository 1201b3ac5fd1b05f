"""Every file in configs/ is one that works: parsed as a user's would be, no key broken, no key unknown."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from string import Template

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.config import Config
from connect.cli.agent import read_agent_file
from connect.cluster.validation.check import Validator
from connect.cluster.worker_file import read_worker_file
from connect.lib.nearest import nearest
from connect.plugins.catalog import Catalog
from connect.runtime.host.agent import agent_plugin
from connect.runtime.settings.worker_config import WorkerConfig

FOLDER = Path(__file__).parents[3] / "configs"
WORKERS = sorted([*FOLDER.glob("worker-*.yaml"), *FOLDER.glob("*.properties")])
AGENTS = sorted((FOLDER / "agents").glob("*.json"))
CONNECTORS = sorted(set(FOLDER.rglob("*.json")) - set(AGENTS))
FILLED_IN = {
    "DATABASE_URL": "sqlite:////var/lib/shop/x.db", "FOLDER": "/var/lib/shop",
    "S3_URL": "http://127.0.0.1:8333", "S3_BUCKET": "lake",
    "BIGQUERY_PROJECT": "shop-1", "BIGQUERY_DATASET": "orders",
    "S3_ACCESS_KEY_ID": "a", "S3_SECRET_ACCESS_KEY": "b", "BIGQUERY_KEYFILE": "/etc/connect/bigquery-key.json",
    "BIGQUERY_URL": "http://127.0.0.1:9050", "BIGQUERY_STORAGE": "127.0.0.1:9060",
    "CASSANDRA_HOST": "127.0.0.1", "CASSANDRA_PORT": "9042",
}  # fmt: skip


def test_there_are_example_files_to_check():
    assert WORKERS
    assert CONNECTORS
    assert AGENTS


@pytest.mark.parametrize("file", WORKERS, ids=lambda f: f.name)
def test_a_worker_file_is_valid(file):
    config = WorkerConfig.parse(read_worker_file(file).properties)
    assert config.config_storage_topic
    known = [definition.name for definition in WorkerConfig.definitions()]
    assert [name for name in WorkerConfig.unknown_keys(config.originals) if nearest(name, known)] == []


@pytest.mark.parametrize("file", CONNECTORS, ids=lambda f: str(f.relative_to(FOLDER)))
def test_a_connector_file_is_valid(file):
    connector = json.loads(Template(file.read_text()).safe_substitute(FILLED_IN))
    assert set(connector) == {"name", "config"}
    worker = WorkerConfig.parse(read_worker_file(FOLDER / "worker-standalone.yaml").properties)
    infos = Validator(Catalog.installed(), worker).validate({**connector["config"], "name": connector["name"]})
    assert infos.error_count == 0, infos.message()


@pytest.mark.parametrize("file", CONNECTORS, ids=lambda f: str(f.relative_to(FOLDER)))
def test_every_key_of_a_connector_file_is_known(file):
    catalog = Catalog.installed()
    config = json.loads(file.read_text())["config"]
    plugin = catalog.connector(config["connector.class"])
    known: type[Config] = plugin.config
    framework = ("connector.class", "tasks.max", "topics", "transforms", "predicates", "offset.flush.interval.ms")
    prefixes = ("errors.", "key.", "value.", "producer.override.", "consumer.override.", "exactly.once.", "connection.")
    own = [k for k in config if k not in framework and not k.startswith(prefixes)]
    assert [*known.unknown_keys(own)] == []


@pytest.mark.parametrize("file", AGENTS, ids=lambda f: f.name)
def test_an_agents_file_is_valid_and_its_keys_are_known(file, tmp_path):
    catalog = Catalog.installed()
    plugin = agent_plugin(catalog, file.stem)
    config = read_agent_file(file, file.stem)
    given = {**config, "cassandra.yaml": str(tmp_path / "cassandra.yaml")}
    (tmp_path / "cassandra.yaml").write_text("cdc_enabled: true\ncdc_raw_directory: /var/lib/cassandra/cdc_raw\n")
    plugin.config.parse({**given, **EVERYWHERE})
    assert [*plugin.config.unknown_keys(set(config) - {"name"})] == []


def test_systemd_knows_all_that_the_unit_says(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("THE UNIT IS NOT READ BY SYSTEMD: systemd-analyze is not installed.")
    program, unit = tmp_path / "connect", tmp_path / "agent.service"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = (FOLDER / "agents/connect-agent-cassandra.service").read_text()
    for given, said in ((text, ""), (text.replace("MemoryMax=", "MemoryMost="), "Unknown key 'MemoryMost'")):
        unit.write_text(given.replace("/opt/connect/bin/connect", str(program)))
        ran = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, timeout=60, check=True)
        # systemd-analyze names a key that it does not know, and still ends with exit code 0.
        assert (said in ran.stderr, bool(ran.stderr)) == (True, bool(said)), ran.stderr


def test_the_unit_of_systemd_starts_the_agent_with_limits(monkeypatch):
    from click.testing import CliRunner

    from connect.cli.agent import agent

    text = (FOLDER / "agents/connect-agent-cassandra.service").read_text().replace("\\\n", "")
    unit = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    assert {"CPUQuota", "MemoryMax", "Restart", "User", "ProtectSystem"} <= unit.keys()
    connect, command, *arguments = unit["ExecStart"].split()
    assert (connect, command) == ("/opt/connect/bin/connect", "agent")
    started: list[object] = []
    monkeypatch.setattr(agent, "callback", lambda **given: started.append((given["name"], given["metrics"])))
    assert CliRunner().invoke(agent, arguments).output == ""
    assert started == [("cassandra", "0.0.0.0:9404")]
