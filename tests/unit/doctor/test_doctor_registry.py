"""Reads when the certificate of a schema registry ends, from a real TLS server."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from connect.doctor.gathering.registry_facts import registry_facts

ENDS = datetime.now(UTC).replace(microsecond=0) + timedelta(days=6)


class _Registry(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'["AVRO"]'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def address(authority: trustme.CA) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", not_after=ENDS).configure_cert(context)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Registry) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_end_of_a_registrys_certificate_is_known(authority: trustme.CA, address: str, tmp_path: Path) -> None:
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(trusted))
    settings = {"schema.registry.url": f"https://{address}", "schema.registry.ssl.truststore.location": str(trusted),
                "schema.registry.ssl.truststore.type": "PEM"}  # fmt: skip
    found = registry_facts("connector c", "value.converter.schema.registry.url", settings, {"allowed.paths": "/"})
    assert found is not None
    assert (found.trouble, found.address, found.ends) == (None, address, ENDS)


def test_a_registry_that_is_refused_has_no_certificate_to_tell(address: str) -> None:
    found = registry_facts("connector c", "key", {"schema.registry.url": f"https://{address}"}, {})
    assert found is not None
    assert found.trouble is not None
    assert found.ends is None
