"""Builds the image of docker/Dockerfile without an image registry: with buildah, on a Debian that is made here.

`python:3.13-slim` is replaced by what `mmdebstrap` makes of Debian's packages: the same system and the same Python, but
in other folders. The machine's certificates and pip's settings are lent to the build, and are in no image.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from connect.tools.services.process.cache import cache_folder, ensure_folder

ROOT: Final = Path(__file__).parents[3]
BASE: Final = "docker.io/library/python:3.13-slim"
SLIM: Final = "jdbc-postgres,jdbc-mariadb,oidc,registry"
_RELEASE: Final = "trixie"
_ARCHIVE: Final = "system.tar"
_HEADERS: Final = (
    "cd /tmp && apt-get -qq download libpython3.13-dev && "
    "dpkg-deb --fsys-tarfile libpython3.13-dev_*.deb | tar -x -C / ./usr/include && "
    "rm libpython3.13-dev_*.deb && ln -s python3.13 /usr/bin/python"
)
"""Installs Python's own headers without those of the C library, as in the image of that name."""
_CACHE_OF_BUILD: Final = "/root/.cache/pip"
"""The build runs as root of its container, whose pip keeps downloads in this folder."""
_LENT: Final = {"/etc/ssl/certs": "/etc/ssl/certs", "/etc/pip.conf": "/etc/pip.conf"}
_PROGRAMS: Final = ("buildah", "mmdebstrap", "unshare", "nsenter")
_BUILD_S: Final = 1800


def why_not() -> str | None:
    """Return why no image can be built here; None if it can be."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"NO IMAGE IS TESTED: it is built by {', '.join(_PROGRAMS)}, and {', '.join(missing)} is not installed."
    return None if os.geteuid() == 0 else "NO IMAGE IS TESTED: only root may build one here."


@dataclass(frozen=True)
class Image:
    """Holds an image's files, as a container sees them, and its settings of how it is run."""

    root: Path
    config: dict[str, Any]

    def environment(self) -> dict[str, str]:
        """Return the variables of a container."""
        return dict(one.split("=", 1) for one in self.config["Env"])

    def run(self, *command: str) -> str:
        """Return the output of a command that the image's user runs on its files."""
        user = self.config["User"]
        return _run("chroot", f"--userspec={user}", str(self.root), *command)

    def size_bytes(self) -> int:
        """Return the bytes that its files take on a disk; a file with several names counts once."""
        found = {(one.st_dev, one.st_ino): one.st_size for one in map(os.lstat, self.root.rglob("*"))
                 if stat.S_ISREG(one.st_mode)}  # fmt: skip
        return sum(found.values())


class Builder:
    """Builds images in a separate folder, which holds all of them until it is removed."""

    def __init__(self, folder: Path) -> None:
        """Take an empty folder."""
        self._folder = folder
        self._has_base = False

    def image(self, name: str, **arguments: str) -> Image:
        """Return the image of docker/Dockerfile with these build arguments."""
        if not self._has_base:
            self._make_base()
        lent = [f"--volume={ours}:{theirs}:ro" for ours, theirs in _LENT.items() if Path(ours).exists()]
        given = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        cache = Path.home() / ".cache/pip"
        cache.mkdir(parents=True, exist_ok=True)
        self._buildah(
            "bud", "--isolation=chroot", "--format=docker", "--pull-never", "--layers=false", *lent, *given,
            f"--volume={cache}:{_CACHE_OF_BUILD}", "--file=docker/Dockerfile", f"--tag={name}", ".",
        )  # fmt: skip
        container = self._buildah("from", "--pull-never", f"localhost/{name}")
        config = json.loads(self._buildah("inspect", "--type=image", f"localhost/{name}"))["Docker"]["config"]
        return Image(Path(self._buildah("mount", container)), config)

    def remove(self) -> None:
        """Remove all images."""
        self._buildah("rm", "--all")
        self._buildah("rmi", "--all", "--force")

    def _make_base(self) -> None:
        container = self._buildah("from", "scratch")
        self._buildah("add", "--quiet", container, str(_system()), "/")
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self._buildah("config", f"--env=PATH={path}", container)
        self._buildah("commit", "--quiet", "--rm", container, BASE)
        self._has_base = True

    def _buildah(self, *arguments: str) -> str:
        places = ("--root", f"{self._folder}/images", "--runroot", f"{self._folder}/run", "--storage-driver", "vfs")
        return _run("buildah", *places, *arguments)


def _system() -> Path:
    """Return an archive of the files of the base image, made once for this machine."""

    def fill(folder: Path) -> None:
        left_out = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")
        _run(
            "mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates,python3.13-venv",
            *(f"--dpkgopt=path-exclude={path}" for path in left_out),
            f"--customize-hook=chroot \"$1\" sh -c '{_HEADERS}'", _RELEASE, str(folder / _ARCHIVE),
        )  # fmt: skip

    folder = cache_folder() / f"debian-{_RELEASE}-python-3.13"
    return ensure_folder(folder, complete=lambda found: (found / _ARCHIVE).exists(), fill=fill) / _ARCHIVE


def _run(*command: str) -> str:
    """Return the last line that a command prints. AssertionError, with its whole output: it fails."""
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    assert ran.returncode == 0, (
        f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}"
    )
    return ran.stdout.strip()
