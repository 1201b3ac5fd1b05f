"""Files are those that the worker lists: as links lead, with `..` taken out, and also when a link changes meanwhile."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from connect.api.allowed_paths import EVERYWHERE, AllowedPaths, allowed_by
from connect.api.config import Config, ListOf, Password, String, key
from connect.api.errors import ConfigError
from connect.api.reach import Reach


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """An allowed folder with links out of it, and another one with a secret."""
    inside, outside = tmp_path / "allowed", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("s3cret")
    (inside / "file").write_text("fine")
    (inside / "link").symlink_to(outside / "secret")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside / "loop")
    return inside, outside


def test_nothing_is_allowed_where_nothing_is_listed(folders: tuple[Path, Path]) -> None:
    for none in (AllowedPaths(), AllowedPaths([""]), allowed_by({}), allowed_by({"allowed.paths": " "})):
        assert not none.allow(folders[0] / "file")
        assert not none.allow("")
        assert not none.allow("/")


def test_what_is_below_a_listed_folder_is_allowed_and_nothing_else(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    allowed = AllowedPaths([str(inside)])
    for path in (inside, inside / "file", inside / "not" / "there", f"{inside}/../allowed/file", f"{inside}//file"):
        assert allowed.allow(path)
    beside = Path(f"{inside}-not")
    for path in (
        outside, inside.parent, inside / "link", inside / "folder" / "x", inside / ".." / "outside", beside,
        f"{inside}/folder/../secret", f"{inside}/file\0", "", "relative", "/proc/self/cwd/secret",
    ):  # fmt: skip
        assert not allowed.allow(path), path


def test_a_text_that_is_too_long_for_a_path_is_looked_up_nowhere(folders: tuple[Path, Path]) -> None:
    inside, _ = folders
    allowed = AllowedPaths([str(inside)])
    assert allowed.allow(f"{inside}/{'./' * 1000}one")
    longer = f"{inside}/{'./' * 2100}one"
    assert not allowed.allow(longer)
    assert "lets no configuration name that file" in allowed.refusal(longer)


def test_a_listed_link_counts_as_where_it_leads_and_a_listed_file_as_itself(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    allowed = AllowedPaths([str(inside / "folder"), str(inside / "file")])
    assert allowed.allow(outside / "secret")
    assert allowed.allow(inside / "file")
    assert not allowed.allow(inside / "file2")
    assert (allowed.folders, allowed.files) == ([str(outside)], [str(inside / "file")])
    assert allowed_by(EVERYWHERE).allow("/etc/passwd")


def test_a_closed_folder_is_not_allowed_by_those_around_and_in_it(folders: tuple[Path, Path]) -> None:
    inside, _ = folders
    closed, link = inside / "closed", inside / "way"
    (closed / "deep").mkdir(parents=True)
    link.symlink_to(closed)
    (inside / "other").mkdir()
    for entries in ([inside], [inside, closed / "deep"], [closed], ["/"]):
        allowed = AllowedPaths([*map(str, entries), f"!{closed}"])
        for path in (closed, closed / "env.sh", closed / "deep" / "x", link / "env.sh", f"{inside}/other/../closed/x"):
            assert not allowed.allow(path), path
            with pytest.raises(ConfigError, match="lets no configuration name what is in that folder"):
                allowed.require("file", str(path))
    allowed = AllowedPaths([str(inside), f"!{closed}"])
    assert allowed.allow(inside / "file")
    assert allowed.allow(f"{closed}-not")
    assert AllowedPaths(allowed.paths).allow(closed) is False
    assert sorted(allowed.folders + allowed.files) == [str(inside / "file"), str(inside / "other")]
    assert AllowedPaths([f"!{closed}"]).allow(inside / "file") is False
    for entries in ([], [str(inside)], [str(inside), f"!{closed}"]):
        told = AllowedPaths(entries).problem("file", f"{closed}/x\0y")
        assert told is not None
        assert "add to the worker's own file" in told.message


def test_the_refusal_names_key_path_and_the_line_to_add(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    problem = AllowedPaths().problem("file", f"{outside}/secret")
    assert problem is not None
    assert problem.key == "file"
    assert f"Invalid value {outside}/secret for configuration file: " in problem.message
    assert f"add to the worker's own file: allowed.paths={outside}/secret " in problem.message
    more = AllowedPaths([str(inside)]).problem("keyfile", f"{outside}/secret", shown=False)
    assert more is not None
    assert str(outside) not in more.message
    assert str(inside) not in more.message
    assert "allowed.paths=…,THE PATH OF keyfile " in more.message


def test_a_file_is_opened_where_it_is_allowed(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    allowed = AllowedPaths([str(inside)])
    assert allowed.read_bytes("file", str(inside / "file")) == b"fine"
    for path in ("link", "folder/secret"):
        with pytest.raises(ConfigError, match=r"allowed\.paths"):
            allowed.read_bytes("file", str(inside / path))
    with pytest.raises(FileNotFoundError):
        allowed.read_bytes("file", str(inside / "none"))
    with pytest.raises(OSError, match="symbolic links"):
        allowed.read_bytes("file", str(inside / "loop"))
    descriptor = allowed.open("file", str(inside / "new"), os.O_WRONLY | os.O_CREAT)
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    assert (inside / "new").exists()
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]


@pytest.mark.parametrize("what", ["the file", "its folder"])
def test_a_link_that_is_made_meanwhile_is_not_followed(folders: tuple[Path, Path], what: str) -> None:
    inside, outside = folders
    allowed = AllowedPaths([str(inside)])
    (inside / "a").mkdir()
    (inside / "a" / "secret").write_text("fine")
    moving = inside / "a" / "secret" if what == "the file" else inside / "a"
    target = outside / "secret" if what == "the file" else outside
    ended = threading.Event()

    def swap() -> None:
        kept = inside / "kept"
        while not ended.is_set():
            moving.rename(kept)
            moving.symlink_to(target)
            moving.unlink()
            kept.rename(moving)

    swapping = threading.Thread(target=swap)
    swapping.start()
    read = set()
    try:
        for _ in range(2000):
            try:
                read.add(allowed.read_bytes("file", str(inside / "a" / "secret")))
            except (OSError, ConfigError):
                continue
    finally:
        ended.set()
        swapping.join()
    assert read <= {b"fine"}


class Named(Config):
    """Keys that name files."""

    file: String = key("file", "", doc="A file.", reach=Reach.FILE)
    several: ListOf = key("several", (), doc="Files.", reach=Reach.FILE)
    secret: Password | None = key("secret.file", None, doc="A file.", reach=Reach.FILE)
    own: ListOf = key("own.folders", (), doc="Folders.", reach=Reach.FILE, from_worker=True)


def test_every_key_that_names_files_is_checked() -> None:
    given = {"file": "/a", "several": "/b, /c", "secret.file": "/d/s3cret"}
    with pytest.raises(ConfigError) as refused:
        Named.parse(given)
    assert [problem.key for problem in refused.value.problems] == ["file", "several", "several", "secret.file"]
    assert "s3cret" not in str(refused.value)
    assert Named.parse({}).file == ""
    assert Named.parse({**given, "allowed.paths": "/a,/b,/c,/d"}).file == "/a"


def test_only_the_worker_lists_and_a_plug_ins_own_list_adds_to_it() -> None:
    given = {"file": "/a/x", "several": "/b/x", "allowed.paths": "/", "own.folders": "/"}
    leaves: tuple[dict[str, str], ...] = ({}, {"allowed.paths": "/a"}, {"own.folders": "/b"})
    for worker in leaves:
        with pytest.raises(ConfigError):
            Named.parse(Named.with_leave(given, worker))
    parsed = Named.parse(Named.with_leave(given, {"allowed.paths": "/a", "own.folders": "/b"}))
    assert set(parsed.originals) == {"file", "several"}
    assert parsed.changed({"file": "/b/y"}).file == "/b/y"
    with pytest.raises(ConfigError):
        parsed.changed({"file": "/c", "allowed.paths": "/"})
