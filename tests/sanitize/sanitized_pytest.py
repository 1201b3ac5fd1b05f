"""Runs pytest with native modules of our choice: `python -m tests.sanitize.sanitized_pytest FOLDER TESTS...`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

NAMES = (
    "connect.native._connect", "connectors.jdbc.native._rows", "connectors.cassandra.native._cassandra"
)  # fmt: skip


def use(name: str, path: str) -> None:
    """Have the package of that name find this module, not the installed one."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module


def main(folder: str, tests: list[str]) -> int:
    for name in NAMES:
        use(name, str(Path(folder) / f"{name.rpartition('.')[2]}.so"))
        found = importlib.import_module(name.rpartition(".")[0]).module()
        assert found is sys.modules[name], f"{name} is switched off"
    return pytest.main(["-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
