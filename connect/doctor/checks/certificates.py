"""Judges certificates by the day on which they end, and by the names that they are for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from shlex import quote
from typing import Final

from connect.doctor.model.facts import Facts, UncoveredName
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import some_of

SOON: Final = timedelta(days=30)


class Certificates:
    """Judges the certificates in files that configurations name, of listeners and of registries."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield certificates that have ended, end soon or are for other hosts, and files that cannot be read."""
        for registry in facts.registries:
            where = f"{registry.owner}, {registry.key}"
            yield from shown_certificate(
                where, f"the registry at {registry.address}", registry.address, registry.ends, facts.now
            )
        for name in facts.uncovered_names:
            yield _uncovered(name)
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


def shown_certificate(subject: str, of: str, address: str, ends: datetime | None, now: datetime) -> Iterable[Finding]:
    """Yield a finding where the certificate that a server shows at `address` (host:port) has ended or ends soon."""
    if ends is None or ends > now + SOON:
        return
    has_ended = ends <= now
    told = f"ended at {ends:%Y-%m-%d}" if has_ended else f"ends in {(ends - now).days} days"
    yield Finding(
        "certificate-expired" if has_ended else "certificate-expiring",
        Severity.ERROR if has_ended else Severity.WARNING,
        subject, f"The certificate of {of} {told}.",
        "Whoever checks it refuses the connection."
        if has_ended
        else "From then on connections are refused, and records wait.",
        f"openssl s_client -connect {quote(address)} </dev/null | openssl x509 -noout -enddate"
        "  # then have it renewed",
    )  # fmt: skip


def _uncovered(name: UncoveredName) -> Finding:
    covered = some_of(name.covered) if name.covered else "no name at all"
    fitting = next((one for one in name.covered if "*" not in one), "")
    other = f"rest.advertised.host.name={fitting}  # or " if fitting else "# "
    return Finding(
        "certificate-of-another-name", Severity.WARNING, f"listener {name.listener}",
        f"Its certificate ({name.key}) is for {covered}, and it is reached as {name.host}.",
        "Other workers, commands and browsers that check it refuse the connection.",
        f"{other}have one made that has {name.host} among its names (subjectAltName)",
    )  # fmt: skip
