"""Who shows a certificate that tells another name, no single one, or is not valid now, is nobody's user."""

from __future__ import annotations

import datetime as dt
import secrets
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import requests
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from rest_client import Rest, ServerMaker, refused

P: Final = "listeners.https."
ROOT: Final = "root"
NOW: Final = dt.datetime.now(dt.UTC)
DAY: Final = dt.timedelta(days=1)
ECDSA_WITH_SHA256: Final = bytes.fromhex("300a06082a8648ce3d040302")


def der(tag: int, content: bytes) -> bytes:
    """Return an ASN.1 value as DER writes it, of at most 64 KiB."""
    length = bytes([len(content)]) if len(content) < 128 else b"\x82" + len(content).to_bytes(2)
    return bytes([tag]) + length + content


class Certificates:
    """An authority, and certificates that it has signed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = trustme.CA()
        self.ca, self.store = folder / "ca.pem", folder / "store.pem"
        self._authority.cert_pem.write_to_path(str(self.ca))
        issued = self._authority.issue_cert("127.0.0.1")
        issued.private_key_and_cert_chain_pem.write_to_path(str(self.store))

    def of(
        self, *names: str, begins: dt.datetime = NOW - DAY, ends: dt.datetime = NOW + DAY,
        usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH, by: trustme.CA | None = None,
    ) -> Path:  # fmt: skip
        """Return a certificate with these common names, for clients or for something else."""
        signer = by or self._authority
        signing = load_pem_private_key(signer.private_key_pem.bytes(), None)
        assert isinstance(signing, ec.EllipticCurvePrivateKey)
        parent = x509.load_pem_x509_certificate(signer.cert_pem.bytes())
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names])
        made = (
            x509.CertificateBuilder(
                parent.subject, subject, key.public_key(), x509.random_serial_number(), begins, ends
            )
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            # Python 3.13 takes no certificate that does not tell whose key signed it.
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
            .sign(signing, hashes.SHA256())
        )
        return self._written(key, made.public_bytes(Encoding.DER))

    def with_value(self, value: bytes) -> Path:
        """Return a certificate whose common name is this ASN.1 value, as long as that of ROOT."""
        file = self.of(ROOT).read_bytes()
        key, signing = (load_pem_private_key(pem, None) for pem in (file, self._authority.private_key_pem.bytes()))
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        assert isinstance(signing, ec.EllipticCurvePrivateKey)
        signed = x509.load_pem_x509_certificate(file).tbs_certificate_bytes.replace(der(0x0C, ROOT.encode()), value)
        signature = signing.sign(signed, ec.ECDSA(hashes.SHA256()))
        return self._written(key, der(0x30, signed + ECDSA_WITH_SHA256 + der(0x03, b"\0" + signature)))

    def _written(self, key: ec.EllipticCurvePrivateKey, certificate: bytes) -> Path:
        path = self._folder / f"{secrets.token_hex(8)}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(private + ssl.DER_cert_to_PEM_cert(certificate).encode())
        return path


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture
def rest(serve: ServerMaker, certificates: Certificates) -> Rest:
    files = {f"{P}ssl.keystore.location": str(certificates.store), f"{P}ssl.keystore.type": "PEM",
             f"{P}ssl.truststore.location": str(certificates.ca), f"{P}ssl.truststore.type": "PEM"}  # fmt: skip
    roles = {"rest.roles.viewer": f"certificate:{ROOT}, certificate:*.orders.example"}
    return serve(worker={"listeners": "https://127.0.0.1:0", f"{P}ssl.client.auth": "requested", **files, **roles})


def asked(rest: Rest, certificates: Certificates, shown: Path) -> requests.Response:
    return rest("GET", "/connectors", verify=str(certificates.ca), cert=str(shown))


@pytest.mark.parametrize("name", [ROOT, "ada.orders.example"])
def test_who_is_named_is_served(rest: Rest, certificates: Certificates, name: str) -> None:
    assert asked(rest, certificates, certificates.of(name)).status_code == 200


@pytest.mark.parametrize(
    ("names", "status"),
    [
        ((ROOT, "evil"), 401), (("evil", ROOT), 401), ((ROOT, ROOT), 401), ((" ",), 401),
        (("ro\u00adot",), 401), (("root\0",), 401), (("root\n",), 401), (("\u202eroot",), 401),
        (("ROOT",), 403), (("root ",), 403), (("evil",), 403), (("certificate:root",), 403), (("*",), 403),
        (("ada.orders.example.evil",), 403), (("orders.example",), 403), (("r\u043e\u043et",), 403),
    ],
)  # fmt: skip
def test_other_names_and_several_are_nobody(
    rest: Rest, certificates: Certificates, names: tuple[str, ...], status: int
) -> None:
    assert asked(rest, certificates, certificates.of(*names)).status_code == status


@pytest.mark.parametrize(
    "value",
    [der(0x03, b"\0oot"), der(0x14, b"r\xf6\xf6t")],
    ids=["bits", "an old alphabet"],
)
def test_a_name_that_is_no_text_is_nobody(rest: Rest, certificates: Certificates, value: bytes) -> None:
    answer = asked(rest, certificates, certificates.with_value(value))
    assert refused(answer, 401) == "The client's certificate cannot be read."


@pytest.mark.parametrize(
    "made",
    [
        lambda own: own.of(ROOT, begins=NOW - 2 * DAY, ends=NOW - DAY), lambda own: own.of(ROOT, begins=NOW + DAY / 2),
        lambda own: own.of(ROOT, by=trustme.CA()), lambda own: own.of(ROOT, usage=ExtendedKeyUsageOID.SERVER_AUTH),
    ],
    ids=["expired", "of tomorrow", "of another authority of the same kind", "of a server"],
)  # fmt: skip
def test_a_certificate_that_is_not_valid_ends_in_tls(
    rest: Rest, certificates: Certificates, made: Callable[[Certificates], Path]
) -> None:
    with pytest.raises(requests.exceptions.RequestException, match=r"(?i)ssl|reset|eof|closed|aborted"):
        asked(rest, certificates, made(certificates))
