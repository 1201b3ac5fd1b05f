"""Which sources native code was built from, so that a build that is older than the Python beside it is noticed.

setup.py loads this file by its path, before anything is installed: the standard library only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def sources_id(folders: Iterable[Path]) -> str | None:
    """A name for the C++ in these folders, in every checkout the same; None where they are not installed."""
    found = [path for folder in folders for path in sorted(folder.glob("*.[ch]*"))]
    if not found:
        return None
    digest = hashlib.sha256()
    for path in found:
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return f"s{digest.hexdigest()[:16]}"


def is_stale(built_from: object, folders: Iterable[Path]) -> bool:
    """Whether a module was built from other sources; `built_from`: its constant `sources`, None if it has none."""
    present = sources_id(folders)
    return present is not None and present != built_from
