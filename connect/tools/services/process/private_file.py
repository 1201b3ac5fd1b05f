"""Writes files with secrets for services."""

import os
from pathlib import Path


def write_private(file: Path, text: str) -> Path:
    """Write a file that only its owner may read, in place of one that a connector may have put there."""
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as written:
        written.write(text)
    return file
