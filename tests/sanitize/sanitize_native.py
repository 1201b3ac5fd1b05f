"""Runs the native code's tests with AddressSanitizer and UndefinedBehaviorSanitizer watching it: `make sanitize`.

The modules are built apart, with g++, and take the place of the installed ones in a Python that has loaded the
sanitizers first. What they find ends the run with the place in the source. Leaks are not looked for: the interpreter
itself keeps memory to its end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from connect.lib.native_build import sources_id

CORE, ROWS = Path("connect/native/src"), Path("connectors/jdbc/native/src")
CASSANDRA = Path("connectors/cassandra/native/src")
SHARED = tuple(CORE / f"{name}.cpp" for name in ("arrow", "buffer", "crc32", "utf8"))
SOURCES = {
    "_connect.so": sorted(CORE.glob("*.cpp")),
    "_rows.so": [*sorted(ROWS.glob("*.cpp")), *SHARED],
    "_cassandra.so": [*sorted(CASSANDRA.glob("*.cpp")), *SHARED],
}
TESTS = (
    "tests/unit/convert/test_native_json_decode.py",
    "tests/unit/convert/test_native_json_encode.py",
    "tests/unit/convert/test_native_json_compact.py",
    "tests/unit/convert/test_convert_json.py",
    "tests/unit/convert/test_convert_json_property.py",
    "tests/unit/native",
    "tests/unit/convert/avro/test_avro_native.py",
    "tests/unit/convert/avro/test_avro_native_decode.py",
    "tests/unit/jdbc/test_jdbc_native_rows.py",
    "tests/unit/jdbc/test_jdbc_mysql_prepared.py",
    "tests/unit/cassandra/test_cassandra_native.py",
    "tests/unit/cassandra/test_cassandra_native_cells.py",
    "tests/unit/cassandra/test_cassandra_native_values.py",
    "tests/unit/kafka/test_kafka_linger.py",
    "tests/integration/kafka/test_kafka_consumer.py",
    "tests/integration/kafka/test_kafka_producer.py",
)
FLAGS = ("-std=c++17", "-O1", "-g", "-fPIC", "-shared", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        for name, sources in SOURCES.items():
            build(Path(folder) / name, sources)
        environment = {
            **os.environ,
            "LD_PRELOAD": " ".join(runtime(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")),
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:strict_string_checks=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            # Each object of Python's has a block of its own, whose edges are watched.
            "PYTHONMALLOC": "malloc",
            "CONNECT_NATIVE": "on",
            "CONNECT_NATIVE_DRAWS": os.environ.get("CONNECT_NATIVE_DRAWS", "3000"),
        }
        argv = [sys.executable, "-m", "tests.sanitize.sanitized_pytest", folder, *(arguments or TESTS)]
        return subprocess.run(argv, env=environment, check=False).returncode


def build(module: Path, sources: Sequence[Path]) -> None:
    """A module with both sanitizers in it."""
    folders = [f"-I{sysconfig.get_path('include')}", f"-I{CORE}"]
    built_from = f"-DCONNECT_SOURCES={sources_id(dict.fromkeys((sources[0].parent, CORE)))}"
    argv = ["g++", *FLAGS, "-fsanitize=address,undefined", built_from, *folders, "-o", str(module)]
    subprocess.run([*argv, *map(str, sources), "-ldl", "-pthread"], check=True)


def runtime(name: str) -> str:
    """The path of one of the compiler's libraries."""
    argv = ["g++", f"-print-file-name={name}"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
