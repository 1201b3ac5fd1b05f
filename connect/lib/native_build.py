"""Loads native code, unless it was built from other sources than those that are installed beside it.

setup.py loads this file by its path before anything is installed, so it may import the standard library only.
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
    """Return a hash of the C++ sources in these folders, the same in every checkout; None if they are not installed."""
    found = [path for folder in folders for path in sorted(folder.glob("*.[ch]*"))]
    if not found:
        return None
    digest = hashlib.sha256()
    for path in found:
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return f"s{digest.hexdigest()[:16]}"


def is_stale(built_from: object, folders: Iterable[Path]) -> bool:
    """Tell if a module was built from other sources. `built_from` is the module's constant `sources`, None if it has
    none.
    """
    present = sources_id(folders)
    return present is not None and present != built_from


def load(name: str, folder: Path, *, of: str, otherwise: str) -> ModuleType | None:
    """Return a connector's native module; None if CONNECT_NATIVE=off, or if it was not built, or from other sources.

    `name` is the module's, and `folder` has its sources. The log says with `of` whose module it is, and with
    `otherwise` what happens without it.
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
