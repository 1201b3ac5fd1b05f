"""Checks what is fetched, into where, and what is said when it cannot be."""

import hashlib
import sys
import tarfile
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from connect.tools.services import ivy_jar, registry
from connect.tools.services.ivy import Artifact, fetch, ivy_module, unresolved
from connect.tools.services.process.cache import cache_folder, ensure_folder
from connect.tools.services.process.errors import ArtifactError

KAFKA = Artifact("org.apache.kafka", "kafka_2.13", "4.1.0")


def test_the_cache_folder_is_the_configured_one_or_the_users() -> None:
    assert cache_folder({"CONNECT_SERVICES_CACHE": "/jars", "XDG_CACHE_HOME": "/caches"}) == Path("/jars")
    assert cache_folder({"XDG_CACHE_HOME": "/caches"}) == Path("/caches/connect-for-kafka")
    assert cache_folder({"XDG_CACHE_HOME": "here"}) == Path.home() / ".cache" / "connect-for-kafka"
    assert cache_folder({}) == Path.home() / ".cache" / "connect-for-kafka"


def test_jars_that_are_in_the_cache_are_used_without_java_or_network(tmp_path: Path) -> None:
    folder = tmp_path / "kafka-4.1.0"
    folder.mkdir()
    (folder / KAFKA.file_name).touch()
    assert fetch("kafka-4.1.0", [KAFKA], {"CONNECT_SERVICES_CACHE": str(tmp_path)}) == folder


def test_a_fill_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        ensure_folder(tmp_path / "jars", complete=Path.exists, fill=fail)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_an_incomplete_folder_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "jars"
    target.mkdir()
    (target / "old.jar").touch()

    ensure_folder(
        target,
        complete=lambda folder: (folder / "new.jar").exists(),
        fill=lambda folder: (folder / "new.jar").touch(),
    )

    assert [path.name for path in target.iterdir()] == ["new.jar"]


def test_the_ivy_file_asks_for_each_artifact() -> None:
    bundle = Artifact("io.apicurio", "app", "2.6", packaging="tar.gz", classifier="all", transitive=False)
    module = ivy_module([KAFKA, bundle])
    assert 'org="org.apache.kafka" name="kafka_2.13" rev="4.1.0" transitive="true" conf="default-&gt;default"' in module
    assert '<artifact name="app" type="tar.gz" ext="tar.gz" m:classifier="all" />' in module
    assert bundle.file_name == "app-2.6-all.tar.gz"


def test_ivys_many_lines_become_the_artifact_and_the_reason() -> None:
    output = """
		:: org.apache.kafka#kafka_2.13;4.1.0: not found
:::: ERRORS
	Server access error at url https://repo.example/kafka_2.13-4.1.0.pom (java.net.ConnectException: Connection refused)
"""
    said = "org.apache.kafka:kafka_2.13:4.1.0 (java.net.ConnectException: Connection refused)"
    assert unresolved(output, [KAFKA]) == said
    assert unresolved("Killed", [KAFKA]) == "org.apache.kafka:kafka_2.13:4.1.0 (Ivy failed)"


def test_a_folder_that_is_filled_asks_for_no_other_of_its_cache(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        ensure_folder(tmp_path / "other", complete=Path.exists, fill=lambda _: None)

    with pytest.raises(RuntimeError, match="held already"):
        ensure_folder(tmp_path / "jars", complete=Path.exists, fill=fill)
    assert ensure_folder(tmp_path / "other", complete=Path.exists, fill=lambda _: None).exists()


def test_the_registry_is_unpacked_into_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(name: str, artifacts: Sequence[Artifact]) -> Path:
        def fill(folder: Path) -> None:
            runner = tmp_path / f"apicurio-registry-app-{registry.REGISTRY_VERSION}-runner.jar"
            runner.write_bytes(b"a jar")
            with tarfile.open(folder / artifacts[0].file_name, "w:gz") as archive:
                archive.add(runner, runner.name)

        return ensure_folder(cache_folder() / name, complete=Path.exists, fill=fill)

    monkeypatch.setenv("CONNECT_SERVICES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "fetch", fetched)
    monkeypatch.setattr(registry, "archived_classes", lambda *_: ())
    registry.SchemaRegistryService().prepare()
    assert len(list((tmp_path / "cache").glob("schema-registry-*-program/*-runner.jar"))) == 1


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of Ivy's jar in a Maven repository on loopback, on a machine without PySpark."""
    folder = tmp_path / "repository" / "org/apache/ivy/ivy" / ivy_jar.VERSION
    folder.mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path / "repository"))
    monkeypatch.setattr(ivy_jar, "REPOSITORY", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setitem(sys.modules, "pyspark", None)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder
    server.shutdown()
    server.server_close()
    thread.join()


def test_ivy_is_fetched_once_where_there_is_no_pyspark(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = repository / f"ivy-{ivy_jar.VERSION}.jar"
    jar.write_bytes(b"a jar")
    monkeypatch.setattr(ivy_jar, "SHA256", hashlib.sha256(b"a jar").hexdigest())
    kept = ivy_jar.ivy_jar(tmp_path)
    jar.unlink()
    assert ivy_jar.ivy_jar(tmp_path) == kept
    assert kept.read_bytes() == b"a jar"


@pytest.mark.parametrize(("content", "told"), [(b"another jar", "SHA-256 of its 11 bytes"), (None, "404 Not Found")])
def test_an_ivy_that_is_not_the_known_one_is_not_kept(
    repository: Path, tmp_path: Path, content: bytes | None, told: str
) -> None:
    if content is not None:
        (repository / f"ivy-{ivy_jar.VERSION}.jar").write_bytes(content)
    with pytest.raises(ArtifactError, match=told) as raised:
        ivy_jar.ivy_jar(tmp_path)
    assert f"put that file at {tmp_path}" in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]
