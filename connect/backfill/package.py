"""Packs the environment of a lane into an archive, for executors of a cluster on which nothing of ours is installed.

It is a virtual environment of the standard library. It holds the files of this product, of the extras that are
installed here, and of everything that these need. PySpark is left out, as the cluster has it. Its `bin/python` is a
link to an interpreter of the cluster's machines, of the same minor version.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
import venv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from connect.api.errors import ConfigError

PRODUCT: Final = "connect-for-kafka"
EXTRAS: Final = ("jdbc-postgres", "jdbc-mariadb", "registry-protobuf", "s3", "bigquery", "cassandra", "sql")
"""These extras are needed by connectors and converters; those of the demo, of services and of tests run in no lane."""
_OF_THE_CLUSTER: Final = frozenset({"pyspark", "py4j"})
_OWN: Final = ("connect", "connectors")
_LEFT_OUT: Final = frozenset({"__pycache__", "tests", "include"})


@dataclass(frozen=True, slots=True)
class PackedEnvironment:
    """Describes the archive that was written."""

    path: Path
    size_bytes: int
    distributions: Sequence[str]


def package(output: Path, *, extras: Iterable[str] | None = None, python: Path | None = None) -> PackedEnvironment:
    """Write the archive to `output`, and return what it holds.

    `extras` None takes those that are installed here. `python` is the interpreter's path on the cluster's machines;
    None: the same path as here. ConfigError: something is not installed, the name does not end with .tar.gz, or its
    folder does not exist.
    """
    if not output.name.endswith((".tar.gz", ".tgz")):
        raise ConfigError(f"{output} must end with .tar.gz: Spark unpacks archives by their names.", key="output")
    if not output.absolute().parent.is_dir():
        raise ConfigError(f"{output} cannot be written: there is no folder {output.absolute().parent}.", key="output")
    found = needed(distribution, EXTRAS if extras is None else tuple(extras), skip_missing=extras is None)
    with tempfile.TemporaryDirectory(prefix="connect-package-") as folder:
        root = Path(folder) / "env"
        venv.EnvBuilder(symlinks=True, with_pip=False).create(root)
        place = root / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        for name, one in found.items():
            if name == PRODUCT:
                # Its modules come below: one that is installed from its sources has hooks that lead to them.
                write_metadata(one, place)
            else:
                _copy(one, place)
        for module in _OWN:
            _copy_own(module, place)
        _link(root, python or Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
        # The archive is compressed least: wheels hold machine code, and each machine of the cluster unpacks it.
        with tarfile.open(output, "w:gz", compresslevel=1) as archive:
            archive.add(root, arcname=".")
    return PackedEnvironment(output, output.stat().st_size, sorted(found))


def needed(
    find: Callable[[str], Distribution], extras: Sequence[str], *, skip_missing: bool = False
) -> dict[str, Distribution]:
    """Return the product and everything that it needs with these extras, by canonical name, without PySpark.

    With `skip_missing` an extra is left out if something of it is not installed; otherwise that is a ConfigError.
    """
    found = _closure(find, PRODUCT, ("",))
    for extra in extras:
        try:
            found |= _closure(find, PRODUCT, ("", extra))
        except PackageNotFoundError as error:
            if not skip_missing:
                raise ConfigError(
                    f"Extra {extra} is not installed here: {error}.",
                    key="extra",
                    fix=f"pip install '{PRODUCT}[{extra}]', with the Python that the cluster has.",
                ) from error
    return found


def _closure(find: Callable[[str], Distribution], name: str, extras: Iterable[str]) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    left: list[tuple[str, tuple[str, ...]]] = [(name, tuple(extras))]
    seen = set()
    while left:
        one, wanted = left.pop()
        if (one, wanted) in seen or one in _OF_THE_CLUSTER:
            continue
        seen.add((one, wanted))
        found[one] = find(one)
        left += _requirements(found[one], wanted)
    return found


def _requirements(of: Distribution, extras: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for text in of.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            yield canonicalize_name(requirement.name), ("", *sorted(requirement.extras))


def _copy(of: Distribution, place: Path) -> None:
    for file in of.files or ():
        source = Path(str(of.locate_file(file)))
        # Scripts lie outside of site-packages, and executors run none of them.
        if ".." in file.parts or _LEFT_OUT & set(file.parts) or not source.is_file():
            continue
        target = place / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def write_metadata(of: Distribution, place: Path) -> None:
    """Write a distribution's name and its entry points, by which plug-ins are found.

    Beside its sources a distribution has them in another form.
    """
    folder = place / f"{of.name.replace('-', '_')}-{of.version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(of.read_text("METADATA") or of.read_text("PKG-INFO") or "", encoding="utf-8")
    (folder / "entry_points.txt").write_text(of.read_text("entry_points.txt") or "", encoding="utf-8")


def _copy_own(module: str, place: Path) -> None:
    """Copy one of our packages from where it is imported from, as it may be installed from its sources."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = Path(next(iter(spec.submodule_search_locations)))
    shutil.copytree(
        source, place / module, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.cpp", "*.h")
    )


def _link(root: Path, python: Path) -> None:
    """Make the environment's Python a link to the one on the cluster's machines."""
    link = root / "bin" / "python"
    link.unlink()
    link.symlink_to(python)
    config = root / "pyvenv.cfg"
    config.write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
