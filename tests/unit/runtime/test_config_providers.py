"""Checks placeholders of config providers: what is replaced, what is left, what is refused, and that no value is
shown.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.config import Config
from connect.api.errors import ConfigError, ConnectError
from connect.api.plugin import Plugin, PluginKind
from connect.lib.secrets import HIDDEN
from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_providers import (
    ConfigProviders,
    EnvConfig,
    EnvVarConfigProvider,
    Placeholder,
    config_providers,
    placeholders,
    replaced,
)
from connect.telemetry.secret_texts import SecretTexts

NAMES = "org.apache.kafka.common.config.provider."
ALL = {
    "config.providers": "file, env ,dir",
    "config.providers.file.class": NAMES + "FileConfigProvider",
    "config.providers.env.class": NAMES + "EnvVarConfigProvider",
    "config.providers.dir.class": NAMES + "DirectoryConfigProvider",
}


def providers(**params: str) -> ConfigProviders:
    """All three providers of a worker that lets connectors name any file; `file__allowed_paths` is the parameter
    `allowed.paths` of `file`.
    """
    given = {f"config.providers.{k.replace('__', '.param.').replace('_', '.')}": v for k, v in params.items()}
    return config_providers({**EVERYWHERE, **ALL, **given}, Catalog([]))


def one(resolver: ConfigProviders, text: str) -> str:
    return resolver.resolve({"k": text})["k"]


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.properties"
    path.write_text("# comment\nuser = scott\nword=t\\u00efger s3cret \nlong = a\\\n  b\nempty=\nnested=${env:HOME}\n")
    return path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("${file:/p:k}", [("file", "/p", "k")]),
        ("${env:A}", [("env", "", "A")]),
        ("a${x:y}b${p:q:r:s}c", [("x", "", "y"), ("p", "q", "r:s")]),
        ("${topic}-${timestamp}", []),
        ("$ {a:b} ${", []),
        ("${:}", [("", "", "")]),
    ],
)
def test_placeholders_are_found_as_java_finds_them(text: str, found: list[tuple[str, str, str]]) -> None:
    assert list(placeholders(text)) == found


def test_replacing_keeps_what_has_no_value_and_looks_into_no_value() -> None:
    values = {Placeholder("a", "", "k"): "${a:k2}", Placeholder("a", "", "k2"): "deep"}
    assert replaced("<${a:k}|${a:other}|${b:k}|${topic}>", values) == "<${a:k2}|${a:other}|${b:k}|${topic}>"


def test_a_properties_file_gives_its_keys(secrets: Path) -> None:
    text = "|".join(f"${{file:{secrets}:{k}}}" for k in ("user", "word", "long", "empty", "nested"))
    assert one(providers(), text) == "scott|tïger s3cret |ab||${env:HOME}"


def test_an_environment_variable_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONNECT_TEST_WORD", "s3cret")
    monkeypatch.delenv("CONNECT_TEST_NONE", raising=False)
    assert one(providers(), "${env:CONNECT_TEST_WORD}/${env:CONNECT_TEST_NONE}") == "s3cret/${env:CONNECT_TEST_NONE}"


def test_the_allowlist_must_match_whole_names() -> None:
    provider = EnvVarConfigProvider(
        EnvConfig.parse({"allowlist.pattern": "APP_.*"}), lambda: {"APP_A": "1", "MY_APP_A": "2"}
    )
    assert provider.get("", ["APP_A", "MY_APP_A"]) == {"APP_A": "1"}


def test_a_directory_gives_whole_files_through_links(tmp_path: Path) -> None:
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "word").write_bytes(b"s3cret\n")
    (tmp_path / "word").symlink_to("..data/word")  # as Kubernetes mounts secrets
    resolver = providers()
    assert one(resolver, f"${{dir:{tmp_path}:word}}") == "s3cret\n"
    for name in ("none", "..data", "../" + tmp_path.name + "/word", "..data/word", ""):
        text = f"${{dir:{tmp_path}:{name}}}"
        assert one(resolver, text) == text
    assert one(resolver, "${dir:/no/such/folder:word}") == "${dir:/no/such/folder:word}"


@pytest.mark.parametrize("text", ["${nope:x:y}", "${file:k}", "${file::k}", "plain", ""])
def test_what_nobody_knows_is_left_as_it_is(text: str) -> None:
    assert one(providers(), text) == text


def test_a_missing_key_is_left_as_it_is(secrets: Path) -> None:
    assert (
        one(providers(), f"a ${{file:{secrets}:none}} ${{file:{secrets}:user}}") == f"a ${{file:{secrets}:none}} scott"
    )


def test_only_allowed_paths_are_read(secrets: Path, tmp_path: Path) -> None:
    allowed, beside = tmp_path / "allowed", tmp_path / "allowed-not"
    for folder in (allowed, beside):
        folder.mkdir()
        (folder / "f").write_text("k=v")
    resolver = providers(file__allowed_paths=f"{allowed}, /usr", dir__allowed_paths=str(allowed))
    assert one(resolver, f"${{file:{allowed}/../allowed/f:k}}") == "v"
    assert one(resolver, f"${{dir:{allowed}:f}}") == "k=v"
    for text in (f"${{file:{allowed}/../secrets.properties:user}}", f"${{file:{beside}/f:k}}", f"${{dir:{beside}:f}}"):
        assert one(resolver, text) == text


def test_without_a_list_of_its_own_a_provider_reads_what_the_worker_allows_alone(secrets: Path, tmp_path: Path) -> None:
    inside = tmp_path / "allowed"
    inside.mkdir()
    (inside / "f").write_text("k=v")
    (inside / "link").symlink_to(secrets)
    resolver = config_providers({**ALL, "allowed.paths": str(inside)}, Catalog([]))
    assert one(resolver, f"${{file:{inside}/f:k}}${{dir:{inside}:f}}") == "vk=v"
    for path in (str(secrets), f"{inside}/link", f"{inside}/../secrets.properties"):
        with pytest.raises(ConfigError) as refused:
            one(resolver, f"${{file:{path}:user}}")
        assert f"add to the worker's own file: allowed.paths=…,{path} " in str(refused.value)
    with pytest.raises(ConfigError, match=r"allowed\.paths"):
        one(resolver, f"${{dir:{tmp_path}:secrets.properties}}")
    with pytest.raises(ConfigError, match=f"Configuration k: .*allowed.paths={secrets} "):
        one(config_providers(ALL, Catalog([])), f"${{file:{secrets}:user}}")


def test_a_link_in_a_providers_own_list_leads_to_what_is_listed_alone(secrets: Path, tmp_path: Path) -> None:
    inside = tmp_path / "allowed"
    inside.mkdir()
    (inside / "link").symlink_to(secrets)
    resolver = providers(file__allowed_paths=str(inside), dir__allowed_paths=str(inside))
    text = f"${{file:{inside}/link:user}}"
    assert one(resolver, text) == text
    with pytest.raises(ConfigError, match=r"allowed\.paths"):
        one(resolver, f"${{dir:{inside}:link}}")


def test_what_cannot_be_read_names_every_key_that_needs_it(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("a=1\nword=s3cret\\uzzzz\n")
    config = {"a": f"${{file:{tmp_path}/none:k}}", "b": f"x${{file:{broken}:word}}", "c": "${env:/p:k}", "d": "fine"}
    with pytest.raises(ConfigError) as caught:
        providers().resolve(config)
    messages = {p.key: p.message for p in caught.value.problems}
    assert set(messages) == {"a", "b", "c"}
    assert f"Could not read properties from file {tmp_path}/none: No such file or directory." in messages["a"]
    assert "line 2" in messages["b"]
    assert "Path is not supported for EnvVarConfigProvider, invalid value '/p'" in messages["c"]
    assert "s3cret" not in str(caught.value)


def test_wrong_settings_of_providers_are_named_all_at_once(tmp_path: Path) -> None:
    worker = {
        "config.providers": "a,b,c,d",
        "config.providers.a.class": "nope",
        "config.providers.b.class": "FileConfigProvider",
        "config.providers.b.param.allowed.paths": "relative/path",
        "config.providers.c.class": NAMES + "EnvVarConfigProvider",
        "config.providers.c.param.allowlist.pattern": "(",
    }
    with pytest.raises(ConfigError) as caught:
        config_providers(worker, Catalog([]))
    assert [p.key for p in caught.value.problems] == [
        "config.providers.a.class",
        "config.providers.b.param.allowed.paths",
        "config.providers.c.param.allowlist.pattern",
        "config.providers.d.class",
    ]


def test_a_value_given_is_hidden_in_texts_and_never_logged(
    secrets: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = SecretTexts()
    monkeypatch.setattr("connect.runtime.settings.config_providers.SECRET_TEXTS", known)
    caplog.set_level(logging.DEBUG)
    providers().resolve({"a": f"${{file:{secrets}:word}}", "b": f"${{file:{secrets}:user}}"})
    assert known.hide("password=tïger s3cret , user scott!") == f"password={HIDDEN}, user {HIDDEN}!"
    assert known.hide("io.scott, scott.yaml, scott-1") == "io.scott, scott.yaml, scott-1"
    assert "s3cret" not in caplog.text


class UpperProvider:
    """A provider as a plug-in."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        if path == "broken":
            raise ConnectError("The vault is sealed.")
        return {k: k.upper() for k in keys}


def test_a_plugin_may_bring_a_provider() -> None:
    plugin = Plugin(
        PluginKind.CONFIG_PROVIDER, "org.example.UpperConfigProvider", f"{__name__}:UpperProvider", Config, "1"
    )
    worker = {"config.providers": "up", "config.providers.up.class": "UpperConfigProvider"}
    resolver = config_providers(worker, Catalog([plugin]))
    assert one(resolver, "${up:a}${up:p:b}") == "AB"
    with pytest.raises(ConfigError, match="Configuration k: The vault is sealed"):
        one(resolver, "${up:broken:a}")


@pytest.mark.parametrize("text", ["${" + ":" * 2000, "${a:" * 100_000, "${" * 200_000, "${a:b" * 50_000 + "}"])
def test_no_text_takes_long_to_look_for_placeholders_in(text: str) -> None:
    began_s = time.process_time()
    assert len(list(placeholders(text))) <= 1
    assert replaced(text, {}) == text
    assert time.process_time() - began_s < 2


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("connection.password", "${file:{}:user}"), ("connection.url", "postgresql://u:${file:{}:user}@h/d"),
        ("connection.properties", "ssl=true;password=${file:{}:user}"),
    ],
)  # fmt: skip
def test_a_poor_password_that_stands_where_passwords_do_rewrites_no_other_word(
    key: str, text: str, secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = SecretTexts()
    monkeypatch.setattr("connect.runtime.settings.config_providers.SECRET_TEXTS", known)
    providers().resolve({key: text.replace("{}", str(secrets), 1)})
    assert known.hide("the connector scott of io.scott; password=scott") == (
        f"the connector scott of io.scott; password={HIDDEN}"
    )
