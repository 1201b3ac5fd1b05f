"""Checks a folder that is the truth for a cluster: what is deleted, and what is not while its files are being
replaced.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from rest_client import FILE_SOURCE, Rest

from connect.client.folder_sync import FolderSync
from connect.client.rest import Access, ConnectClient


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "connectors"
    found.mkdir()
    return found


@pytest.fixture
def sync(rest: Rest, folder: Path) -> FolderSync:
    return FolderSync(ConnectClient(Access(rest.url)), [folder], prune=True)


def wants(name: str) -> str:
    return json.dumps({"name": name, "config": {"connector.class": FILE_SOURCE, "topic": "t", "file": "/tmp/f"}})


def reasons(sync: FolderSync) -> dict[str, str]:
    sync.run_once()
    return {Path(condition.about).name: condition.reason for condition in sync.conditions}


def test_what_no_file_wants_is_deleted_when_the_next_pass_finds_so_too(
    sync: FolderSync, rest: Rest, folder: Path
) -> None:
    for name in ("kept", "moved"):
        (folder / f"{name}.json").write_text(wants(name))
    assert reasons(sync) == {"kept": "Created", "moved": "Created"}
    # A checkout takes a file away before it writes it elsewhere.
    (folder / "moved.json").unlink()
    assert reasons(sync)["moved"] == "NotWanted"
    (folder / "elsewhere.json").write_text(wants("moved"))
    assert reasons(sync)["moved"] != "NotWanted"
    (folder / "elsewhere.json").unlink()
    assert reasons(sync)["moved"] == "NotWanted"
    (folder / "broken.json").write_text("{")
    assert "moved" not in reasons(sync)
    (folder / "broken.json").unlink()
    assert reasons(sync)["moved"] == "NotWanted"
    assert sorted(rest.get("/connectors")) == ["kept", "moved"]
    assert reasons(sync)["moved"] == "Deleted"
    assert rest.get("/connectors") == ["kept"]


def test_what_there_is_to_say_of_a_folder_keeps_nothing_from_being_deleted(
    sync: FolderSync, folder: Path, tmp_path: Path
) -> None:
    (folder / "gone.json").write_text(wants("gone"))
    (folder / "kept.json").write_text(wants("kept"))
    (folder / "linked").symlink_to(tmp_path)
    assert reasons(sync) == {"gone": "Created", "kept": "Created", "linked": "Noted"}
    (folder / "gone.json").unlink()
    assert reasons(sync)["gone"] == "NotWanted"
    assert reasons(sync)["gone"] == "Deleted"


def test_two_who_keep_one_cluster_are_told_that_there_is_another(
    sync: FolderSync, rest: Rest, folder: Path, tmp_path: Path
) -> None:
    other_folder = tmp_path / "others"
    other_folder.mkdir()
    (folder / "orders.json").write_text(wants("orders"))
    (other_folder / "orders.json").write_text(wants("orders").replace('"t"', '"other"'))
    other = FolderSync(ConnectClient(Access(rest.url)), [other_folder])

    def told(one: FolderSync) -> str:
        one.run_once()
        (condition,) = one.conditions
        return condition.message.partition("orders.json ")[2]

    assert told(sync) == "was sent."
    assert told(other) == "was sent."
    asked = "see connect connectors history orders."
    assert told(sync) == f"was sent again, as somebody else had changed topic: {asked}"
    assert rest("DELETE", "/connectors/orders").status_code == 204
    assert told(sync) == f"was sent again, as somebody else had deleted it: {asked}"
    (folder / "orders.json").write_text(wants("orders").replace("/tmp/f", "/tmp/g"))
    assert told(sync) == "was sent."


def test_a_link_that_leads_nowhere_is_a_file_that_cannot_be_used(sync: FolderSync, rest: Rest, folder: Path) -> None:
    """Kubernetes replaces a ConfigMap's folder first, then makes links to new files, and removes those of old ones."""
    for number, file in ((1, "first.json"), (2, "second.json")):
        (folder / f"..{number}").mkdir()
        (folder / f"..{number}" / file).write_text(wants("orders"))
    (folder / "..data").symlink_to("..1")
    (folder / "first.json").symlink_to("..data/first.json")
    assert reasons(sync) == {"orders": "Created"}
    (folder / "..new").symlink_to("..2")
    (folder / "..new").replace(folder / "..data")
    for _ in range(3):
        assert reasons(sync) == {"first.json": "FileNotUsable"}
    (folder / "second.json").symlink_to("..data/second.json")
    (folder / "first.json").unlink()
    assert "FileNotUsable" not in reasons(sync).values()
    assert rest.get("/connectors") == ["orders"]


def test_a_folder_without_any_connector_deletes_none(sync: FolderSync, rest: Rest, folder: Path) -> None:
    """So an empty folder in the place of one that is not mounted does not cost the cluster all it has."""
    (folder / "orders.json").write_text(wants("orders"))
    assert reasons(sync) == {"orders": "Created"}
    (folder / "orders.json").unlink()
    for _ in range(3):
        assert reasons(sync) == {"connectors": "NoConnectors"}
    (condition,) = sync.conditions
    assert condition.status == "False"
    assert "connect connectors delete" in condition.message
    assert rest.get("/connectors") == ["orders"]


@pytest.mark.parametrize("suffix", ["json", "yaml", "properties"])
def test_a_file_that_became_empty_deletes_no_connector(sync: FolderSync, rest: Rest, folder: Path, suffix: str) -> None:
    """A checkout onto a full disk leaves files without a byte; a file of comments alone is meant so."""
    keys = {"name": "orders", "connector.class": FILE_SOURCE, "file": "/tmp/f", "topic": "t"}
    text = {"json": json.dumps(keys), "yaml": "".join(f"{k}: {v}\n" for k, v in keys.items()),
            "properties": "".join(f"{k}={v}\n" for k, v in keys.items())}[suffix]  # fmt: skip
    (folder / "other.json").write_text(wants("other"))
    file = folder / f"file.{suffix}"
    file.write_text(text)
    assert reasons(sync) == {"orders": "Created", "other": "Created"}
    for nothing in ("", " \n\n"):
        file.write_text(nothing)
        for _ in range(3):
            assert reasons(sync)[file.name] == "FileNotUsable"
    assert sorted(rest.get("/connectors")) == ["orders", "other"]


@pytest.mark.parametrize("suffix", ["yaml", "properties"])
def test_a_file_that_was_cut_deletes_no_connector(sync: FolderSync, rest: Rest, folder: Path, suffix: str) -> None:
    """The rest of the file has no name in it, so it would be taken for a connector of the file's own name."""
    sign = {"yaml": ": ", "properties": "="}[suffix]
    keys = {"file": "/tmp/f", "topic": "t", "name": "orders", "connector.class": FILE_SOURCE}
    lines = [f"{key}{sign}{text}\n" for key, text in keys.items()]
    (folder / "other.json").write_text(wants("other"))
    file = folder / f"file.{suffix}"
    file.write_text("".join(lines))
    assert reasons(sync) == {"orders": "Created", "other": "Created"}
    for kept in (1, 2, 3):
        file.write_text("".join(lines[:kept]))
        for _ in range(3):
            assert reasons(sync)[file.name] == "FileNotUsable"
    assert sorted(rest.get("/connectors")) == ["orders", "other"]


def test_a_file_is_not_read_while_it_is_written(rest: Rest, folder: Path) -> None:
    """The first half of a YAML is YAML, too: a connector with half of its keys, or one connector less."""
    whole = f"name: orders\nconnector.class: {FILE_SOURCE}\nfile: /tmp/f\ntopic: t\n"
    file = folder / "orders.yaml"
    file.write_text(whole.partition("topic")[0])
    waited_s: list[float] = []

    def wait(timeout_s: float) -> bool:
        waited_s.append(timeout_s)
        file.write_text(whole)
        if len(waited_s) > 1:
            os.utime(file, (1, 1))  # its writer has ended long ago
        return False

    sync = FolderSync(ConnectClient(Access(rest.url)), [folder], prune=True, wait=wait)
    assert reasons(sync) == {"orders": "Created"}
    assert rest.get("/connectors/orders/config")["topic"] == "t"
    assert len(waited_s) == 2
    assert all(0 < one <= 1 for one in waited_s)
    os.utime(file, (time.time() + 3600, time.time() + 3600))
    assert "orders" in reasons(sync), "a file server's clock is of another time: nothing is waited for"
    assert len(waited_s) == 2
