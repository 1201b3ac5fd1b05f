"""A trust store stands in place of the system's authorities, as in Java."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
import trustme

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError
from connect.api.tls.client_tls import client_tls


class Authority:
    """An authority with its PEM file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.ca = trustme.CA()
        self.file = folder / f"{name}.pem"
        self.ca.cert_pem.write_to_path(str(self.file))

    def server(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert("localhost").configure_cert(context)
        return context


@pytest.fixture
def own(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "own")


@pytest.fixture
def of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    authority = Authority(tmp_path, "system")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


def trusts(given: dict[str, str], server: Authority, folder: Path) -> bool:
    """Tell if a client with these settings trusts a server of that authority."""
    client = client_tls(given, AllowedPaths((str(folder),)), "ssl.", "the server")
    one, other = socket.socketpair()
    with one, other:
        serving = threading.Thread(target=_serve, args=(one, server.server()))
        serving.start()
        try:
            with client.wrap_socket(other, server_hostname="localhost"):
                return True
        except ssl.SSLCertVerificationError:
            return False
        finally:
            other.close()
            serving.join()


def _serve(connection: socket.socket, context: ssl.SSLContext) -> None:
    try:
        context.wrap_socket(connection, server_side=True).close()
    except OSError:
        return  # the client has refused the certificate, which is what the test asks it


@pytest.mark.parametrize("named", ["truststore.location", "truststore.certificates"])
def test_a_trust_store_replaces_the_systems_authorities(
    own: Authority, of_the_system: Authority, tmp_path: Path, named: str
) -> None:
    value = str(own.file) if named.endswith("location") else own.file.read_text()
    assert trusts({named: value}, own, tmp_path)
    assert not trusts({named: value}, of_the_system, tmp_path)


def test_without_a_trust_store_the_systems_authorities_count(
    own: Authority, of_the_system: Authority, tmp_path: Path
) -> None:
    assert trusts({"endpoint.identification.algorithm": "https"}, of_the_system, tmp_path)
    assert not trusts({"endpoint.identification.algorithm": "https"}, own, tmp_path)


def test_a_trust_store_without_an_authority_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    with pytest.raises(ConfigError, match="TLS files of the server cannot be used"):
        client_tls({"truststore.location": str(empty)}, AllowedPaths((str(tmp_path),)), "ssl.", "the server")
