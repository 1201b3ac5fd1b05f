"""Judges certificates by the day on which they end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from shlex import quote
from typing import Final

from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity

SOON: Final = timedelta(days=30)


class Certificates:
    """Judges the certificates in files that configurations name, and those of registries."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield certificates that have ended or end soon, and files that cannot be read."""
        for registry in facts.registries:
            where, days = f"{registry.owner}, {registry.key}", _days_left(facts, registry.ends)
            if 0 <= days <= SOON.days:
                yield Finding(
                    "certificate-expiring", Severity.WARNING,
                    where, f"The certificate of the registry at {registry.address} ends in {days} days.",
                    "From then on connections are refused, and records wait.",
                    f"openssl s_client -connect {quote(registry.address)} </dev/null | openssl x509 -noout -enddate"
                    "  # then have it renewed",
                )  # fmt: skip
        for found in facts.certificates:
            fix = f"openssl x509 -in {quote(found.path)} -noout -subject -enddate  # then have it renewed"
            if found.trouble:
                yield Finding(
                    "certificate-unreadable", Severity.WARNING, found.where, f"{found.path}: {found.trouble}",
                    "Connections that need it fail.", fix,
                )  # fmt: skip
            elif found.ends is not None and found.ends <= facts.now:
                yield Finding(
                    "certificate-expired", Severity.ERROR,
                    found.where, f"A certificate in {found.path} ended at {found.ends:%Y-%m-%d}.",
                    "Whoever checks it refuses the connection.", fix,
                )  # fmt: skip
            elif found.ends is not None and found.ends <= facts.now + SOON:
                days = (found.ends - facts.now).days
                yield Finding(
                    "certificate-expiring", Severity.WARNING,
                    found.where, f"A certificate in {found.path} ends in {days} days.",
                    "From then on connections are refused.", fix,
                )  # fmt: skip


def _days_left(facts: Facts, ends: datetime | None) -> int:
    return -1 if ends is None else (ends - facts.now).days
