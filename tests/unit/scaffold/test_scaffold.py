"""Checks that what `connect init connector` writes is whole, and that it overwrites nothing."""

from __future__ import annotations

import glob
import json
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from click.testing import CliRunner

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError
from connect.api.plugin import ENTRY_POINT_GROUP
from connect.cli import main
from connect.plugins.catalog import Catalog
from connect.tools.scaffold.project import ConnectorKind, check_name, make_project, project_files

ROOT = Path(__file__).parents[3]
KINDS = pytest.mark.parametrize("kind", ConnectorKind)


@KINDS
def test_the_catalogue_finds_the_new_connector_and_its_example_is_right(
    kind: ConnectorKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"scaffolded_{kind}"
    folder = make_project(name, kind, tmp_path)
    monkeypatch.syspath_prepend(folder)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    points = [
        EntryPoint(n, value, ENTRY_POINT_GROUP) for n, value in project["entry-points"][ENTRY_POINT_GROUP].items()
    ]
    catalog = Catalog.from_entry_points(points)
    assert catalog.broken() == ()
    example = json.loads((folder / "example.json").read_text())["config"]
    plugin = catalog.connector(example["connector.class"])
    assert plugin.kind == kind.value
    example |= EVERYWHERE
    plugin.config.parse(example)
    assert [d.name for d in plugin.config.definitions() if d.required and d.name not in example] == []
    assert catalog.load(plugin)(plugin.config.parse(example)).task_configs(1)


@KINDS
def test_what_is_written_is_in_our_own_style(kind: ConnectorKind, tmp_path: Path) -> None:
    folder = make_project("scaffolded", kind, tmp_path)
    for check in (["check", "--ignore", "ARG002"], ["format", "--check"]):
        config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *check, *config, "."],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        # Tests may do what a product may not; ours say so in pyproject.toml by their folder.
        assert done.returncode == 0, done.stdout


@KINDS
def test_no_placeholder_is_left(kind: ConnectorKind) -> None:
    written = project_files("my_orders", kind)
    assert [str(path) for path, text in written.items() if "$" in text or "package" in path.parts] == []
    assert {"pyproject.toml", "README.md", "example.json", ".gitignore", "tests/test_connector.py"} < {
        str(path) for path in written
    }
    assert any("MyOrders" in text for text in written.values())


def test_the_wheel_has_every_template() -> None:
    globs = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["connect"]
    # As setuptools packs: unlike Path.glob, this passes over names with a leading dot.
    packed = {path for one in globs for path in glob.glob(one, root_dir=ROOT / "connect", recursive=True)}  # noqa: PTH207
    templates = [path for path in (ROOT / "connect/tools/scaffold/templates").rglob("*") if path.is_file()]
    assert len(templates) > 10
    assert [path.name for path in templates if str(path.relative_to(ROOT / "connect")) not in packed] == []


@pytest.mark.parametrize(
    "name", ["", "my-orders", "1st", "Orders", "class", "a b", "../out", "json", "connect", "pyarrow", "_x", "größe"]
)
def test_a_name_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="Choose another"):
        make_project(name, ConnectorKind.SOURCE, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_good_name_is_taken() -> None:
    check_name("my_orders2")


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "orders_in" / "README.md"
    mine.parent.mkdir()
    mine.write_text("mine")
    done = CliRunner().invoke(main, ["init", "connector", "orders_in", "--kind", "sink", "--into", str(tmp_path)])
    assert done.exit_code == 1
    assert "already there; nothing was written" in done.output
    assert [path.read_text() for path in mine.parent.iterdir()] == ["mine"]


def test_the_command_says_how_to_go_on(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["init", "connector", "orders_in", "--kind", "source", "--into", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "pip install -e '.[testing]'" in done.output
    assert (tmp_path / "orders_in" / "orders_in" / "source.py").is_file()
