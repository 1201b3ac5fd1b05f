"""Key stores that Java's keytool makes are read as they are, and make a connection of TLS."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError
from connect.api.tls.client_tls import client_tls
from connect.api.tls.key_stores import read_key_store
from connectors.jdbc.connection.engine import url_of
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.settings.config import JdbcSourceConfig

PASSWORD = "of=the;store (1)"
BASE = {"mode": "bulk", "table.whitelist": "a", "topic.prefix": "t"}


def keytool(*arguments: str) -> None:
    program = shutil.which("keytool")
    assert program is not None, "Java is there for the embedded Kafka, and keytool with it."
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module", params=["JKS", "PKCS12"])
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store with a key, and one that trusts it."""
    folder = tmp_path_factory.mktemp("stores")
    own, trusted, certificate = folder / "own.jks", folder / "trusted.jks", folder / "own.crt"
    given = ("-alias", "db", "-storepass", PASSWORD, "-storetype", request.param)
    keytool(
        *("-genkeypair", "-keyalg", "RSA", "-dname", "CN=localhost", "-ext", "SAN=dns:localhost", *given),
        *("-keypass", PASSWORD, "-keystore", str(own)),
    )
    keytool("-exportcert", "-file", str(certificate), *given, "-keystore", str(own))
    keytool("-importcert", "-noprompt", "-file", str(certificate), *given, "-keystore", str(trusted))
    return own, trusted


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> dict[str, object]:
    """Return the server's certificate as the client sees it."""
    one, other = socket.socketpair()
    with one, other:
        serving = threading.Thread(target=lambda: server.wrap_socket(one, server_side=True).close())
        serving.start()
        try:
            with client.wrap_socket(other, server_hostname="localhost") as made:
                return dict(made.getpeercert() or {})
        finally:
            other.close()
            serving.join()


def test_oracle_connects_with_the_stores_of_java(stores: tuple[Path, Path]) -> None:
    own, trusted = stores
    given = JdbcSourceConfig.parse({
        **BASE, "connection.url": "jdbc:oracle:thin:@tcps://db.example:2484/shop", "allowed.paths": str(own.parent),
        "connection.javax.net.ssl.trustStore": str(trusted), "connection.javax.net.ssl.trustStorePassword": PASSWORD,
        "connection.javax.net.ssl.keyStore": str(own), "connection.javax.net.ssl.keyStorePassword": PASSWORD,
        "connection.oracle.net.ssl_server_dn_match": "true", "connection.oracle.net.authentication_services": "(TCPS)",
    })  # fmt: skip
    url, arguments = dialect_of(given.connection_url).connecting.take_tls(url_of(given))
    assert (arguments["ssl_server_dn_match"], arguments["externalauth"]) == (True, True)
    assert not {name for name in url.query if "store" in name}
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.verify_mode = ssl.CERT_REQUIRED
    read_key_store(own, PASSWORD, "own").show_in(server)
    read_key_store(trusted, PASSWORD, "trusted").trust_in(server)
    assert handshake(server, arguments["ssl_context"])["subject"] == ((("commonName", "localhost"),),)


def test_a_client_by_http_takes_the_same_stores(stores: tuple[Path, Path]) -> None:
    own, trusted = stores
    given = {
        "truststore.location": str(trusted), "truststore.password": PASSWORD,
        "keystore.location": str(own), "keystore.password": PASSWORD, "key.password": PASSWORD,
    }  # fmt: skip
    context = client_tls(given, AllowedPaths([str(own.parent)]), "https.ssl.", "the server")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.verify_mode = ssl.CERT_REQUIRED
    read_key_store(own, PASSWORD, "own").show_in(server)
    read_key_store(trusted, PASSWORD, "trusted").trust_in(server)
    assert handshake(server, context)["subject"] == ((("commonName", "localhost"),),)
    with pytest.raises(ConfigError, match=r"https\.ssl\.keystore\.location: the key store cannot be read"):
        client_tls({**given, "keystore.password": "x"}, AllowedPaths([str(own.parent)]), "https.ssl.", "the server")


def test_db2_gets_a_file_of_the_authorities(stores: tuple[Path, Path]) -> None:
    _, trusted = stores
    given = JdbcSourceConfig.parse({
        **BASE, "allowed.paths": str(trusted.parent),
        "connection.url": f"jdbc:db2://db:50002/s:sslConnection=true;sslTrustStoreLocation={trusted};"
        f"sslTrustStorePassword={{{PASSWORD}}};sslTrustStoreType=JKS;",
    })  # fmt: skip
    url, arguments = dialect_of(given.connection_url).connecting.take_tls(url_of(given))
    assert (arguments, set(url.query)) == ({}, {"Security", "SSLServerCertificate"})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cafile=str(url.query["SSLServerCertificate"]))
    assert context.cert_store_stats()["x509"] == 1


def test_a_wrong_password_and_a_file_that_is_no_store_are_told(stores: tuple[Path, Path], tmp_path: Path) -> None:
    own, _ = stores
    for path, password in ((own, "s3cret-other"), (tmp_path / "none.jks", PASSWORD)):
        if path != own:
            path.write_bytes(b"\xfe\xed\xfe\xed" + b"\0" * 40)
        with pytest.raises(ConfigError, match="key store cannot be read") as refused:
            read_key_store(path, password, "connection.url")
        assert password not in str(refused.value)
    store = read_key_store(own, PASSWORD, "connection.url")
    assert "PRIVATE KEY" in str(store.key)
    assert "PRIVATE KEY" not in repr(store)


def test_a_store_that_is_not_listed_is_not_read(stores: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigError, match=r"allowed\.paths"):
        JdbcSourceConfig.parse({
            **BASE, "connection.url": "jdbc:oracle:thin:@db/s", "allowed.paths": "/data",
            "connection.javax.net.ssl.trustStore": str(stores[1]),
        })  # fmt: skip


def test_without_stores_the_driver_makes_its_own_context() -> None:
    taken = dialect_of("jdbc:oracle:").connecting.take_tls(sa.URL.create("oracle+oracledb", host="db"))
    assert taken[1] == {}
