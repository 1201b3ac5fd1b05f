"""Finds the Ivy that fetches jars: the one that PySpark brings, or one from Maven's repository, fetched once."""

import hashlib
import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Final

from connect.lib.http_client import HttpClient, NoAnswerError, environment_proxy
from connect.tools.services.process.errors import ArtifactError

VERSION: Final = "2.5.3"
SHA256: Final = "9502aa5aabf0b1484924a13ef4b5d24f121f7f91aab6768f11cc9d0906c0803b"
REPOSITORY: Final = "https://repo1.maven.org/maven2"
_TIMEOUT_S: Final = 60.0
_LIMIT_BYTES: Final = 8 << 20


def ivy_jar(cache: Path) -> Path:
    """Return PySpark's Ivy, or else that of the cache, which is fetched if it is missing.

    The caller holds the lock of the cache. ArtifactError: it cannot be fetched, or is not the file that it should be.
    """
    spark = importlib.util.find_spec("pyspark")
    for location in (spark.submodule_search_locations or ()) if spark else ():
        for jar in sorted(Path(location, "jars").glob("ivy-*.jar")):
            return jar
    kept = cache / f"ivy-{VERSION}.jar"
    if not kept.is_file():
        _keep(_fetched(kept), kept)
    return kept


def _fetched(kept: Path) -> bytes:
    url = f"{REPOSITORY}/org/apache/ivy/ivy/{VERSION}/ivy-{VERSION}.jar"
    try:
        with HttpClient(timeout_s=_TIMEOUT_S, proxy=environment_proxy(url), limit_bytes=_LIMIT_BYTES) as client:
            answer = client.ask("GET", url)
    except NoAnswerError as error:
        raise _not_fetched(url, str(error), kept) from None
    if answer.status != 200:
        raise _not_fetched(url, f"{answer.status} {answer.reason}", kept)
    if hashlib.sha256(answer.data).hexdigest() != SHA256:
        raise _not_fetched(url, f"the SHA-256 of its {len(answer.data)} bytes is not {SHA256}", kept)
    return answer.data


def _not_fetched(url: str, reason: str, kept: Path) -> ArtifactError:
    return ArtifactError(
        f"Ivy, which fetches the jars, could not be fetched from {url} ({reason}).",
        fix=f"Check the network and https_proxy, or put that file at {kept}. PySpark brings one, too.",
    )


def _keep(data: bytes, target: Path) -> None:
    """Write a file in one step, so that none is there in part."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".ivy-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
