"""Draws requests that a page of another site has a browser send, and checks the worker's answers.

The model is simple. Under a name that is not the worker's, a page reads nothing. Under the worker's own name it changes
nothing, and the browser does not let it read. The model does not know how the worker tells pages apart.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import requests

from connect.rest.app import ROUTES as REST
from connect.rest.figures import peers
from connect.rest.server.routing import Route
from connect.rest.ui import site

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PARTS: Final = {"name": "somebody", "task": "0", "version": "1", "logger": "root", "plugin": "FileStreamSource"}
_CONFIG: Final = {"connector.class": "FileStreamSource", "topic": "planted"}
_BODIES: Final = (
    json.dumps({"name": "planted", "config": _CONFIG}), json.dumps(_CONFIG), '{"level":"TRACE"}', "", "{}",
    '{"offsets":[{"partition":{"filename":"x"},"offset":null}]}', "name=somebody&action=stop&token=x",
    "name=planted&connector.class=FileStreamSource&topic=planted",
)  # fmt: skip
_KINDS: Final = (
    None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json",
    "APPLICATION/JSON; charset=utf-8", "text/plain; application/json", "application/json, text/plain", "",
)  # fmt: skip
_MORE: Final = {
    "X-Requested-With": "page", "X-HTTP-Method-Override": "DELETE", "X-Forwarded-Host": "localhost",
    "Forwarded": "host=localhost", "Access-Control-Request-Method": "DELETE",
}  # fmt: skip


@dataclass(frozen=True)
class PageRequest:
    """Holds one request of a foreign page."""

    method: str
    path: str
    is_rebound: bool
    """The page has a name of its own that leads to the worker, if this is True."""

    body: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def send(self, url: str) -> requests.Response:
        """Send the request, and read only the head of the answer."""
        with requests.request(
            self.method, f"{url}{self.path}", headers=dict(self.headers), data=self.body.encode(), timeout=60,
            stream=True, allow_redirects=False,
        ) as answer:  # fmt: skip
            return answer

    def require_refused(self, answer: requests.Response) -> None:
        """Fail if the answer changes or reveals something that no foreign page may change or read."""
        granted = [name for name in answer.headers if name.lower().startswith("access-control-allow")]
        assert not granted, f"{self}: {granted}"
        if self.is_rebound or self.method not in READS:
            assert answer.status_code == 403, f"{self}: {answer.status_code}"
        else:
            assert answer.status_code < 500, f"{self}: {answer.status_code}"


def routes() -> list[Route]:
    """Return every route of REST and of the UI's pages."""
    return [*REST, *peers.ROUTES, *site.ROUTES]


def drawn(route: Route, host: str, draw: random.Random) -> PageRequest:
    """Return a request to a route of the worker that is at `host`, an address with a port."""
    address, _, port = host.partition(":")
    is_rebound = draw.random() < 0.3
    method = route.method if draw.random() < 0.8 else draw.choice(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    if is_rebound:
        host = draw.choice([
            "evil.example", f"evil.example:{port}", f"{address}.evil.example:{port}", f"localhost.evil.example:{port}",
            f"{address}-evil.example:{port}", f"notlocalhost:{port}", f"EVIL.example.:{port}",
        ])  # fmt: skip
        headers = {"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin", "Referer": f"http://{host}/x"}
    else:
        evil = draw.choice([
            "http://evil.example", "https://evil.example:8443", "null", "", f"http://{address}", f"http://{address}:1",
            f"http://{host}.evil.example", f"http://evil.example:{port}", f"http://{host}@evil.example", "file://",
            f"http://localhost:{port}", "chrome-extension://abcdef", "http://[", f"http://{host[:-1]}",
        ])  # fmt: skip
        headers = {"Origin": evil, "Sec-Fetch-Site": draw.choice(["cross-site", "same-site"]),
                   "Referer": f"{evil if '://' in evil else 'http://evil.example'}/page?of={host}"}  # fmt: skip
    # One of these headers must be enough, as browsers, proxies and pages may leave out others.
    kept = draw.choice([("Origin",), ("Sec-Fetch-Site",), ("Referer",), tuple(headers)])
    sent = {name: text for name, text in headers.items() if name in kept}
    kind = draw.choice(_KINDS)
    more = {"Host": host, **({} if kind is None else {"Content-Type": kind})}
    more |= {name: text for name, text in _MORE.items() if draw.random() < 0.3}
    path = route.path
    for part in path.split("{")[1:]:
        name = part.partition("}")[0]
        path = path.replace(f"{{{name}}}", _PARTS.get(name, "somebody"))
    asked = "?name=somebody" if path.startswith("/ui") else draw.choice(["", "?force=true", "?includeTasks=true"])
    return PageRequest(method, f"{path}{asked}", is_rebound, draw.choice(_BODIES), sent | more)
