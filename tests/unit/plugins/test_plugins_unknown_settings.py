"""Nobody but who uses a plug-in is kept from an answer because the plug-in names its settings wrongly."""

from __future__ import annotations

import pytest

from connect.api.errors import ConnectError
from connect.api.plugin import Plugin, PluginKind
from connect.cluster.validation.converter_notes import converter_notes
from connect.doctor.gathering.reach_facts import named_things
from connect.plugins.asked_addresses import asked_addresses
from connect.plugins.catalog import Catalog
from connect.poc.evaluation import worker_settings
from connect.runtime.settings.config_secrets import secret_keys, secret_texts

FOREIGN = [
    Plugin(kind=kind, name=f"org.example.Foreign{kind.name.title()}", factory="json:loads", config=named, version="1")
    for kind, named in ((PluginKind.CONVERTER, "no_such_module_at_all:x"), (PluginKind.SOURCE, "json:no_such_name"))
]
CATALOG = Catalog([*Catalog.installed().plugins(), *FOREIGN])
CONFIG = {"connector.class": "org.example.ForeignSource", "password": "hunter2", "connection.url": "https://db"}
"""Is the configuration of a connector that uses such a plug-in, and is in each list of connectors."""


def test_a_connector_with_another_converter_hears_of_its_own_unknown_key() -> None:
    (told,) = converter_notes(CATALOG, {"value.converter": "JsonConverter", "value.converter.schemas.enabel": "false"})
    assert "Is value.converter.schemas.enable meant?" in told


def test_a_sandbox_has_the_settings_that_plugins_leave_to_the_worker() -> None:
    assert worker_settings(CATALOG, {"key.converter": "K"}, [CONFIG]) == {"key.converter": "K"}


def test_answers_with_the_connectors_own_configuration_hide_its_secrets_by_their_names() -> None:
    assert secret_keys(CATALOG, CONFIG) == {"password"}
    assert "hunter2" in secret_texts(CATALOG, CONFIG)
    assert asked_addresses(CATALOG, CONFIG) == ""
    assert {thing.key for thing in named_things(CATALOG, CONFIG)}.isdisjoint({"connection.url", "password"})


def test_who_uses_the_plugin_hears_what_is_wrong() -> None:
    for plugin in FOREIGN:
        assert plugin.found_config is None
        with pytest.raises(ConnectError, match="cannot be imported"):
            _ = plugin.config
