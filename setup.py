"""What pyproject.toml cannot say: the native code, which an install without a compiler leaves out.

CONNECT_PURE=1 leaves it out anyhow, for a wheel that every platform takes. CONNECT_PLATFORM names the platform of a
wheel with native code, as `make wheels` knows what its compiler links against: manylinux_2_17_x86_64.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterable
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

CORE = Path("connect/native/src")
ROWS = Path("connectors/jdbc/native/src")
CASSANDRA = Path("connectors/cassandra/native/src")
# Arrow's interface, memory and checksums, which each module has a copy of.
SHARED = tuple(CORE / f"{name}.cpp" for name in ("arrow", "buffer", "crc32", "utf8"))
PLATFORM = os.environ.get("CONNECT_PLATFORM")
PURE = os.environ.get("CONNECT_PURE") == "1"
SOURCES_ID = runpy.run_path("connect/lib/native_build.py")["sources_id"]


def native(name: str, sources: Iterable[Path], folders: Iterable[Path]) -> Extension:
    """An optional module over CPython's stable ABI, which says what the folders held that it was built from."""
    windows = sys.platform == "win32"
    return Extension(
        name,
        sources=[str(source) for source in sources],
        depends=[str(header) for header in sorted([*CORE.glob("*.h"), *ROWS.glob("*.h"), *CASSANDRA.glob("*.h")])],
        include_dirs=[str(CORE)],
        define_macros=[("CONNECT_SOURCES", SOURCES_ID(folders))],
        extra_compile_args=["/std:c++17", "/O2"] if windows else ["-std=c++17", "-O2", "-pthread"],
        libraries=[] if windows else ["dl", "pthread"],
        py_limited_api=True,
        optional=True,
    )


class BuildWhatCan(build_ext):
    """setuptools only warns of an optional extension that fails: say what it means."""

    def run(self) -> None:
        super().run()
        for extension in self.extensions:
            if not Path(self.get_ext_fullpath(extension.name)).exists():
                sys.stderr.write(f"{extension.name} was not built: Connect runs without it, but slower.\n")


class WithDemoFiles(build_py):
    """Puts the files of `configs` that `connect demo` reads beside its code, where a wheel may hold them."""

    def run(self) -> None:
        super().run()
        for folder in () if self.editable_mode else ("demo", "backfill"):
            self.copy_tree(f"configs/{folder}", f"{self.build_lib}/connect/tools/demo/configs/{folder}")


setup(
    cmdclass={"build_ext": BuildWhatCan, "build_py": WithDemoFiles},
    # The native code is of the stable ABI, so one wheel per platform serves every supported Python.
    options={}
    if PURE
    else {"bdist_wheel": {"py_limited_api": "cp311", **({"plat_name": PLATFORM} if PLATFORM else {})}},
    ext_modules=[]
    if PURE
    else [
        native("connect.native._connect", sorted(CORE.glob("*.cpp")), [CORE]),
        native("connectors.jdbc.native._rows", [*sorted(ROWS.glob("*.cpp")), *SHARED], [ROWS, CORE]),
        native(
            "connectors.cassandra.native._cassandra", [*sorted(CASSANDRA.glob("*.cpp")), *SHARED], [CASSANDRA, CORE]
        ),
    ],
)
