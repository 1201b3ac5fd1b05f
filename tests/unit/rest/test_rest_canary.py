"""No secret of any installed plug-in is in an answer: each declared one, each URL, names that sound like secrets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest
from drawn_cases import quick_first
from memory_cluster import MemoryOperations
from rest_client import ServerMaker

from connect.api.allowed import ConfigType
from connect.api.plugin import Plugin, PluginKind
from connect.plugins.catalog import CONNECTORS, Catalog

CANARY = "c4n4ry-s3cr3t-v4lue"
PEM = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----"
USER, PARAMETER = "http://u:{}@h/", "jdbc:postgresql://h/d?user=u&sslpassword={}&a=b"
NESTED = (
    "u:{}@h:5432/d", "ssl=true;password={};x=1", '{{"user": "u", "password": "{}"}}', "a:1,Authorization:Bearer {}",
    'org.X required username="u" password="{}";', "https://h/p?a=b&access_token={}", "user=u password={}",
)  # fmt: skip
"""Where secrets stand inside of texts whose key says nothing of them."""
ANY_NESTED = "one of these"
BASE = {"connector.class": "FileStreamSource", "file": "f", "topic": "t"}
UNDECLARED = (
    "connection.pwd", "db.pass", "x.auth", "azure.sas", "hub.connection.string", "request.header.Authorization",
    "producer.override.ssl.key.pem", "producer.override.sasl.oauthbearer.config", "producer.override.sasl.jaas.config",
    "admin.override.sasl.oauthbearer.client.credentials.client.secret", "consumer.override.ssl.keystore.key",
)  # fmt: skip
_HEADS = {
    PluginKind.TRANSFORMATION: ({"transforms": "a"}, "transforms.a.", "type"),
    PluginKind.PREDICATE: ({"predicates": "a"}, "predicates.a.", "type"),
    PluginKind.CONVERTER: ({}, "value.converter", ""),
    PluginKind.HEADER_CONVERTER: ({}, "header.converter", ""),
}


def _head(plugin: Plugin) -> tuple[dict[str, str], str]:
    """A connector that uses the plug-in, and the prefix of the plug-in's keys."""
    if plugin.kind in CONNECTORS:
        return {"connector.class": plugin.name, "topics": "t"}, ""
    more, prefix, last = _HEADS[plugin.kind]
    return {**BASE, **more, prefix + last: plugin.name}, prefix if last else f"{prefix}."


def _values(plugin: Plugin, prefix: str, form: str) -> Iterator[tuple[str, str]]:
    """Keys of a plug-in with a secret in each; `form`: what a text looks like that has one inside."""
    for d in plugin.config.definitions():
        if d.type is ConfigType.PASSWORD:
            yield prefix + d.name, "{}"
        elif d.has_credentials or (form != PARAMETER and d.type in {ConfigType.STRING, ConfigType.LIST}):
            yield prefix + d.name, form
        elif form == ANY_NESTED:
            yield prefix + d.name, form  # what was pasted into the wrong place
    for key in UNDECLARED:
        yield key if key.count(".override.") else prefix + key, "{}"
    yield prefix + "what.ever", PEM
    for number, nested in enumerate(NESTED):
        yield f"{prefix}what.else.{number}", nested


def _cases() -> Iterator[tuple[str, dict[str, str]]]:
    for plugin in Catalog.installed().plugins(*CONNECTORS, *_HEADS):
        head, prefix = _head(plugin)
        has_urls = any(d.has_credentials for d in plugin.config.definitions())
        for form in [USER, *([PARAMETER] if has_urls else []), *([ANY_NESTED] if plugin.kind in CONNECTORS else [])]:
            nested = itertools.cycle(NESTED)
            given = [(key, next(nested) if text == ANY_NESTED else text) for key, text in _values(plugin, prefix, form)]
            secrets = {key: text.format(f"{CANARY}-{key}") for key, text in given}
            yield f"{plugin.kind} {plugin.name}", {**head, **secrets}


@pytest.fixture(scope="module")
def cases() -> list[tuple[str, dict[str, str]]]:
    return list(_cases())


def test_there_are_secrets_to_look_for(cases: list[tuple[str, dict[str, str]]]) -> None:
    hidden = {(name.rpartition(".")[2], key) for name, config in cases for key in config if CANARY in config[key]}
    assert hidden >= {
        ("JdbcSourceConnector", "connection.password"),
        ("JdbcSourceConnector", "connection.url"),
        ("S3SinkConnector", "store.url"),
        ("Redact$Value", "transforms.a.hash.salt"),
        ("AvroConverter", "value.converter.bearer.auth.issuer.endpoint.url"),
        ("FileStreamSourceConnector", "producer.override.ssl.key.pem"),
    }


@pytest.mark.parametrize("part", quick_first(1, of=4))
def test_no_answer_shows_a_secret_of_any_plug_in(
    serve: ServerMaker, hosted: MemoryOperations, cases: list[tuple[str, dict[str, str]]], part: int
) -> None:
    rest = serve(hosted, plugins=Catalog.installed())
    leaks = []
    for number, (plugin, config) in enumerate(cases[part::4]):
        name = f"c{number}"
        given = {**config, "name": name}
        # Past validation, as what another worker has stored.
        for note in ("old", "new"):
            rest.operations.connectors.save(
                name, {**given, "note": note, "other": f"http://u:{CANARY}-{note}@h"}
            ).result()
        ways = {
            "validate": rest("PUT", f"/connector-plugins/{config['connector.class']}/config/validate", given),
            "create": rest("POST", "/connectors", {"name": "d", "config": {**config, "tasks.max": "x"}}),
            "preview": rest("PUT", f"/connectors/{name}/config?dry_run=true", given),
            "config": rest("GET", f"/connectors/{name}/config"),
            "history": rest("GET", f"/connectors/{name}/history"),
            "info": rest("GET", f"/connectors/{name}"),
            "tasks": rest("GET", f"/connectors/{name}/tasks"),
        }
        for way, answer in ways.items():
            leaks += [f"{plugin} in {way}: {found}" for found in re.findall(rf"{CANARY}[-.\w]*", answer.text)]
        read = ways["config"].json()
        assert "[hidden]" in read["other"]
        again = rest("PUT", f"/connectors/{name}/config?dry_run=true", read).json()
        assert again["changes"] == {"added": {}, "changed": {}, "removed": {}}
    everything = rest("GET", "/connectors?expand=info&expand=status").text + rest("GET", "/metrics").text
    assert leaks == []
    assert CANARY not in everything
