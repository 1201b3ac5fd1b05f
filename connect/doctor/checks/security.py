"""Judges what strangers can reach, and what configurations are allowed to do."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from connect.api.allowed_hosts import ALLOWED_HOSTS, PROFILE, STRICT, AllowedHosts
from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity
from connect.runtime.settings.role_grants import CERTIFICATE
from connect.runtime.settings.worker_config import WorkerConfig


class Security:
    """Judges the worker's own file."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield listeners that are open to everybody, and grants without bounds."""
        worker = facts.worker
        is_open = not worker.rest_basic_auth_file and not worker.rest_oidc_issuer and not _roles_by_certificate(worker)
        for address in worker.listeners:
            if is_open and not _is_loopback(urlsplit(address).hostname or ""):
                yield Finding(
                    "open-listener", Severity.WARNING, f"listener {address}", "It asks nobody to log in.",
                    "Whoever reaches it may create connectors, which read and write as the worker may.",
                    "rest.extension.classes=BasicAuthSecurityRestExtension\nrest.basic.auth.file=/path/to/users",
                )  # fmt: skip
        is_shared = not all(_is_loopback(urlsplit(address).hostname or "") for address in worker.listeners)
        if is_shared and AllowedHosts.by(worker.originals).are_all:
            yield Finding(
                "hosts-unbounded", Severity.NOTE, f"worker file, {ALLOWED_HOSTS}", f"{ALLOWED_HOSTS} names no hosts.",
                "A configuration may have the worker speak to any machine that it reaches.",
                f"{PROFILE}={STRICT}\n{ALLOWED_HOSTS}=db.example.com,*.storage.example.com",
            )  # fmt: skip
        for key, given in _unbounded(worker):
            yield Finding(
                "paths-unbounded", Severity.NOTE, f"worker file, {key}", f"{key}={given}",
                "A configuration may read and write whatever the worker's user may.", f"{key}=/path/of/connectors",
            )  # fmt: skip


def _roles_by_certificate(worker: WorkerConfig) -> bool:
    roles = (
        *worker.rest_roles_viewer,
        *worker.rest_roles_operator,
        *worker.rest_roles_editor,
        *worker.rest_roles_admin,
    )
    return any(text.startswith(CERTIFICATE) for text in roles)


def _unbounded(worker: WorkerConfig) -> Iterable[tuple[str, str]]:
    for key in ("allowed.paths", "file.stream.paths", "s3.local.folders"):
        given = worker.originals.get(key, "")
        if "/" in (part.strip() for part in given.split(",")):
            yield key, given


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
