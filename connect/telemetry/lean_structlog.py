"""structlog without rich, which it loads for its tracebacks wherever that is installed.

That costs every process 0.1 s at its start and 4 MiB for good, and our tracebacks are plain (`logs.py`).
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, cast


def load_structlog() -> None:
    """Load structlog; from the first thread of a process, before anything else has loaded it."""
    modules = cast("dict[str, Any]", sys.modules)
    if "structlog" in modules or "rich" in modules:
        return
    modules["rich"] = None  # so that importing it fails
    try:
        importlib.import_module("structlog")
    finally:
        del modules["rich"]
