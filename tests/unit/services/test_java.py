from pathlib import Path

import pytest

from connect.tools.services.java import find_java, parse_major_version
from connect.tools.services.process.errors import JavaNotFoundError


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ("Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n" + 'openjdk version "21.0.2" 2024-01-16 LTS', 21),
        ("command not found", None),
    ],
)
def test_the_major_version_is_read_from_every_form_java_prints(text: str, major: int | None) -> None:
    assert parse_major_version(text) == major


def test_java_home_wins_over_the_path(tmp_path: Path) -> None:
    home = java_printing('openjdk version "21.0.2"', at=tmp_path / "home" / "bin")
    on_path = java_printing('openjdk version "17.0.1"', at=tmp_path / "path")

    java = find_java({"JAVA_HOME": str(home.parent.parent), "PATH": str(on_path.parent)})

    assert (java.launcher, java.major_version, java.found_by) == (home, 21, "JAVA_HOME")


def test_java_is_found_on_the_path_without_java_home(tmp_path: Path) -> None:
    on_path = java_printing('openjdk version "17.0.1"', at=tmp_path)
    assert find_java({"PATH": str(tmp_path)}).launcher == on_path


def test_a_java_that_is_too_old_is_named_with_its_version_and_the_fix(tmp_path: Path) -> None:
    java_printing('openjdk version "11.0.2"', at=tmp_path)
    with pytest.raises(JavaNotFoundError, match=r"java \(from PATH\) is Java 11; Java 17 or later is needed.*Install"):
        find_java({"PATH": str(tmp_path)})


def test_a_missing_java_is_said_with_the_fix() -> None:
    with pytest.raises(JavaNotFoundError, match=r"No Java found: JAVA_HOME is not set.*Install Java 17 or later"):
        find_java({"PATH": ""})


def test_a_java_home_without_java_is_an_error_even_with_java_on_the_path(tmp_path: Path) -> None:
    java_printing('openjdk version "17.0.1"', at=tmp_path)
    with pytest.raises(JavaNotFoundError, match=r"JAVA_HOME=/nowhere has no bin/java"):
        find_java({"JAVA_HOME": "/nowhere", "PATH": str(tmp_path)})


def java_printing(version: str, *, at: Path) -> Path:
    at.mkdir(parents=True, exist_ok=True)
    launcher = at / "java"
    launcher.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    launcher.chmod(0o755)
    return launcher
