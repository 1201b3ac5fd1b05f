"""Holds, by name, the requests that cost a worker most, as somebody without rights sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlencode

STORED: Final = "large"
"""This connector's configuration is as large as is allowed, and its history as long."""
VERSIONS: Final = 20
_CHARS: Final = 250_000
_SOURCE: Final = {"connector.class": "FileStreamSource", "topic": "t"}
_ALIASES: Final = tuple(f"t{number}" for number in range(200))
_TRANSFORMED: Final = {
    **_SOURCE, "transforms": ",".join(_ALIASES),
    **{f"transforms.{alias}.type": "org.apache.kafka.connect.transforms.InsertField$Value" for alias in _ALIASES},
}  # fmt: skip
_PARTS: Final = {
    "connector.class": "S3SinkConnector", "topics": "t", "s3.bucket.name": "b", "flush.size": "1",
    "store.url": "http://127.0.0.1:1", "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner", "locale": "en",
    "timezone": "UTC", "partition.duration.ms": "1000", "path.format": "yyyy/MM/dd/" * 8000,
}  # fmt: skip
_SEARCHED: Final = ("u:p@h,", "password=x;", "http://u:pa5s-w0rd@h/,", "password=%25%25")
_TOKEN: Final = "t" * 43


def stored() -> Iterator[dict[str, str]]:
    """Yield its configurations, one after the other.

    Each has much to search for secrets: escapes of escapes, in values that are too short for the cache of searched
    texts.
    """
    for version in range(VERSIONS):
        value = (f"password{version}=" + "%25" * 6000)[:16_000]
        yield {**_SOURCE, **{f"x{number}": value for number in range(15)}}


def dear_requests() -> Mapping[str, list[bytes]]:
    """Return requests by what the worker does for them: it checks a configuration, reads a body, or answers."""
    judged = [_TRANSFORMED, _PARTS, *({**_SOURCE, "x": (part * _CHARS)[:_CHARS]} for part in _SEARCHED)]
    forms = [{"config": json.dumps(config), "name": "d", "seen": "new", "do": "check"} for config in judged]
    typed = {"name": STORED, "do": "preview", "offsets": _offsets(), "seen": "1", "seen_offsets": "x"}
    return {
        "configurations": [
            *(_validates(config) for config in judged), *(_form("/ui/edit", form) for form in forms),
            *(_validates({**_SOURCE, "x": (part * 7000)[:7000]}) for part in _SEARCHED),
        ],
        "bodies": [
            *(_json("POST", path, text) for path in ("/connectors", "/poc") for text in _TEXTS),
            _json("PATCH", f"/connectors/{STORED}/offsets", f'{{"offsets":{_offsets()}}}'),
            _form("/ui/offsets", typed),
        ],
        "reads": [*map(_get, _READS)],
        "live pages": [*map(_get, _LIVE)],
    }  # fmt: skip


_ONE: Final = f"name={STORED}"
_READS: Final = (
    "/connectors?expand=info&expand=status&notes=true", f"/connectors/{STORED}", f"/connectors/{STORED}/config",
    f"/connectors/{STORED}/history", f"/connectors/{STORED}/why", "/metrics", "/openapi.json", "/flow", "/doctor",
    "/connector-plugins?connectorsOnly=false", "/connector-plugins/JdbcSinkConnector/config", "/ui", f"/ui/edit?{_ONE}",
    f"/ui/history?{_ONE}", f"/ui/connector?{_ONE}", f"/ui/offsets?{_ONE}", "/ui/plugins", "/ui/flow", "/ui/doctor",
)  # fmt: skip
_LIVE: Final = ("/ui/live/overview", f"/ui/live/connector?{_ONE}", "/ui/live/flow")
_MIB: Final = (1 << 20) - 4096
_TEXTS: Final = (
    '["' + '","' * (_MIB // 3) + '"]', "[" * _MIB, '"' + "\\u0041" * (_MIB // 6) + '"', "\n" * _MIB + "x",
    "[" + "1," * 29_000 + "9" * (_MIB - 60_000) + "]",
    '{"config":{' + ",".join(f'"{number:0>30}":1' for number in range(29_000)) + "}}",
)  # fmt: skip


def _offsets() -> str:
    return json.dumps([{"partition": {"a": number}, "offset": {"b": 1}} for number in range(14_000)])


def _validates(config: Mapping[str, str]) -> bytes:
    path = f"/connector-plugins/{config['connector.class']}/config/validate?notes=true"
    return _json("PUT", path, json.dumps({**config, "name": "d"}))


def _form(path: str, fields: Mapping[str, str]) -> bytes:
    body = urlencode({**fields, "token": _TOKEN})
    return _sent("POST", path, body, f"Content-Type: application/x-www-form-urlencoded\r\nCookie: connect-ui={_TOKEN}")


def _get(path: str) -> bytes:
    return _sent("GET", path, "", "Accept: */*")


def _json(method: str, path: str, text: str) -> bytes:
    return _sent(method, path, text, "Content-Type: application/json")


def _sent(method: str, path: str, text: str, headers: str) -> bytes:
    body = text.encode()
    always = "Host: localhost\r\nConnection: close"
    return f"{method} {path} HTTP/1.1\r\n{always}\r\n{headers}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
