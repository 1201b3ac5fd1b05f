"""Finds https listeners whose certificate does not hold for the host by which others reach them. No network is used.

OpenSSL judges: a client that trusts the certificate shakes hands with the listener's own context, in memory.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from connect.api.errors import ConfigError
from connect.doctor.model.facts import UncoveredName
from connect.rest.server.listeners import WILDCARDS, own_address
from connect.rest.tls.contexts import client_context, identity_key, server_context
from connect.runtime.settings.worker_config import WorkerConfig

_ANOTHER_NAME: Final = frozenset({62, 63, 64})
"""OpenSSL calls these codes X509_V_ERR_HOSTNAME_MISMATCH, _EMAIL_MISMATCH and _IP_ADDRESS_MISMATCH."""
_ROUNDS: Final = 8
"""A handshake takes fewer steps of each side."""


def uncovered_names(worker: WorkerConfig) -> Sequence[UncoveredName]:
    """Return each https listener whose certificate is for other hosts. It may look up this machine's address.

    There are none where the worker's file says that names do not count, or where its keys are broken, which is told
    elsewhere.
    """
    reached = _reached(worker)
    if not reached:
        return []
    try:
        is_checked = client_context(worker.originals).check_hostname
        server = server_context(worker.originals)
    except ConfigError:
        return []
    shown = _shown(server) if is_checked else None
    if shown is None:
        return []
    key, names = identity_key(worker.originals), _names(shown)
    common = worker.rest_advertised_certificate_name
    looked_for = [(listener, common or host) for listener, host in reached]
    return [UncoveredName(at, key, name, names) for at, name in looked_for if not _covers(server, shown, name)]


def _reached(worker: WorkerConfig) -> list[tuple[str, str]]:
    """Return each https listener with the host by which others reach it.

    One on all addresses is reached by this machine's address, if no other listener is there for other workers.
    """
    found = []
    for listener in worker.listeners:
        url = urlsplit(listener)
        host = worker.rest_advertised_host_name or url.hostname or ""
        if url.scheme.lower() == "https" and (host not in WILDCARDS or len(worker.listeners) == 1):
            found.append((listener, own_address(worker) if host in WILDCARDS else host))
    return found


def _shown(server: ssl.SSLContext) -> bytes | None:
    """Return the certificate that the listener shows; None if no client of today shakes hands with it."""
    server.verify_mode = ssl.CERT_NONE  # it would refuse a client that has no certificate
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    try:
        return _shaken(client, server, None).getpeercert(binary_form=True)
    except (ssl.SSLError, ValueError):  # ValueError: the handshake did not end
        return None


def _covers(server: ssl.SSLContext, shown: bytes, host: str) -> bool:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(cadata=shown)
    client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    try:
        _shaken(client, server, host)
    except ssl.SSLCertVerificationError as error:
        return error.verify_code not in _ANOTHER_NAME
    except (ssl.SSLError, ValueError):  # ValueError: it is no name of a host, which is told elsewhere
        return True
    return True


def _shaken(client: ssl.SSLContext, server: ssl.SSLContext, host: str | None) -> ssl.SSLObject:
    """Return the client's end after the handshake. SSLCertVerificationError: the client does not take the certificate.
    SSLError: one end does not understand the other.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    end = client.wrap_bio(to_client, to_server, server_hostname=host)
    other = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(_ROUNDS):
        for side in (end, other):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue  # the other side has the next word
    return end


def _names(shown: bytes) -> tuple[str, ...]:
    """Return the names and addresses of hosts that a certificate is for."""
    from cryptography import x509

    try:
        found = x509.load_der_x509_certificate(shown).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (ValueError, x509.ExtensionNotFound):
        return ()
    named = found.value
    addresses = [str(address) for address in named.get_values_for_type(x509.IPAddress)]
    return (*named.get_values_for_type(x509.DNSName), *addresses)
