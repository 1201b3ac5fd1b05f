"""Reaches databases that speak TLS only: every connection of the connector is encrypted and knows whom it talks to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import log_run
from jdbc_server import DRIVERS, Server
from sql_services import installed

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService


def _certificate(folder: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))
    (folder / "cert.pem").write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    (folder / "key.pem").chmod(0o600)
    _stores(folder, authority)


def _stores(folder: Path, authority: trustme.CA) -> None:
    """Write what a client of Java has: an authority as a PKCS12 store, and its own key in each form."""
    trusted = x509.load_pem_x509_certificate(authority.cert_pem.bytes())
    entry = pkcs12.PKCS12Certificate(trusted, b"authority")
    secret = BestAvailableEncryption(SECRET.encode())
    (folder / "trust.p12").write_bytes(pkcs12.serialize_key_and_certificates(None, None, None, [entry], secret))
    own = authority.issue_cert("reader.example", common_name="reader")
    key = load_pem_private_key(own.private_key_pem.bytes(), None)
    assert isinstance(key, EllipticCurvePrivateKey)
    certificate = x509.load_pem_x509_certificate(own.cert_chain_pems[0].bytes())
    (folder / "own.p12").write_bytes(pkcs12.serialize_key_and_certificates(b"own", key, certificate, None, secret))
    (folder / "own.pk8").write_bytes(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, secret))
    (folder / "open.pk8").write_bytes(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "own.pem").write_bytes(own.cert_chain_pems[0].bytes())


SECRET = "word of stores"


class TlsPostgres(PostgresService):
    """Lets nobody in without TLS."""

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        _certificate(folder)
        argv = super()._command(folder, ports, deadline_s)
        rules = folder / "data" / "pg_hba.conf"
        # Who is called reader shows a certificate.
        shown = "hostssl all reader 127.0.0.1/32 cert\n"
        rules.write_text(shown + rules.read_text().replace("host  ", "hostssl"))
        return [
            *argv,
            "-c",
            f"ssl_ca_file={folder}/ca.pem",
            "-c",
            "ssl=on",
            "-c",
            f"ssl_cert_file={folder}/cert.pem",
            "-c",
            f"ssl_key_file={folder}/key.pem",
        ]


class TlsMariaDb(MariaDbService):
    """Likewise."""

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        _certificate(folder)
        argv = super()._command(folder, ports, deadline_s)
        return [
            *argv,
            f"--ssl-ca={folder}/ca.pem",
            f"--ssl-cert={folder}/cert.pem",
            f"--ssl-key={folder}/key.pem",
            "--require-secure-transport=ON",
        ]


SERVICES = {"postgres": TlsPostgres, "mariadb": TlsMariaDb}
TRUSTED = {
    "postgres": {"connection__sslmode": "verify-full", "connection__sslrootcert": "{ca}"},
    "mariadb": {"connection__sslMode": "verify-full", "connection__serverSslCert": "{ca}"},
}


@pytest.fixture(params=["postgres", "mariadb"], scope="module")
def started(request) -> Iterator[tuple[str, PostgresService | MariaDbService]]:
    with installed(SERVICES[request.param]()) as service:
        yield request.param, service


@pytest.fixture
def secure(started, unique: str) -> Iterator[tuple[Server, str]]:
    """The server, and the authority that vouches for it."""
    name, service = started
    folder, e = service._known_folder(), service.endpoint
    query = {"sslmode": "require"} if name == "postgres" else {"ssl_ca": f"{folder}/ca.pem"}
    url = sa.URL.create(DRIVERS[name], e.user, e.password, e.host, e.port, e.database, query)
    engine = sa.create_engine(url)
    yield Server(name, e, engine, unique), f"{folder}/ca.pem"
    engine.dispose()


def _trusted(name: str, ca: str) -> dict[str, str]:
    return {key: value.format(ca=ca) for key, value in TRUSTED[name].items()}


def test_tables_and_the_log_are_read_over_verified_connections(secure):
    server, ca = secure
    settings = _trusted(server.name, ca)
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, name VARCHAR(9))", "INSERT INTO {t} VALUES (1, 'é')")
    for reader in ("auto", "generic"):
        task = server.opened(OffsetStore(), **settings, mode="bulk", reader=reader)
        assert rows(batches(task, OffsetStore(), at_most=1)) == [{"id": 1, "name": "é"}]
        task.close()
    with log_run(server, **settings) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t} VALUES (2, 'ü')")
        assert [(v["op"], v["after"]["name"]) for _, _, v in run.until_events(2)] == [("r", "é"), ("c", "ü")]


def test_who_is_not_to_be_trusted_and_what_is_not_encrypted_is_refused(secure, tmp_path):
    server, _ = secure
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    plain = {"connection__sslmode" if server.name == "postgres" else "connection__sslMode": "disable"}

    def refused(**settings: str) -> str:
        planned = server.connector(**settings, mode="bulk", connection__attempts=1)
        with pytest.raises(ConfigError) as error:
            planned.check(Deadline.after(60))
        assert {problem.key for problem in error.value.problems} == {"connection.url"}
        return str(error.value)

    assert "certificate verify failed" in refused(**_trusted(server.name, f"{tmp_path}/ca.pem"))
    # Before MariaDB 11 such a user is told nothing more than that.
    assert re.search("no encryption|Access denied|insecure transport", refused(**plain))
    assert re.search("No such file|does not exist", refused(**_trusted(server.name, "/none/ca.pem")))


OWN = {
    "postgres": [
        {"sslkey": "own.pk8", "sslcert": "own.pem", "sslpassword": SECRET},
        {"sslkey": "open.pk8", "sslcert": "own.pem", "sslpassword": SECRET},
        {"sslkey": "own.p12", "sslpassword": SECRET},
    ],
    "mariadb": [
        {"trustStore": "trust.p12", "trustStorePassword": SECRET, "keyStore": "own.p12", "keyStorePassword": SECRET},
        {
            "trustCertificateKeyStoreUrl": "file:{folder}/trust.p12", "trustCertificateKeyStorePassword": SECRET,
            "trustCertificateKeyStoreType": "PKCS12", "clientCertificateKeyStoreUrl": "file:{folder}/own.p12",
            "clientCertificateKeyStorePassword": SECRET,
        },
    ],
}  # fmt: skip
"""How URLs of Java name stores and keys, by the server's kind."""


def _readers_login(server: Server) -> None:
    """Make a user who is let in by a certificate alone."""
    if server.name == "postgres":
        server.run("CREATE ROLE reader LOGIN", "GRANT pg_read_all_data TO reader")
    else:
        server.run("CREATE USER reader REQUIRE X509", "GRANT SELECT, PROCESS ON *.* TO reader")


def _by_certificate(name: str, folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of that user, whose files are in a folder."""
    checked = {"sslmode": "verify-full", "sslrootcert": "ca.pem"} if name == "postgres" else {"sslMode": "verify-full"}
    files = {".p12", ".pk8", ".pem"}
    told = {
        key: f"{folder}/{value}" if Path(value).suffix in files and ":" not in value else value.format(folder=folder)
        for key, value in {**checked, **given}.items()
    }
    return {
        "connection__user": "reader",
        "connection__password": "",
        **{f"connection__{k}": v for k, v in told.items()},
    }


def test_a_client_shows_the_certificate_of_javas_files(secure):
    server, ca = secure
    folder = Path(ca).parent
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, name VARCHAR(9))", "INSERT INTO {t} VALUES (1, 'é')")
    _readers_login(server)
    for given in OWN[server.name]:
        task = server.opened(OffsetStore(), **_by_certificate(server.name, folder, given), mode="bulk")
        assert rows(batches(task, OffsetStore(), at_most=1)) == [{"id": 1, "name": "é"}]
        task.close()
    wrong = {name: "no such word" if value == SECRET else value for name, value in OWN[server.name][0].items()}
    planned = server.connector(**_by_certificate(server.name, folder, wrong), mode="bulk", connection__attempts=1)
    with pytest.raises(ConfigError, match=r"connection\.url") as told:
        planned.check(Deadline.after(60))
    assert "no such word" not in str(told.value)
