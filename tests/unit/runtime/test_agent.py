"""Checks agents: they are found by name, hidden from workers, and never started with settings that are wrong."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from connect.api.config import ConnectorConfig, String, key
from connect.api.errors import ConfigError, ConnectError
from connect.api.plugin import Plugin, PluginKind
from connect.cli.agent import read_agent_file
from connect.plugins.catalog import CONNECTORS, Catalog
from connect.runtime.host.agent import Agent, agent_plugin
from connect.runtime.host.agent_metrics import AgentFigures, AgentMetrics, MetricsAddress
from connect.runtime.settings.worker_config import WorkerConfig


class NodeConfig(ConnectorConfig):
    folder: String = key("folder", doc="Where to read.")


AGENT = Plugin(
    kind=PluginKind.AGENT, name="com.example.NodeAgent", aliases=("node",), factory="nowhere:Node", config=NodeConfig,
    version="1",
)  # fmt: skip
WORKER = WorkerConfig.parse(
    {
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": "k", "value.converter": "v",
    }
)  # fmt: skip


@pytest.mark.parametrize("name", ["node", "com.example.NodeAgent", "NodeAgent", "Node"])
def test_an_agent_is_found_by_its_names(name: str) -> None:
    assert agent_plugin(Catalog([AGENT]), name) is AGENT


def test_a_name_that_is_none_tells_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"There is no agent nodes\. There are: com\.example\.NodeAgent, node\."):
        agent_plugin(Catalog([AGENT]), "nodes")


def test_a_worker_does_not_run_an_agent() -> None:
    catalog = Catalog([AGENT])
    assert catalog.plugins(*CONNECTORS) == []
    with pytest.raises(ConnectError, match="Failed to find any class that implements Connector"):
        catalog.connector("node")


def test_settings_that_are_wrong_are_said_before_it_starts() -> None:
    with pytest.raises(ConfigError, match='Missing required configuration "folder"'):
        Agent(AGENT, WORKER, Catalog([AGENT]), {"name": "n"})


def test_an_agents_file_is_what_a_connectors_is(tmp_path: Path) -> None:
    file = tmp_path / "agent.json"
    file.write_text(json.dumps({"name": "n", "config": {"folder": "/x", "port": 9042, "none": None}}))
    assert read_agent_file(file, "db", {"folder": "/y"}) == {"name": "n", "folder": "/y", "port": "9042"}
    for wrong in ("{", "[]", '{"name": "n"}', '{"name": 7, "config": {}}'):
        file.write_text(wrong)
        with pytest.raises(ConfigError, match=r"agent\.json .*config"):
            read_agent_file(file, "db")


def test_an_agent_of_a_file_without_a_name_is_named_after_its_host(tmp_path: Path) -> None:
    file = tmp_path / "agent.json"
    file.write_text('{"config": {"folder": "/x"}}')
    assert read_agent_file(file, "db") == {"name": f"db-{socket.gethostname()}", "folder": "/x"}
    assert read_agent_file(file, "db", {"name": "n"})["name"] == "n"


def scraped(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def test_an_agent_tells_its_figures_under_a_workers_names() -> None:
    figures = {"polled_rows_total": 3.0, "cdc_raw_alarm": 2.0}
    metrics = AgentMetrics(lambda: AgentFigures("node-1", "running", figures), {"version": "1"})
    port = metrics.serve(MetricsAddress("127.0.0.1", 0))
    try:
        text = scraped(port)
        assert 'kafka_connect_task_polled_rows_total{connector="node-1",task="0"} 3.0' in text
        assert 'kafka_connect_task_cdc_raw_alarm{connector="node-1",task="0"} 2.0' in text
        assert 'kafka_connect_connector_status{connector="node-1",status="running"} 1.0' in text
        assert "process_resident_memory_bytes" in text
        figures["polled_rows_total"] = 4.0
        assert "polled_rows_total{" in scraped(port)
        assert 'task="0"} 4.0' in scraped(port)
        with pytest.raises(
            ConfigError, match=f"cannot be served at 127.0.0.1:{port}: port {port} is taken.*give --metrics"
        ):
            AgentMetrics(lambda: AgentFigures("n", "running", {}), {}).serve(MetricsAddress("127.0.0.1", port))
    finally:
        metrics.close()
    with pytest.raises(urllib.error.URLError):
        scraped(port)


@pytest.mark.parametrize(
    ("text", "address"),
    [("9404", ("127.0.0.1", 9404)), ("0.0.0.0:9404", ("0.0.0.0", 9404)), ("[::1]:9404", ("::1", 9404))],
)
def test_an_address_of_metrics(text: str, address: tuple[str, int]) -> None:
    assert MetricsAddress.parse(text) == address


@pytest.mark.parametrize("text", ["", "host", "host:", "1:99999", "1:-1"])
def test_what_is_no_address_is_said(text: str) -> None:
    with pytest.raises(ConfigError, match="is no address"):
        MetricsAddress.parse(text)
