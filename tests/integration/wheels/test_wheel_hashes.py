"""An install by hashes, typed as the guide has it: pip takes what the list names, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[3]


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1500, check=False)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with uv."""
    folder = tmp_path_factory.mktemp("hashes")
    assert run(folder, sys.executable, "-m", "venv", "venv").returncode == 0
    made = run(folder, "venv/bin/pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", "uv")
    assert made.returncode == 0, made.stderr
    return folder / "venv/bin"


def test_an_install_by_hashes_takes_the_files_of_the_list_alone(commands: Path, tmp_path: Path) -> None:
    guide = (ROOT / "docs/guides/secure.md").read_text()
    (line,) = re.findall(r"^uv pip compile .*?-o requirements.txt$", guide, re.MULTILINE | re.DOTALL)
    for name in ("constraints.txt", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    written = run(tmp_path, "sh", "-ec", f"PATH={commands}:$PATH {line}")
    assert written.returncode == 0, written.stderr
    file = tmp_path / "requirements.txt"
    pinned = set(re.findall(r"^([a-z0-9._-]+==[^ ;]+)", file.read_text(), re.MULTILINE))
    assert {"pyarrow", "orjson", "obstore", "psycopg"} <= {one.partition("==")[0] for one in pinned}
    assert pinned <= set((ROOT / "constraints.txt").read_text().lower().replace("_", "-").split())
    install = (commands / "pip", "install", "--dry-run", "--ignore-installed", "--require-hashes", "-r", file)
    taken = run(tmp_path, *install)
    assert taken.returncode == 0, taken.stderr
    assert "Would install" in taken.stdout

    text = file.read_text()
    start = text.index("\norjson==")
    end = text.find("\n    # via", start)
    file.write_text(text[:start] + re.sub(r"sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", text[start:end]) + text[end:])
    refused = run(tmp_path, *install)
    assert refused.returncode == 1
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert "orjson" in refused.stderr
