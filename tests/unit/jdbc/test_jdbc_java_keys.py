"""Key files of Java's that hold nothing of use, or what nobody here can read, are told by the key that names them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import NoEncryption, pkcs12
from cryptography.x509.oid import NameOID

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connectors.jdbc.dialects.mysql.tls import take_tls
from connectors.jdbc.dialects.partly_known.db2 import Db2Connecting
from connectors.jdbc.dialects.partly_known.java_stores import context_of
from connectors.jdbc.dialects.postgres.key_files import with_pem_key
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.sink.settings.config import JdbcSinkConfig

UNKNOWN_KEY = bytes.fromhex("30 0f 02 01 00 30 06 06 04 2a 03 04 05 04 02 05 00".replace(" ", ""))
"""A key of PKCS8 whose algorithm has the number 1.2.3.4.5."""


@pytest.fixture(scope="module")
def pair() -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "h")]), dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + dt.timedelta(days=1))
    return key, made.sign(key, hashes.SHA256())


@pytest.fixture
def own(tmp_path: Path, pair: Any) -> str:
    """A store of a key and its certificate, which trusts no authority."""
    path = tmp_path / "own.p12"
    path.write_bytes(pkcs12.serialize_key_and_certificates(b"a", *pair, None, NoEncryption()))
    return str(path)


@pytest.fixture
def trusted(tmp_path: Path, pair: Any) -> str:
    """A store of an authority, which has no key."""
    path = tmp_path / "trusted.p12"
    path.write_bytes(pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(pair[1], b"a")], NoEncryption()))
    return str(path)


def refused(make: Any, url: str, **query: str) -> str:
    with pytest.raises(ConfigError) as caught:
        make(sa.make_url(url).set(query=query))
    [problem] = caught.value.problems
    assert problem.key.startswith("connection.url")
    return problem.message


def test_a_trust_store_without_authorities_is_told(own: str) -> None:
    said = "the key store has no authority to trust"
    assert said in refused(take_tls, "mysql+pymysql://u@h/d", ssl_ca=own, ssl_mode="verify_ca")
    assert said in refused(lambda url: context_of(url, checks_host=True), "x://h", trust_store=own)
    assert said in refused(Db2Connecting().take_tls, "db2+ibm_db://u@h/d", trust_store=own)


def test_db2_gets_a_file_of_the_authorities_of_a_store(trusted: str) -> None:
    url, _ = Db2Connecting().take_tls(sa.make_url("db2+ibm_db://u@h/d").set(query={"trust_store": trusted}))
    assert Path(str(url.query["SSLServerCertificate"])).read_text().count("BEGIN CERTIFICATE") == 1


@pytest.mark.parametrize(
    ("url", "is_told"),
    [
        ("jdbc:mysql://h/d?trustCertificateKeyStoreUrl=file:/s.jks", True),
        ("jdbc:mariadb://h/d?trustStore=/s.jks", True),
        ("jdbc:mariadb://h/d?serverSslCert=/s.pem", True),
        ("jdbc:mysql://h/d?trustCertificateKeyStoreUrl=file:/s.jks&sslMode=VERIFY_CA", False),
        ("jdbc:mysql://h/d?trustCertificateKeyStoreUrl=file:/s.jks&useSSL=true", False),
        ("jdbc:mariadb://h/d", False),
        ("jdbc:postgresql://h/d?sslrootcert=/s.pem", False),
    ],
)
def test_a_server_that_a_trust_store_alone_has_verified_is_noted(url: str, is_told: bool) -> None:
    source = {"mode": "bulk", "topic.prefix": "p", "table.whitelist": "a"}
    for config in (JdbcSourceConfig, JdbcSinkConfig):
        notes = list(config.parse({"connection.url": url, **EVERYWHERE, **source}).notes())
        told = [note.message for note in notes if note.key == "connection.url"]
        assert len(told) == is_told
        assert all("Java's driver of MySQL verifies neither" in text and "/s." not in text for text in told)


def test_a_store_without_a_key_is_told(trusted: str) -> None:
    said = "the key store has no key"
    assert f"connection.url (sslkey): the key cannot be read: {said}" in refused(
        with_pem_key, "postgresql://h/d", sslkey=trusted
    )
    assert said in refused(take_tls, "mysql+pymysql://u@h/d", ssl_cert=trusted, ssl_mode="required")
    assert said in refused(lambda url: context_of(url, checks_host=True), "x://h", key_store=trusted)


@pytest.mark.parametrize("password", ["", "p"])
def test_a_key_of_an_unknown_algorithm_is_told(tmp_path: Path, password: str) -> None:
    path = tmp_path / "key.pk8"
    path.write_bytes(UNKNOWN_KEY)
    told = refused(with_pem_key, "postgresql://h/d", sslkey=str(path), sslpassword=password)
    assert "connection.url (sslkey): the key cannot be read" in told


def test_a_store_of_an_unknown_algorithm_is_told(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> None:
        raise UnsupportedAlgorithm("RC2 is not supported")

    monkeypatch.setattr(pkcs12, "load_pkcs12", load)
    told = refused(with_pem_key, "postgresql://h/d", sslkey=own)
    assert "connection.url (sslkey): the key store cannot be read: RC2 is not supported" in told
