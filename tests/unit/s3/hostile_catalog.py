"""A catalogue of Iceberg's REST API over real HTTP that answers what a test wants, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class HostileCatalog:
    """`config`: of /v1/config. `table`: changes of the answer to a table. `redirect`: where every request is sent."""

    config: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    table_config: dict[str, str] = field(default_factory=dict)
    after_commit: dict[str, str] = field(default_factory=dict)
    redirect: str = ""
    url: str = ""
    asked: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)

    def answer(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        if path.startswith("/v1/config"):
            return 200, {"defaults": {}, "overrides": {}, **self.config}
        if path.endswith("/tables/orders"):
            properties = {} if method == "GET" else self.after_commit
            return 200, self._table(properties)
        return 200, {"namespaces": [], "identifiers": [], "namespace": ["lake"], "properties": {}}

    def _table(self, properties: dict[str, str]) -> dict[str, Any]:
        metadata = {
            "format-version": 2, "table-uuid": str(uuid.UUID(int=7)), "location": "s3://lake/topics/orders",
            "last-updated-ms": 1, "last-column-id": 1, "current-schema-id": 0, "default-spec-id": 0,
            "last-partition-id": 999, "default-sort-order-id": 0, "last-sequence-number": 0,
            "schemas": [{
                "type": "struct", "schema-id": 0,
                "fields": [{"id": 1, "name": "n", "type": "long", "required": False}],
            }],
            "partition-specs": [{"spec-id": 0, "fields": []}], "sort-orders": [{"order-id": 0, "fields": []}],
            **self.metadata,
        }  # fmt: skip
        metadata["properties"] = {**metadata.get("properties", {}), **properties}
        return {
            "metadata-location": f"{metadata['location']}/metadata/0.json", "metadata": metadata,
            "config": self.table_config,
        }  # fmt: skip


@contextmanager
def served(catalog: HostileCatalog) -> Iterator[HostileCatalog]:
    """The catalogue, answering at `catalog.url`."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            catalog.asked.append((self.command, self.path, dict(self.headers)))
            status, body = (302, {}) if catalog.redirect else catalog.answer(self.command, self.path)
            data = json.dumps(body).encode()
            self.send_response(status)
            if catalog.redirect:
                self.send_header("Location", catalog.redirect + self.path)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_HEAD = do_PUT = _serve  # noqa: N815 - named by the library

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        catalog.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield catalog
        finally:
            http.shutdown()
            thread.join()
