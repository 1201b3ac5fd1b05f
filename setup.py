"""What pyproject.toml cannot say: the native code, which an install without a compiler leaves out."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = Path("connect/native/src")


class BuildWhatCan(build_ext):
    """setuptools only warns of an optional extension that fails: say what it means."""

    def run(self) -> None:
        super().run()
        for extension in self.extensions:
            if not Path(self.get_ext_fullpath(extension.name)).exists():
                sys.stderr.write(f"{extension.name} was not built: Connect runs without it, but slower.\n")


setup(
    cmdclass={"build_ext": BuildWhatCan},
    ext_modules=[
        Extension(
            "connect.native._connect",
            sources=[str(source) for source in sorted(SOURCES.glob("*.cpp"))],
            depends=[str(header) for header in sorted(SOURCES.glob("*.h"))],
            extra_compile_args=["/std:c++17", "/O2"] if sys.platform == "win32" else ["-std=c++17", "-O2"],
            libraries=[] if sys.platform == "win32" else ["dl"],
            py_limited_api=True,
            optional=True,
        )
    ],
)
