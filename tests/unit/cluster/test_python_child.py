"""Processes that the product starts load nothing from the folder they work in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from connect.lib import python_child

LOADS = "import sys, json; print(json.__file__); print(*sys.path, sep='|'); print(sys.flags.safe_path)"


def loaded(folder: Path, **environ: str) -> list[str]:
    (folder / "json.py").write_text("raise SystemExit('the folder was searched')\n")
    argv = python_child.code_command(LOADS)
    env = {**os.environ, **environ}
    with python_child.start(argv, folder=folder, env=env, stdout=subprocess.PIPE, text=True) as child:
        said, _ = child.communicate(timeout=60)
    assert child.returncode == 0, said
    lines: list[str] = said.splitlines()
    return lines


@pytest.mark.parametrize("path", ["", ":", "{folder}/more:", ":{folder}/more"])
def test_an_empty_entry_of_the_path_does_not_stand_for_the_working_folder(tmp_path: Path, path: str) -> None:
    file, searched, safe = loaded(tmp_path, PYTHONPATH=path.format(folder=tmp_path))
    assert not file.startswith(str(tmp_path))
    assert "" not in searched.split("|")
    assert (f"{tmp_path}/more" in searched.split("|")) is ("more" in path)
    assert safe == "True"


def test_a_child_of_a_child_is_kept_to_the_same_path(tmp_path: Path) -> None:
    env = python_child.environment({"PATH": os.environ["PATH"], "PYTHONPATH": f"plugins{os.pathsep}"})
    assert env["PYTHONSAFEPATH"] == env["PYTHONNOUSERSITE"] == "1"
    assert env["PYTHONPATH"] == str(Path.cwd() / "plugins")


def test_a_module_of_ours_is_run_by_this_interpreter_and_knows_no_users_site() -> None:
    assert python_child.command("a.b", "--c") == [sys.executable, "-P", "-s", "-m", "a.b", "--c"]


def test_a_program_that_one_user_installed_keeps_the_site_that_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("site.ENABLE_USER_SITE", True)
    monkeypatch.setattr("site.getusersitepackages", lambda: str(Path(python_child.__file__).parents[1]))
    assert python_child.command("a") == [sys.executable, "-P", "-m", "a"]
    assert "PYTHONNOUSERSITE" not in python_child.environment({})


PROGRAM = """
import importlib.util, sys
from connect.lib import python_child
sys.path += sys.argv[1:]
python_child.make_safe()
print(importlib.util.find_spec("functions") is not None)
"""
"""Is what a worker that was begun by `python -m` does in the process that it forks for its hosts. Its arguments are the
folders that the .pth files of installed packages name, which stand at the end of the path."""


@pytest.mark.parametrize("is_editable", [False, True])
def test_the_working_folder_is_searched_if_it_is_installed_and_not_because_the_program_began_there(
    tmp_path: Path, is_editable: bool
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "functions.py").write_text("")
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    environ["PYTHONPATH"] = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-m", "program", *([str(tmp_path)] if is_editable else [])],
        check=True, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == [str(is_editable)]
