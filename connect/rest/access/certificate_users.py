"""Finds users by their client certificates, whose authority the listener's truststore names."""

from __future__ import annotations

import ssl

from aiohttp import web

from connect.rest.access.identity import Grants, Identity
from connect.rest.access.login_errors import LoginError
from connect.runtime.settings.role_grants import CERTIFICATE


class CertificateUsers:
    """Knows users by the common name of a certificate that TLS has verified."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def identity(self, request: web.Request) -> Identity | None:
        """Return the user for whom the request's certificate was made; None if the request came without a certificate.
        LoginError: the certificate names no user.
        """
        tls = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
        shown = tls.getpeercert(binary_form=True) if isinstance(tls, ssl.SSLObject) else None
        return None if shown is None else self.named(CERTIFICATE + _common_name(shown))

    def named(self, name: str) -> Identity:
        """Return the user of a name that another worker of the cluster found in a certificate."""
        return self._grants.identity(name)


def _common_name(shown: bytes) -> str:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        names = x509.load_der_x509_certificate(shown).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except (ValueError, TypeError):  # The library takes a name that is a string of bits for a mistake of its caller.
        raise LoginError("The client's certificate cannot be read.") from None
    if len(names) != 1 or not isinstance(names[0].value, str) or not names[0].value.strip():
        raise LoginError("The client's certificate has no common name (CN), or several.")
    # If histories and logs showed the name as that of another user, its owner could act in that user's name.
    if not names[0].value.isprintable():
        raise LoginError("The common name (CN) of the client's certificate has characters without a shape.")
    return names[0].value
