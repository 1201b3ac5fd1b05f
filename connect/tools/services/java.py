"""Finds the Java that runs the embedded services: first by JAVA_HOME, then on the PATH. One that is too old is
refused.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from connect.tools.services.process.errors import JavaNotFoundError

MINIMUM_JAVA: Final = 17
_INSTALL: Final = f"Install Java {MINIMUM_JAVA} or later (openjdk-{MINIMUM_JAVA}-jre-headless) and set JAVA_HOME to it."
_VERSION = re.compile(r'version "(?P<major>\d+)(?:\.(?P<minor>\d+))?[^"]*"')


@dataclass(frozen=True)
class Java:
    """Holds a Java that is new enough: its launcher, its major version, and how it was found."""

    launcher: Path
    major_version: int
    found_by: str
    version: str
    """Holds all that `java -version` prints."""


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Find Java 17 or later. JavaNotFoundError names what was found instead, and what to do.

    If JAVA_HOME is set but wrong, that is an error and nothing else is looked for, as Spark would use it too.
    """
    launcher, found_by = _launcher(environ)
    version = _version_text(launcher, launcher.resolve().stat().st_mtime_ns)
    major = parse_major_version(version)
    if major is None:
        raise JavaNotFoundError(f"{launcher} (from {found_by}) does not tell its version.", fix=_INSTALL)
    if major < MINIMUM_JAVA:
        raise JavaNotFoundError(
            f"{launcher} (from {found_by}) is Java {major}; Java {MINIMUM_JAVA} or later is needed.", fix=_INSTALL
        )
    return Java(launcher=launcher, major_version=major, found_by=found_by, version=version)


def parse_major_version(text: str) -> int | None:
    """Return the major version that `java -version` prints (8 for `1.8.0_392`); None if the text has none."""
    found = _VERSION.search(text)
    if found is None:
        return None
    major = int(found["major"])
    # Up to Java 8 the first number was always 1 (JEP 223 has changed that).
    return int(found["minor"]) if major == 1 and found["minor"] else major


def _launcher(environ: Mapping[str, str]) -> tuple[Path, str]:
    home = environ.get("JAVA_HOME")
    if home:
        launcher = Path(home, "bin", "java")
        if not os.access(launcher, os.X_OK):
            raise JavaNotFoundError(
                f"JAVA_HOME={home} has no bin/java that can be run.",
                fix=f"Point JAVA_HOME at a JDK {MINIMUM_JAVA} or later, or unset it to use java on the PATH.",
            )
        return launcher, "JAVA_HOME"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is None:
        raise JavaNotFoundError("No Java found: JAVA_HOME is not set and there is no java on the PATH.", fix=_INSTALL)
    return Path(on_path), "PATH"


@lru_cache
def _version_text(launcher: Path, changed_ns: int) -> str:
    """Return what the launcher prints about its version; it is asked once.

    `changed_ns` is when the launcher's file was changed last.
    """
    del changed_ns
    try:
        answer = subprocess.run(  # noqa: S603 -- the launcher is the user's own choice of Java
            [launcher, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaNotFoundError(f"{launcher} cannot be run: {error}.", fix=_INSTALL) from error
    return answer.stderr + answer.stdout
