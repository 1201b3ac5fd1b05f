"""Hosts are those that the worker lists: as they are written, with ports, by patterns and networks."""

from __future__ import annotations

import re

import pytest

from connect.api.allowed_hosts import AllowedHosts
from connect.api.allowed_paths import EVERYWHERE
from connect.api.config import Config, ListOf, Password, String, key
from connect.api.errors import ConfigError
from connect.api.reach import Reach
from connect.runtime.settings.worker_config import WorkerConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
}  # fmt: skip
LISTED = "db.example.com:5432,*.store.example,10.1.0.0/16,[::1]:9000,registry,fd00::/8"


class Named(Config):
    """Names hosts in each form."""

    url: String = key("url", "http://default.example", doc="A URL.", reach=Reach.URL)
    hosts: ListOf = key("hosts", ("default",), doc="Hosts.", reach=Reach.HOST)
    secret: Password = key("secret", "", doc="A URL with a password in it.", reach=Reach.URL)


def refused(value: str, listed: str = LISTED) -> bool:
    return bool([*AllowedHosts.by({"allowed.hosts": listed}).problems([("k", value)])])


@pytest.mark.parametrize(
    "value",
    [
        "db.example.com:5432", "postgresql://u:p@DB.example.com:5432/x", "https://a.b.store.example/x?y=z", "10.1.2.3",
        "http://10.1.255.255:8080", "http://[::1]:9000", "[::1]:9000", "registry", "registry.:1", "registry:1,10.1.0.9",
        "http://registry:8081,https://registry:8082", "",
        "fd00::5", "http://[fd00::5]:9000",
    ],
)  # fmt: skip
def test_what_is_listed_may_be_named(value: str) -> None:
    assert not refused(value)


@pytest.mark.parametrize(
    "value",
    [
        "db.example.com", "db.example.com:5433", "store.example", "x.store.example.evil", "10.2.0.1", "::1",
        "[::1]:9001", "fe80::1",
        "registry.evil", "http://registry@evil", "http://evil/registry", "http://registry:1@evil:2", "registry,evil",
        "http://", "http://[", "http://evil\\@registry", "http://registry evil", "//", "0x0a010203", "167837955",
    ],
)  # fmt: skip
def test_what_is_not_listed_may_not(value: str) -> None:
    assert refused(value)


def test_without_a_list_any_host_may_be_named_and_none_in_the_strict_profile() -> None:
    assert AllowedHosts.by({}).are_all
    assert AllowedHosts.by({"security.profile": "standard"}).are_all
    assert AllowedHosts.by({"security.profile": "strict", "allowed.hosts": "*"}).are_all
    assert AllowedHosts.by({"security.profile": "strict", **EVERYWHERE}).are_all
    for none in ({"security.profile": "strict"}, {"allowed.hosts": ""}, {"security.profile": " strict "}):
        assert [*AllowedHosts.by(none).problems([("k", "localhost")])]


def test_each_key_that_names_a_host_is_judged_by_the_workers_list_alone() -> None:
    given = {
        "url": "http://evil:1",
        "hosts": "registry,other:2",
        "secret": "http://u:s3cret@evil",
        "allowed.hosts": "*",
    }
    with pytest.raises(ConfigError) as caught:
        Named.parse(Named.with_leave(given, {"security.profile": "strict", "allowed.hosts": "registry"}))
    told = {problem.key: problem.message for problem in caught.value.problems}
    assert told.keys() == {"url", "hosts", "secret"}
    assert told["hosts"] == (
        "Invalid value for configuration hosts: this worker lets no configuration name the host other:2. Where it "
        "should, add to the worker's own file: allowed.hosts=…,other:2."
    )
    assert "s3cret" not in str(caught.value)
    assert Named.parse(Named.with_leave({"hosts": "registry"}, {"allowed.hosts": "registry"})).hosts == ("registry",)
    assert Named.parse(Named.with_leave({}, {"allowed.hosts": ""})).url == "http://default.example"  # nobody named it


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("allowed.hosts", "http://x", "'http://x' is no name, address or network"),
        ("allowed.hosts", "db/8", "'db/8' is no name"),
        ("allowed.hosts", "10.0.0.0/99", "'10.0.0.0/99' is no name"),
        ("security.profile", "very strict", "security.profile"),
    ],
)
def test_the_workers_file_lists_what_can_fit(key: str, value: str, told: str) -> None:
    assert WorkerConfig.parse({**WORKER, "allowed.hosts": LISTED, "security.profile": "strict"}).allowed_hosts
    with pytest.raises(ConfigError, match=re.escape(told)):
        WorkerConfig.parse({**WORKER, key: value})
