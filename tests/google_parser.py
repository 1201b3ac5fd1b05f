"""Asks Google's own parser of BigQuery's SQL, compiled to WebAssembly, of what kind a statement is.

It runs in its own environment, which pip fills, as its packages may differ from the product's. A parser knows no
tables, so it does not check names and types.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from venv import EnvBuilder

from connect.lib import python_child

_PACKAGE: Final = "zetasql==0.1.5"
_LIMIT_S: Final = 600
_PARSE: Final = """
import json
import sys

from zetasql.api.parser import Parser
from zetasql.core.exceptions import ZetaSQLError
from zetasql.types import LanguageOptions

parser = Parser(LanguageOptions.maximum_features())

def kind(sql):
    try:
        return type(parser.parse_statement(sql)).__name__.removeprefix("AST").removesuffix("Statement")
    except ZetaSQLError as error:
        return f"refused: {error}"

json.dump([kind(sql) for sql in json.load(sys.stdin)], sys.stdout)
"""


def kinds(statements: Sequence[str], folder: Path) -> list[str]:
    """Return the kind of each statement, such as Merge or AlterTable, or "refused: " and the reason. `folder` is
    created.
    """
    EnvBuilder(with_pip=True).create(folder)
    python = str(folder / "bin" / "python")
    pip = python_child.command("pip", "install", "--quiet", "--disable-pip-version-check", _PACKAGE, python=python)
    subprocess.run(pip, check=True, timeout=_LIMIT_S)
    argv = python_child.code_command(_PARSE, python=python)
    done = subprocess.run(
        argv, input=json.dumps(statements), capture_output=True, text=True, check=True, timeout=_LIMIT_S
    )
    found: list[str] = json.loads(done.stdout)
    return found
