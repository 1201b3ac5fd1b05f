"""Reads when the certificate ends that a TLS server shows."""

from __future__ import annotations

import ssl
from datetime import datetime
from typing import Final

from connect.lib.deadline import Deadline

_SHOW_S: Final = 3.0
_LEAST_S: Final = 0.2


def shown_certificate_end(host: str, port: int, deadline: Deadline) -> datetime | None:
    """Return when the certificate of a server ends; None if it shows this machine none in time, as behind a proxy."""
    from cryptography import x509

    try:
        timeout_s = max(_LEAST_S, min(_SHOW_S, deadline.remaining_s - _LEAST_S))
        text = ssl.get_server_certificate((host, port), timeout=timeout_s)
        return x509.load_pem_x509_certificate(text.encode()).not_valid_after_utc
    except (OSError, ValueError):
        return None
