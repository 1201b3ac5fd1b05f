"""Looks who may read the files with secrets that the worker's own file names. It opens none of them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from connect.doctor.model.facts import SecretFile
from connect.runtime.settings.config_providers import placeholders
from connect.runtime.settings.worker_config import WorkerConfig

_SECRET: Final = re.compile(
    r"rest\.basic\.auth\.file|(.+\.)?(ssl\.keystore\.location|ssl\.key\.location|sasl\.kerberos\.keytab|"
    r"sasl\.oauthbearer\.assertion\.(private\.key\.)?file)"
)
"""A key that fits names a file that holds passwords, private keys or tokens."""


def secret_file_facts(worker: WorkerConfig) -> list[SecretFile]:
    """Return the files with secrets that are there; what is missing is told elsewhere."""
    named = {
        key: value.strip()
        for key, value in worker.originals.items()
        if _SECRET.fullmatch(key) and value.strip() and not any(True for _ in placeholders(value))
    }
    return [found for key, path in named.items() if (found := _looked_at(key, Path(path))) is not None]


def _looked_at(key: str, path: Path) -> SecretFile | None:
    try:
        told = path.stat()
        is_read_only = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return None
    return SecretFile(key, str(path), told.st_mode & 0o777, told.st_uid == os.geteuid(), is_read_only)
