"""Fetches programs and files of Go modules from the machine's proxy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from connect.tools.services.process.cache import cache_folder

GO = shutil.which("go") or "/usr/local/go/bin/go"


def tool(name: str, module: str) -> str:
    """Return the path of a Go program, which is built if it is missing."""
    if found := shutil.which(name):
        return found
    folder = cache_folder() / "go"
    if not (folder / name).exists():
        subprocess.run([GO, "install", module], env={**os.environ, "GOBIN": str(folder)}, check=True, timeout=3000)
    return str(folder / name)


def module_folder(module: str) -> Path:
    """Return the folder with the files of a Go module."""
    done = subprocess.run([GO, "mod", "download", "-json", module], capture_output=True, check=True, timeout=1200)
    return Path(json.loads(done.stdout)["Dir"])
