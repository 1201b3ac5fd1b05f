"""Serves as a name node and its data node over plain HTTP, with files in a dict, that do wrong when they are asked
to.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

ERRORS = {
    "FileNotFoundException": 404, "FileAlreadyExistsException": 403, "AccessControlException": 403,
    "PathIsNotEmptyDirectoryException": 403, "StandbyException": 403, "UnsupportedOperationException": 400,
    "IOException": 500,
}  # fmt: skip


class Hdfs(ThreadingHTTPServer):
    """`faults`: by operation what its next requests meet, an exception's name or `lost answer`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.files: dict[str, bytes] = {}
        self.folders = {"/lake"}
        self.attributes: dict[str, str] = {}
        self.faults: dict[str, list[str]] = {}
        self.is_conditional = True
        self.data_port = self.server_port
        self.asked: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Hdfs

    def do_PUT(self) -> None:
        self.do_operation()

    def do_GET(self) -> None:
        self.do_operation()

    def do_DELETE(self) -> None:
        self.do_operation()

    def do_operation(self) -> None:
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append(asked)
        is_data_node = not parts.path.startswith("/webhdfs")
        faults = self.server.faults.get(asked["op"])
        fault = faults.pop(0) if faults and (is_data_node or asked["op"] not in {"CREATE", "OPEN"}) else ""
        if fault in ERRORS:
            self.refuse(fault)
            return
        path = unquote(parts.path.removeprefix("/data").removeprefix("/webhdfs/v1"))
        if is_data_node or asked["op"] not in {"CREATE", "OPEN"}:
            getattr(self, asked["op"].lower())(path, asked, body, is_lost=fault == "lost answer")
        else:
            place = f"http://127.0.0.1:{self.server.data_port}/data{parts.path.removeprefix('/webhdfs/v1')}"
            self.answer(307, location=f"{place}?{parts.query}")

    def create(self, path: str, asked: dict[str, str], body: bytes, *, is_lost: bool) -> None:
        self.server.files[path] = body
        self.server.folders |= {str(folder) for folder in PurePosixPath(path).parents}
        self.answer(201, is_lost=is_lost)

    def open(self, path: str, asked: dict[str, str], body: bytes, *, is_lost: bool) -> None:
        if path in self.server.files:
            self.answer(200, self.server.files[path])
        else:
            self.refuse("FileNotFoundException")

    def setxattr(self, path: str, asked: dict[str, str], body: bytes, *, is_lost: bool) -> None:
        self.server.attributes[path] = asked["xattr.value"]
        self.answer(200, is_lost=is_lost)

    def getxattrs(self, path: str, asked: dict[str, str], body: bytes, *, is_lost: bool) -> None:
        if path not in self.server.files:
            self.refuse("FileNotFoundException")
            return
        value = self.server.attributes.get(path)
        self.tell({"XAttrs": [] if value is None else [{"name": "user.kconnect", "value": value}]})

    def rename(self, path: str, asked: dict[str, str], body: bytes, *, is_lost: bool) -> None:
        to, server = asked["destination"], self.server
        if path not in server.files:
            self.refuse("FileNotFoundException")
        elif to in server.files and server.is_conditional and asked["renameoptions"] == "NONE":
            self.refuse("FileAlreadyExistsException")
        else:
            server.files[to], server.attributes[to] = server.files.pop(path), server.attributes.pop(path)
            self.answer(200, is_lost=is_lost)

    def delete(self, path: str, asked: dict[str, str], body: bytes, *, is_lost: bool) -> None:
        if any(str(PurePosixPath(one).parent) == path for one in (*self.server.files, *self.server.folders)):
            self.refuse("PathIsNotEmptyDirectoryException")
            return
        self.server.folders.discard(path)
        self.tell({"boolean": self.server.files.pop(path, None) is not None})

    def getfilestatus(self, path: str, asked: dict[str, str], body: bytes, *, is_lost: bool) -> None:
        self.tell({"FileStatus": {}})

    def liststatus_batch(self, path: str, asked: dict[str, str], body: bytes, *, is_lost: bool) -> None:
        if path not in self.server.folders:
            self.refuse("FileNotFoundException")
            return
        kinds = dict.fromkeys(self.server.files, "FILE") | dict.fromkeys(self.server.folders, "DIRECTORY")
        listed = [
            {"pathSuffix": PurePosixPath(one).name, "type": kinds[one], "length": 1, "modificationTime": 0}
            for one in sorted(kinds)
            if str(PurePosixPath(one).parent) == path and PurePosixPath(one).name > asked.get("startAfter", "")
        ]
        statuses = {"FileStatuses": {"FileStatus": listed[:2]}}
        self.tell({"DirectoryListing": {"partialListing": statuses, "remainingEntries": len(listed[2:])}})

    def tell(self, answer: Any) -> None:
        self.answer(200, json.dumps(answer).encode())

    def refuse(self, kind: str) -> None:
        told = {"exception": kind, "message": f"told by {kind}\n\tat a.Line.of(Java.java)"}
        self.answer(ERRORS[kind], json.dumps({"RemoteException": told}).encode())

    def answer(self, status: int, body: bytes = b"", *, location: str = "", is_lost: bool = False) -> None:
        if is_lost:
            self.close_connection = True
            return
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass
