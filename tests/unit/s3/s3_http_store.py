"""Serves as a store over plain HTTP that does wrong when it is asked to, and has the settings of a sink that writes to
it.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from connect.api.records import TopicPartition
from connectors.s3.formats.format_specs import BYTES_FORMAT
from connectors.s3.settings.config import S3SinkConfig

Server = TypeVar("Server", bound=ThreadingHTTPServer)
TP = TopicPartition("t", 0)


class Store(ThreadingHTTPServer):
    """Keeps objects in a dict; `faults` are used up one per PUT. A slow one is answered once `released` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.objects: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.is_conditional = True
        self.faults: list[str] = []
        self.keys: list[str] = []
        self.puts = 0
        self.proxy_authorizations: set[str | None] = set()
        self.signers: set[str] = set()
        self.authorizations: set[str | None] = set()
        self.good_signer: str | None = None
        self.acls: set[str] = set()
        self.customer_keys: set[str] = set()
        self.lists = 0
        self.released = threading.Event()
        self.ended = threading.Event()


class Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # Else a body waits 40 ms for the client's delayed acknowledgement of the headers.
    server: Store

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.puts += 1
        self.server.authorizations.add(self.headers.get("Authorization"))
        self.server.signers |= set(re.findall(r"Credential=([^/]+)/", self.headers.get("Authorization", "")))
        self.server.acls |= set(self.headers.get_all("x-amz-acl") or ())
        self.server.customer_keys |= set(self.headers.get_all("x-amz-server-side-encryption-customer-key") or ())
        signer = "".join(re.findall(r"Credential=([^/]+)/", self.headers.get("Authorization", "")))
        if self.server.good_signer not in {None, signer}:
            self.answer(400, b"<Error><Code>ExpiredToken</Code></Error>")
            return
        fault = self.server.faults.pop(0) if self.server.faults else ""
        if fault == "silence":
            self.server.ended.wait()
            return
        if fault == "slow":
            self.server.released.wait()
        if fault == "503":
            self.answer(503, b"<Error><Code>SlowDown</Code></Error>")
            return
        if fault.startswith("403"):
            code = fault.removeprefix("403").strip() or "AccessDenied"
            self.answer(403, f"<Error><Code>{code}</Code></Error>".encode())
            return
        if fault == "409":
            self.answer(409, b"<Error><Code>ConditionalRequestConflict</Code></Error>")
            return
        is_asked = self.headers["If-None-Match"] == "*" or self.headers["x-goog-if-generation-match"] == "0"
        taken = self.path in self.server.objects and self.server.is_conditional and is_asked
        if not taken:
            if self.path not in self.server.objects:
                insort(self.server.keys, unquote(self.path.removeprefix("/bucket/")))
            metadata = {k: v for k, v in self.headers.items() if k.lower().startswith(("x-amz-meta-", "x-goog-meta-"))}
            self.server.objects[self.path] = (body, metadata)
        if fault == "lost answer":
            self.close_connection = True
            return
        self.answer(412 if taken else 200)

    def do_HEAD(self) -> None:
        if self.path in self.server.objects:
            self.answer_object(send_body=False)
        else:
            self.answer(404)

    def answer_object(self, *, send_body: bool) -> None:
        body, metadata = self.server.objects[self.path]
        self.send_response(200)
        for name, value in metadata.items():
            self.send_header(name, value)
        self.send_header("ETag", '"e"')
        self.send_header("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if send_body:
            self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path in self.server.objects:
            self.answer_object(send_body=True)
        else:
            self.list_objects()

    def do_DELETE(self) -> None:
        self.server.objects.pop(self.path, None)
        self.server.keys = [kept for kept in self.server.keys if f"/bucket/{kept}" != unquote(self.path)]
        self.answer(204)

    def list_objects(self) -> None:  # ListObjectsV2
        asked = dict(parse_qsl(urlsplit(self.path).query))
        keys, prefix = self.server.keys, asked.get("prefix", "")
        after = asked.get("continuation-token", asked.get("start-after", ""))
        first = max(bisect_left(keys, prefix), bisect_right(keys, after))
        found = list(takewhile(lambda key: key.startswith(prefix), keys[first : first + 1001]))
        more, found = found[1000:], found[:1000]
        self.server.lists += 1
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2022-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>e</ETag><Size>1</Size></Contents>"
            for key in found
        )
        rest = f"<NextContinuationToken>{escape(found[-1])}</NextContinuationToken>" if more else ""
        is_truncated = f"<IsTruncated>{str(bool(more)).lower()}</IsTruncated>{rest}"
        self.answer(200, f"<ListBucketResult>{is_truncated}{contents}</ListBucketResult>".encode())

    def do_POST(self) -> None:  # DeleteObjects
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        deleted = re.findall("<Key>(.*?)</Key>", body)
        for key in deleted:
            self.server.objects.pop(f"/bucket/{key}", None)
            self.server.keys = [kept for kept in self.server.keys if kept != key]
        told = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in deleted)
        self.answer(200, f"<DeleteResult>{told}</DeleteResult>".encode())

    def answer(self, status: int, body: bytes = b"") -> None:
        self.server.proxy_authorizations.add(self.headers.get("Proxy-Authorization"))
        self.send_response(status)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """The server answers meanwhile."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))  # seconds until it sees that it is to end
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def config(store: Store, **others: str) -> S3SinkConfig:
    return S3SinkConfig.parse({
        "s3.bucket.name": "bucket", "store.url": f"http://127.0.0.1:{store.server_port}", "format.class": BYTES_FORMAT,
        "aws.access.key.id": "id", "aws.secret.access.key": "secret", "flush.size": "2", "s3.part.retries": "0",
        **{name.replace("_", "."): value for name, value in others.items()},
    })  # fmt: skip
