"""Keeps pyarrow from loading pandas before a plug-in does: that costs each task host 0.3 CPU seconds and 40 MiB.

pyarrow looks for pandas once, when the first array is made from Python values, to know a Series when it gets one. Here
it looks in vain, and looks again as soon as anybody imports pandas; so plug-ins that use pandas see no difference.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Final

PANDAS: Final = "pandas"


def defer_pandas() -> None:
    """Let pyarrow look for pandas now and find none. Once in a process, before its first array; else without effect."""
    if PANDAS in sys.modules or importlib.util.find_spec(PANDAS) is None:
        return
    import pyarrow as pa

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(hidden)
    sys.meta_path.insert(0, _Announced())


class _Hidden(MetaPathFinder):
    """There is no pandas."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname == PANDAS:
            raise ModuleNotFoundError(f"No module named {PANDAS!r}", name=PANDAS)
        return None


class _Announced(MetaPathFinder):
    """Finds pandas as ever, and lets pyarrow know once it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != PANDAS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(PANDAS)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_tell(module: ModuleType) -> None:
                import pyarrow as pa

                load(module)
                pa.table({}).to_pandas()  # this makes pyarrow look again

            spec.loader.exec_module = load_and_tell  # type: ignore[method-assign]
        return spec
