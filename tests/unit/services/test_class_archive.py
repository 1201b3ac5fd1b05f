"""Checks what becomes of the recording of a program's classes. That a JVM starts with one is in the tests of Kafka."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from connect.tools.services.class_archive import archived_classes
from connect.tools.services.java import Java
from connect.tools.services.process.errors import ServiceStartError


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    monkeypatch.setenv("CONNECT_SERVICES_CACHE", str(tmp_path))
    return Java(launcher=Path("/jdk/bin/java"), major_version=17, found_by="PATH", version="17.0.15+6")


class Program:
    """Writes the archive it is asked for at its end, as a JVM does."""

    def __init__(self, *, writes: bool = True) -> None:
        self.starts: list[str] = []
        self._writes = writes

    @contextmanager
    def start(self, option: str) -> Iterator["Program"]:
        self.starts.append(option)
        yield self

    def stop(self, grace_s: float | None = None) -> None:
        assert grace_s is not None
        assert grace_s >= 60, "Writing takes its time."
        name, _, path = self.starts[-1].partition("=")
        assert name == "-XX:ArchiveClassesAtExit"
        if self._writes:
            Path(path).write_text("classes")


def test_a_program_is_recorded_once_for_each_java(java: Java) -> None:
    program = Program()
    (option,) = archived_classes("kafka", java, (), program.start)
    name, _, path = option.partition("=")
    assert (name, Path(path).read_text()) == ("-XX:SharedArchiveFile", "classes")
    assert archived_classes("kafka", java, ("-Xmx1g",), program.start) == (option,)
    assert archived_classes("kafka", replace(java, version="17.0.16+8"), (), program.start) != (option,)
    assert len(program.starts) == 2


@pytest.mark.parametrize("given", ["-XX:ArchiveClassesAtExit=/a.jsa", "-XX:SharedArchiveFile=/a.jsa"])
def test_a_program_that_is_told_its_archive_gets_no_other(java: Java, given: str) -> None:
    program = Program()
    assert archived_classes("kafka", java, ("-Xmx1g", given), program.start) == ()
    assert program.starts == []


def test_a_java_that_writes_no_archive_is_started_without_and_not_asked_again(java: Java, tmp_path: Path) -> None:
    program = Program(writes=False)
    assert [archived_classes("kafka", java, (), program.start) for _ in range(2)] == [(), ()]
    assert len(program.starts) == 1
    (reason,) = tmp_path.glob("*/why-not.txt")
    assert "without writing an archive" in reason.read_text()


def test_a_program_that_does_not_start_to_be_recorded_starts_without_and_the_reason_is_kept(
    java: Java, tmp_path: Path
) -> None:
    def start(option: str) -> AbstractContextManager[Program]:
        raise ServiceStartError("Unrecognized VM option.", fix="See the log.")

    assert [archived_classes("kafka", java, (), start) for _ in range(2)] == [(), ()]
    (reason,) = tmp_path.glob("*/why-not.txt")
    assert "Unrecognized VM option" in reason.read_text()
