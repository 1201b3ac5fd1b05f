"""What is fetched, into where, and what is said when it cannot be."""

from pathlib import Path

import pytest

from connect.services.cache import cache_folder, ensure_folder
from connect.services.ivy import Artifact, fetch, ivy_module, unresolved

KAFKA = Artifact("org.apache.kafka", "kafka_2.13", "4.1.0")


def test_the_cache_folder_is_the_configured_one_or_the_users() -> None:
    assert cache_folder({"CONNECT_SERVICES_CACHE": "/jars"}) == Path("/jars")
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
    registry = Artifact("io.apicurio", "app", "2.6", packaging="tar.gz", classifier="all", transitive=False)
    module = ivy_module([KAFKA, registry])
    assert 'org="org.apache.kafka" name="kafka_2.13" rev="4.1.0" transitive="true" conf="default-&gt;default"' in module
    assert '<artifact name="app" type="tar.gz" ext="tar.gz" m:classifier="all" />' in module
    assert registry.file_name == "app-2.6-all.tar.gz"


def test_ivys_many_lines_become_the_artifact_and_the_reason() -> None:
    output = """
		:: org.apache.kafka#kafka_2.13;4.1.0: not found
:::: ERRORS
	Server access error at url https://repo.example/kafka_2.13-4.1.0.pom (java.net.ConnectException: Connection refused)
"""
    said = "org.apache.kafka:kafka_2.13:4.1.0 (java.net.ConnectException: Connection refused)"
    assert unresolved(output, [KAFKA]) == said
    assert unresolved("Killed", [KAFKA]) == "org.apache.kafka:kafka_2.13:4.1.0 (Ivy failed)"
