"""Native code of a package, and its sources, so that a build that is older than the Python beside it is noticed.

setup.py loads this file by its path, before anything is installed: the standard library only.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final

CORE: Final = Path(__file__).parents[1] / "native" / "src"
"""This folder holds C++ code that Connect's and the connectors' native modules share."""
_OFF: Final = frozenset({"off", "false", "0", "no"})


def sources_id(folders: Iterable[Path]) -> str | None:
    """Return a name for the C++ in these folders, in every checkout the same; None where they are not installed."""
    found = [path for folder in folders for path in sorted(folder.glob("*.[ch]*"))]
    if not found:
        return None
    digest = hashlib.sha256()
    for path in found:
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return f"s{digest.hexdigest()[:16]}"


def is_stale(built_from: object, folders: Iterable[Path]) -> bool:
    """Tell if a module was built from other sources. `built_from` is its constant `sources`, None if it has none."""
    present = sources_id(folders)
    return present is not None and present != built_from


def load(name: str, folder: Path, *, of: str, otherwise: str) -> ModuleType | None:
    """Return a connector's native module; None where CONNECT_NATIVE=off, where it was not built, or from other sources.

    `name`: of the module. `folder`: its sources. `of`, `otherwise`: whose it is, and what happens without, for the log.
    """
    if os.environ.get("CONNECT_NATIVE", "").lower() in _OFF:
        return None
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    if is_stale(getattr(module, "sources", None), [folder, CORE]):
        logging.getLogger(name.rpartition(".")[0]).warning(
            "The native code of %s was built from other sources than those beside it, and is left out: %s the slower "
            "way. Build it again: make setup, or pip install the package again.", of, otherwise,
        )  # fmt: skip
        return None
    return module
