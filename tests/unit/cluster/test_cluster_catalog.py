import pytest

from connect.api.config import ConnectorConfig
from connect.api.plugin import Capability, Plugin, PluginKind
from connect.cluster.loop.connector_catalog import InstalledConnectors
from connect.cluster.loop.herder_parts import with_placeholders
from connect.plugins.catalog import Catalog
from connect.runtime.calls.connector_answers import too_many_tasks


@pytest.fixture
def connectors():
    alterable = frozenset({Capability.OFFSETS_ALTERABLE})
    return InstalledConnectors(
        Catalog(
            [
                Plugin(
                    PluginKind.SOURCE, "org.x.FooSourceConnector", "m:a", ConnectorConfig, "1.2", capabilities=alterable
                ),
                Plugin(PluginKind.SINK, "org.x.FooSinkConnector", "m:a", ConnectorConfig, "1.3"),
            ]
        )
    )


@pytest.mark.parametrize("name", ["org.x.FooSourceConnector", "FooSourceConnector", " FooSource "])
def test_a_connector_is_found_by_any_of_its_names(connectors, name):
    config = {"connector.class": name}
    assert connectors.kind(config) == "source"
    assert connectors.version(config) == "1.2"
    assert connectors.task_class(config) == "org.x.FooSourceTask"
    assert connectors.keeps_no_offsets(config)


def test_an_unknown_class_is_no_error(connectors):
    for config in ({}, {"connector.class": "Bar"}):
        assert connectors.kind(config) == "unknown"
        assert connectors.version(config) is None
        assert connectors.task_class(config) is None
        assert not connectors.keeps_no_offsets(config)


def test_placeholders_stand_again_in_task_configurations():
    connector = {"password": "${file:/s:db}", "url": "jdbc:x"}
    assert with_placeholders([{"password": "hush", "url": "jdbc:y", "n": "0"}], connector) == [
        {"password": "${file:/s:db}", "url": "jdbc:y", "n": "0"}
    ]


@pytest.mark.parametrize(
    ("config", "count", "wrong"),
    [
        ({"tasks.max": "2"}, 2, False),
        ({"tasks.max": "2"}, 3, True),
        ({}, 2, True),
        ({"tasks.max.enforce": "false"}, 9, False),
    ],
)
def test_tasks_max_is_enforced_unless_told_otherwise(config, count, wrong):
    assert (too_many_tasks("c", config, count) is not None) == wrong
