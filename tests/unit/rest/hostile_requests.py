"""Draws requests that cost as much as a client without rights can make them cost, over all keys of all plug-ins."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlencode

from connect.api.plugin import Plugin, PluginKind
from connect.plugins.catalog import CONNECTORS, Catalog

BODY_CHARS = (1 << 20) - 4096
SIZES = (3000, 7000, 60_000, 250_000)
"""Characters of a value: below and above what makes a configuration a large one, and nearly what one may have."""
TOKEN = "t" * 43
PARTS = (
    "a", "a,", ",", "a:b,", "9", "/a", "../", "./", "${topic}", "${file:a:b}", "'year'=YYYY/", "yyyy/",
    "(", "[", "{", "'", '"',
    "a=b;", "a=b&", "http://h:1,", "http://u:pa5s-w0rd@h/,", "u:p@h,", "%41", "%2541", "%", "\\", "a.", "é", "\n", " ",
    "a|", "(a|b)?", "[a-z]", "a-", "a_", "h:1,", "* ", "-----BEGIN ", "QUJD", "[::1]:1,",
    "a.b.c,", "1d", "a->b,", "#",
    "[hidden]",
    "password=", "password=x;", '{"token":"', "Bearer ", "--password x ", "Authorization: ", "jdbc:",
    "SELECT ", "1e", "[],",
)  # fmt: skip
HEADS = (
    "", "", "", "jdbc:postgresql://h/d?", "jdbc:sqlserver://h;", "http://h/?", "redis://h:1/", "SELECT ", "{",
    "-----BEGIN PRIVATE KEY-----",
)  # fmt: skip
_CHARS = BODY_CHARS
BODIES: Mapping[str, Callable[[], str]] = {
    "numbers": lambda: "[" + "1," * (_CHARS // 2) + "1]",
    "lists": lambda: "[" + "[]," * (_CHARS // 3) + "[]]",
    "a list without an end": lambda: "[" + "1e1," * (_CHARS // 4),
    "texts": lambda: '["' + '","' * (_CHARS // 3) + '"]',
    "depth": lambda: "[" * _CHARS,
    "keys": lambda: '{"config":{' + ",".join(f'"{n}":1' for n in range(_CHARS // 12)) + "}}",
    "escapes": lambda: '"' + "\\u0041" * (_CHARS // 6),
    "offsets": lambda: '{"offsets":[' + ",".join(['{"partition":{"a":1},"offset":{"b":1}}'] * (_CHARS // 40)) + "]}",
    "empty offsets": lambda: '{"offsets":[' + ",".join(["{}"] * (_CHARS // 3)) + "]}",
    "spaces": lambda: " " * _CHARS + "x",
    "lines": lambda: "\n" * _CHARS + "x",
    "an evaluation": lambda: '{"x":1,"connectors":[{"config":{' + '"a":"x",' * (_CHARS // 8) + '"b":"x"}}]}',
}


FORMS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("/ui/offsets", {"name": "stored", "do": "preview", "offsets": "[]", "seen": "1", "seen_offsets": "x"}),
    ("/ui/offsets", {"name": "stored", "do": "reset", "confirm": "x", "seen": "1", "seen_offsets": "x"}),
    ("/ui/letters", {"name": "stored", "do": "replay t/0/1", "seen": "1", "once": "x"}),
    ("/ui/connector", {"name": "stored", "do": "restart 0", "seen": "1", "once": "x"}),
    ("/ui/history", {"name": "stored", "do": "rollback 1", "seen": "1", "once": "x"}),
    ("/ui/backfill", {"name": "b", "do": "cancel", "confirm": "x"}),
)
"""Forms of pages, with fields that they know."""
SPEC_KEYS = ("name", "kind", "apiVersion", "mode", "where", "tables", "x")
_SPEC = {"apiVersion": "backfill/v1", "name": "b", "kind": "none"}


def offsets(size: int) -> str:
    """Return so many characters of offsets as a page takes them."""
    one = '{"partition":{"a":1},"offset":{"b":1}},'
    return f"[{one * (size // len(one))}{one[:-1]}]"


class Request(NamedTuple):
    """Holds what is sent. said: what a person has to know of it when it takes too long."""

    method: str
    path: str
    body: bytes
    said: str
    is_form: bool = False


class Attacker:
    """Draws requests. Each names a plug-in that is installed, or is a body that no plug-in sees."""

    def __init__(self, draw: random.Random, catalog: Catalog) -> None:
        self._draw = draw
        self._plugins = [
            (plugin, names) for plugin in catalog.plugins(*CONNECTORS, *_PREFIXES) if (names := _names(plugin))
        ]

    def request(self) -> Request:
        """Return one that is drawn."""
        if self._draw.random() < 0.2:
            return self._body()
        if self._draw.random() < 0.2:
            return self._filled()
        config, said = self._config()
        return self._draw.choice([_validate, _validate, _create, _save, _patch, _form, _evaluate])(config, said)

    def _filled(self) -> Request:
        """Return a form of a page, or the spec of a backfill, with one long field."""
        size = self._draw.choice(SIZES)
        head, part = self._draw.choice(HEADS), self._draw.choice(PARTS)
        value = (head + part * (size // len(part)))[:size]
        said = f"{head!r} and {part!r} up to {size} characters"
        path, fields = self._draw.choice(FORMS)
        if self._draw.random() < 0.3:
            key = self._draw.choice(SPEC_KEYS)
            spec = _SPEC | ({"source": {"connector": "a", key: value}} if self._draw.random() < 0.5 else {key: value})
            return Request("POST", "/backfills", json.dumps(spec).encode(), f"backfill with {said} in {key}")
        long = self._draw.choice(sorted(fields))
        sent = {**fields, long: self._draw.choice([value, offsets(size)]), "token": TOKEN}
        return Request("POST", path, urlencode(sent).encode(), f"form of {path} with {said} in {long}", is_form=True)

    def _body(self) -> Request:
        name = self._draw.choice(sorted(BODIES))
        method, path = self._draw.choice([
            ("POST", "/connectors"), ("PATCH", "/connectors/stored/offsets"), ("PATCH", "/connectors/stored/config"),
            ("PUT", "/connector-plugins/FileStreamSource/config/validate"), ("POST", "/poc"),
            ("PUT", "/admin/loggers/root"),
        ])  # fmt: skip
        return Request(method, path, BODIES[name]().encode(), f"a body of {name}")

    def _config(self) -> tuple[dict[str, str], str]:
        plugin, names = self._draw.choice(self._plugins)
        size = self._draw.choice(SIZES)
        head, part = self._draw.choice(HEADS), self._draw.choice(PARTS)
        prefix, listed = _PREFIXES.get(plugin.kind, ("", {}))
        keys = self._draw.sample(names, min(len(names), self._draw.choice([1, 1, 3])))
        base = {**_NEEDED, "connector.class": plugin.name}
        if prefix:
            base = {**_FILE, **listed, _class_key(plugin.kind, prefix): plugin.name}
        if self._draw.random() < 0.1:
            return self._aliases(), "200 transforms"
        value = (head + part * (size // len(part)))[: size // len(keys)]
        said = f"{plugin.name}: {head!r} and {part!r} up to {size} characters in {', '.join(keys)}"
        return base | {prefix + key: value for key in keys}, said

    def _aliases(self) -> dict[str, str]:
        names = [plugin.name for plugin, _ in self._plugins if plugin.kind is PluginKind.TRANSFORMATION]
        aliases = [f"t{number}" for number in range(200)]
        chosen = self._draw.choice(names)
        return {**_FILE, "transforms": ",".join(aliases)} | {f"transforms.{alias}.type": chosen for alias in aliases}


_FILE = {"connector.class": "FileStreamSource", "topic": "t"}
_NEEDED = {"topics": "t", "name": "drawn"}
_PREFIXES: dict[PluginKind, tuple[str, dict[str, str]]] = {
    PluginKind.TRANSFORMATION: ("transforms.a.", {"transforms": "a"}),
    PluginKind.PREDICATE: ("predicates.a.", {"predicates": "a"}),
    PluginKind.CONVERTER: ("value.converter.", {}),
    PluginKind.HEADER_CONVERTER: ("header.converter.", {}),
}


def _class_key(kind: PluginKind, prefix: str) -> str:
    return f"{prefix}type" if kind in {PluginKind.TRANSFORMATION, PluginKind.PREDICATE} else prefix.rstrip(".")


def _names(plugin: Plugin) -> list[str]:
    return [d.name for d in plugin.config.definitions() if not d.from_worker]


def _validate(config: dict[str, str], said: str) -> Request:
    path = f"/connector-plugins/{quote(config['connector.class'])}/config/validate?notes=true"
    return Request("PUT", path, json.dumps({**config, "name": "drawn"}).encode(), f"validate {said}")


def _create(config: dict[str, str], said: str) -> Request:
    body = {"name": "drawn", "config": {**config, "name": "drawn"}, "initial_state": "STOPPED"}
    return Request("POST", "/connectors?dry_run=true", json.dumps(body).encode(), f"dry run of {said}")


def _save(config: dict[str, str], said: str) -> Request:
    return Request(
        "PUT", "/connectors/stored/config", json.dumps({**config, "name": "stored"}).encode(), f"save {said}"
    )


def _patch(config: dict[str, str], said: str) -> Request:
    return Request(
        "PATCH",
        "/connectors/stored/config?dry_run=true",
        json.dumps({**config, "name": "stored"}).encode(),
        f"patch {said}",
    )


def _form(config: dict[str, str], said: str) -> Request:
    text = json.dumps({**config, "name": "drawn"}, ensure_ascii=False)
    fields = {"name": "drawn", "config": text, "seen": "new", "do": "check", "token": TOKEN}
    return Request("POST", "/ui/edit", urlencode(fields).encode(), f"form with {said}", is_form=True)


def _evaluate(config: dict[str, str], said: str) -> Request:
    """Return an evaluation that is refused for its last member, so that none begins."""
    body = {"connectors": [{"name": "drawn", "config": config}], "options": {"none": True}}
    return Request("POST", "/poc", json.dumps(body).encode(), f"evaluation of {said}")


def requests(draw: random.Random, catalog: Catalog) -> Iterator[Request]:
    """Yield requests without an end."""
    attacker = Attacker(draw, catalog)
    while True:
        yield attacker.request()
