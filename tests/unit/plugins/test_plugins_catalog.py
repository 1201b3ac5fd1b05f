"""Checks the catalog: names, versions, broken entry points, lazy loading."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from connect.api.config import Config
from connect.api.errors import ConnectError
from connect.api.plugin import ENTRY_POINT_GROUP, Plugin, PluginKind
from connect.plugins.catalog import CONNECTORS, Catalog, version_key
from connect.plugins.extras import pip_line
from connect.plugins.java_connectors import java_connectors


class Empty(Config):
    """No keys."""


def declared(
    name: str, kind: PluginKind = PluginKind.SOURCE, version: str = "1.0", aliases: tuple[str, ...] = ()
) -> Plugin:
    return Plugin(kind=kind, name=name, factory="json:loads", config=Empty, version=version, aliases=aliases)


def entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str) -> EntryPoint:
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    return EntryPoint(name, name, ENTRY_POINT_GROUP)


GOOD = """
from connect.api.config import Config
from connect.api.plugin import Plugin, PluginKind, hookimpl

@hookimpl
def connect_plugins():
    name = "example.GoodSinkConnector"
    return [Plugin(kind=PluginKind.SINK, name=name, factory="{factory}", config=Config, version="1")]
"""


@pytest.mark.parametrize("name", ["a.b.FooConnector", "FooConnector", "Foo", "old.FooSource", "FooSource"])
def test_a_connector_is_found_by_every_name_it_has(name: str) -> None:
    catalog = Catalog([declared("a.b.FooConnector", aliases=("old.FooSource",))])
    found = catalog.find(name, PluginKind.SOURCE)
    assert found is not None
    assert found.name == "a.b.FooConnector"


@pytest.mark.parametrize(
    ("kind", "full", "short"),
    [
        (PluginKind.CONVERTER, "x.JsonConverter", "Json"),
        (PluginKind.HEADER_CONVERTER, "x.SimpleHeaderConverter", "Simple"),
        (PluginKind.PREDICATE, "x.GoodPredicate", "Good"),
        (PluginKind.TRANSFORMATION, "x.BestTransformation", "Best"),
    ],
)
def test_the_suffix_of_a_kind_may_be_left_out(kind: PluginKind, full: str, short: str) -> None:
    found = Catalog([declared(full, kind)]).find(short, kind)
    assert found is not None
    assert found.name == full


@pytest.mark.parametrize("name", ["HoistField", "HoistField$Value", "Value"])
def test_nested_classes_have_no_short_name(name: str) -> None:
    assert Catalog([declared("a.HoistField$Value", PluginKind.TRANSFORMATION)]).find(name) is None


def test_an_ambiguous_short_name_finds_nothing_and_the_full_name_does() -> None:
    catalog = Catalog([declared("a.FooConnector"), declared("b.FooConnector")])
    assert catalog.find("Foo", PluginKind.SOURCE) is None
    found = catalog.find("b.FooConnector", PluginKind.SOURCE)
    assert found is not None
    assert found.name == "b.FooConnector"


def test_a_full_name_wins_over_another_plugins_short_name() -> None:
    found = Catalog([declared("FooConnector"), declared("b.FooConnector")]).find("FooConnector")
    assert found is not None
    assert found.name == "FooConnector"


def test_a_name_of_another_kind_is_not_found() -> None:
    assert Catalog([declared("a.FooConnector")]).find("a.FooConnector", PluginKind.SINK) is None


def test_the_newest_version_wins() -> None:
    catalog = Catalog([declared("a.Foo", version=v) for v in ("1.9", "1.10", "1.10-rc1")])
    assert [p.version for p in catalog.versions("a.Foo")] == ["1.9", "1.10-rc1", "1.10"]
    found = catalog.find("a.Foo")
    assert found is not None
    assert found.version == "1.10"


def test_versions_sort_by_number_and_release_after_candidate() -> None:
    texts = [f"9{'0' * 5000}", "1.10.1", "1.10", "2", "1.9", "1.10-rc2", "1.10-rc1"]
    assert sorted(texts, key=version_key) == ["1.9", "1.10-rc1", "1.10-rc2", "1.10", "1.10.1", "2", texts[0]]
    assert version_key("1.010") == version_key("1.10")


def test_an_unknown_connector_names_those_there_are() -> None:
    with pytest.raises(ConnectError) as caught:
        Catalog([declared("a.FooConnector")]).connector("Bar")
    assert caught.value.message.startswith(
        "Failed to find any class that implements Connector and which name matches Bar, available connectors are: "
        "PluginDesc{klass=class a.FooConnector, name='a.FooConnector', version='1.0'"
    )


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import no_such_driver", "ModuleNotFoundError: No module named 'no_such_driver'"),
        ("x = 1", "TypeError: the module has no function connect_plugins"),
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
        (GOOD.format(factory="nowhere"), "ValueError: factory of example.GoodSinkConnector is 'nowhere'"),
        (GOOD.format(factory="a:b").replace("return [", "return [1, "), "TypeError: connect_plugins gave a int"),
        (GOOD.format(factory="a:b").replace("config=Config", "config=dict"), "TypeError: config of example.Good"),
    ],
)
def test_a_broken_entry_point_is_listed_and_harms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, error: str, unique_module: str
) -> None:
    good = entry_point(tmp_path, monkeypatch, unique_module + "_good", GOOD.format(factory="json:loads"))
    bad = entry_point(tmp_path, monkeypatch, unique_module + "_bad", source)

    catalog = Catalog.from_entry_points([bad, good])

    assert [p.name for p in catalog.plugins()] == ["example.GoodSinkConnector"]
    (broken,) = catalog.broken()
    assert broken.name == bad.name
    assert broken.error.startswith(error)


@pytest.fixture
def unique_module(request: pytest.FixtureRequest) -> str:
    return f"plugins_catalog_{abs(hash(request.node.name))}"


def test_load_imports_what_the_factory_names() -> None:
    import json

    assert Catalog.load(declared("a.Foo")) is json.loads


@pytest.mark.parametrize("factory", ["no_such_module_at_all:x", "json:no_such_name"])
def test_load_says_what_is_missing(factory: str) -> None:
    plugin = Plugin(kind=PluginKind.SOURCE, name="a.Foo", factory=factory, config=Empty, version="1")
    with pytest.raises(ConnectError, match=r"Plug-in a\.Foo cannot be loaded"):
        Catalog.load(plugin)


def test_listing_the_installed_plugins_imports_no_driver_and_no_settings() -> None:
    code = (
        "import sys; from connect.plugins.catalog import Catalog; Catalog.installed().plugins();"
        "heavy = {'pyarrow', 'polars', 'sqlalchemy', 'obstore', 'pyspark', 'confluent_kafka', 'aiohttp'};"
        "own = {name for name in sys.modules if name.startswith('connectors.') and 'onfig' in name};"
        "print(sorted(heavy & set(sys.modules) | own))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_settings_that_are_named_are_found() -> None:
    installed = Catalog.installed().plugins()
    named = [plugin for plugin in installed if plugin.config.definitions() is not None]
    assert len(named) == len(installed) > 100


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("no_such_module_at_all:x", "'no_such_module_at_all:x' cannot be imported: ModuleNotFoundError"),
        ("json:no_such_name", "'json:no_such_name' cannot be imported: AttributeError"),
        ("json:loads", "'json:loads' are <function loads"),
    ],
)
def test_settings_that_are_named_wrongly_are_told_when_they_are_used(named: str, told: str) -> None:
    plugin = Plugin(kind=PluginKind.SOURCE, name="a.Foo", factory="json:loads", config=named, version="1")
    assert Catalog([plugin]).find("Foo") is plugin
    with pytest.raises(ConnectError, match=re.escape(f"The settings {told}")):
        _ = plugin.config


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("io.debezium.connector.sqlserver.SqlServerConnector", "mode=timestamp+incrementing"),
        ("org.apache.kafka.connect.mirror.MirrorCheckpointConnector", "bin/connect-mirror-maker.sh"),
        ("com.mongodb.kafka.connect.MongoSinkConnector", "a Java Connect cluster with a group.id"),
        ("com.acme.OrdersConnector", "Java Connect cluster with a group.id and internal topics of its own"),
        ("Oders", None),
        ("connectors.jdbc.JdbcSorce", "Is connectors.jdbc.JdbcSource meant?"),
        ("io.confluent.connect.jdbc.JdbcSourceConector", "Is io.confluent.connect.jdbc.JdbcSourceConnector meant?"),
        ("FileStreamSourceConector", "Is org.apache.kafka.connect.file.FileStreamSourceConnector meant?"),
        ("SqlServerConector", "Is io.debezium.connector.sqlserver.SqlServerConnector meant? io.debezium.connector."),
    ],
)
def test_what_to_do_about_a_class_that_is_not_here_comes_before_the_list_of_plugins(
    name: str, told: str | None
) -> None:
    with pytest.raises(ConnectError) as caught:
        Catalog.installed().connector(name)
    first, java, _ = str(caught.value).partition("Failed to find any class that implements Connector")
    assert java
    assert told in first if told else not first


def test_every_class_that_is_said_to_run_is_installed_and_no_other_one() -> None:
    catalog = Catalog.installed()
    for name, answer in java_connectors().classes.items():
        found = catalog.find(name, *CONNECTORS)
        assert (found is not None) == (answer.kind == "runs as"), f"{name}: {answer.kind}"


def test_a_short_name_goes_on_to_mean_its_connector_whatever_others_are_added() -> None:
    catalog = Catalog.installed()
    names = {name for plugin in catalog.plugins(*CONNECTORS) for name in (plugin.name, *plugin.aliases)}
    shorts = {name.rpartition(".")[2] for name in names}
    of_several = {"ElasticsearchSinkConnector", "HttpSinkConnector", "RedisSinkConnector"}
    assert {short for short in shorts if catalog.find(short, *CONNECTORS) is None} == of_several
    for short in ("JdbcSinkConnector", "JdbcSink"):
        assert catalog.connector(short).name == "io.confluent.connect.jdbc.JdbcSinkConnector"


def test_the_connectors_that_people_are_sent_to_are_installed() -> None:
    catalog = Catalog.installed()
    named = [
        word.strip(".;:,")
        for answer in java_connectors().classes.values()
        if answer.kind == "use instead"
        for word in answer.told.split()
        if word.strip(".;:,").endswith("Connector")
    ]
    assert named
    assert not [name for name in named if catalog.find(name, *CONNECTORS) is None]


def test_a_driver_that_is_missing_is_named_with_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = Catalog.installed().connector("JdbcSourceConnector")
    for name in [name for name in sys.modules if name.startswith(("connectors.jdbc.", "sqlalchemy."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(ConnectError) as caught:
        Catalog.load(plugin)
    assert "Run: pip install 'connect-for-kafka[jdbc]'" in str(caught.value)


def test_what_no_extra_brings_is_not_guessed() -> None:
    assert pip_line("quite_unknown") is None
    assert pip_line("google.cloud.bigquery") == "pip install 'connect-for-kafka[bigquery]'"
