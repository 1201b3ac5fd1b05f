"""pytest with a native module of our choice: `python -m tests.sanitize.sanitized_pytest MODULE TESTS...`."""

from __future__ import annotations

import importlib.util
import sys

import pytest

NAME = "connect.native._connect"


def use(path: str) -> None:
    """Have `connect.native` find this module, not the installed one."""
    spec = importlib.util.spec_from_file_location(NAME, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[NAME] = module


def main(path: str, tests: list[str]) -> int:
    use(path)
    from connect import native

    found = native.module()
    assert found is not None
    assert found.__file__ == path, found.__file__
    return pytest.main(["-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
