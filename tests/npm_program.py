"""Fetches programs from the npm registry that tests run; they are kept in the cache of fetched programs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from connect.tools.services.process.cache import FETCH_DEADLINE_S, cache_folder, ensure_folder
from connect.tools.services.process.errors import ArtifactError


def npm_program(package: str, version: str, program: str) -> Path:
    """Fetch the package unless it is there, and return the path of a file in its node_modules."""
    if shutil.which("npm") is None:
        raise ArtifactError(f"{package} needs npm, which is not on the PATH.", fix="Install Node.js.")
    place = Path("node_modules") / program

    def install(folder: Path) -> None:
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(
            [*command, f"{package}@{version}"], cwd=folder, check=True, timeout=FETCH_DEADLINE_S, capture_output=True
        )

    folder = ensure_folder(
        cache_folder() / f"{package}-{version}", complete=lambda path: (path / place).exists(), fill=install
    )
    return folder / place
