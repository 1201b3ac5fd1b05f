"""Judges who may read the files with passwords and private keys that the worker's file names."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import Final

from connect.doctor.model.facts import Facts, SecretFile
from connect.doctor.model.findings import Finding, Severity

_GROUP: Final = 0o040
_OTHERS: Final = 0o004


class SecretFiles:
    """Judges the modes of these files."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield files that others than the worker's user may read.

        A group that reads the file of another user, as root's, is how the worker itself reads it. On a file system
        that takes no change, as a secret of Kubernetes, the mode is chosen elsewhere, and a container has no others.
        """
        for file in facts.secret_files:
            if file.mode & _OTHERS or (file.mode & _GROUP and file.is_own and not file.is_read_only):
                yield _finding(file)


def _finding(file: SecretFile) -> Finding:
    who = "everybody on this machine" if file.mode & _OTHERS else "its group"
    if file.is_read_only:
        severity, fix = Severity.NOTE, "defaultMode: 0440  # of the volume that mounts it, with fsGroup beside it"
    elif file.is_own:
        severity, fix = Severity.WARNING, f"chmod 600 {quote(file.path)}"
    else:
        severity, fix = (
            Severity.WARNING,
            (f"chown USER {quote(file.path)} && chmod 600 {quote(file.path)}  # USER: whom the worker runs as"),
        )
    return Finding(
        "secret-file-readable", severity, f"worker file, {file.key}",
        f"{file.path} has mode {file.mode:o}: {who} may read it.",
        "It holds passwords or a private key, by which others may do what the worker may.", fix,
    )  # fmt: skip
