"""Who may change a connector may run no code that the worker does not list."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from connect.api import schema as s
from connect.api.errors import ConfigError, SchemaError
from connect.api.records import Batch, Column
from connect.plugins.catalog import Catalog
from connect.transforms.code.python_function import value
from connect.transforms.code.sql import value as sql
from connect.transforms.settings.extra_config import PythonFunctionConfig, SqlConfig
from connect.transforms.settings.function_modules import function_problem, is_allowed, load_function


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package whose module has a function of its own, one of another module and the module os."""
    module = ModuleType("shop.rows")
    exec(
        "import os\nfrom os import system\nclass Kind:\n    def of(row): return row\ndef clean(row): return row\n",
        vars(module),
    )
    monkeypatch.setitem(sys.modules, "shop", ModuleType("shop"))
    monkeypatch.setitem(sys.modules, "shop.rows", module)
    return module


@pytest.mark.parametrize(
    ("module", "allowed", "is_so"),
    [
        ("shop.rows", (), False),
        ("shop.rows", ("shop",), True),
        ("shop.rows", ("shop.rows",), True),
        ("shop", ("shop.rows",), False),
        ("shopping", ("shop",), False),
        ("os", ("os",), True),
        ("os.path", ("os",), False),
        ("builtins", ("",), False),
        ("subprocess", ("sub", "subprocess.run"), False),
    ],
)
def test_a_module_is_allowed_by_its_name_or_its_package(module: str, allowed: tuple[str, ...], is_so: bool) -> None:
    assert is_allowed(module, allowed) is is_so


@pytest.mark.parametrize("function", ["os:system", "builtins:eval", "subprocess:run", "shop.rows:clean"])
def test_nothing_is_allowed_where_the_worker_lists_nothing(function: str) -> None:
    problem = function_problem(function, ())
    assert problem is not None
    assert "python.function.modules" in problem
    with pytest.raises(ConfigError, match=r"python\.function\.modules"):
        PythonFunctionConfig.parse({"function": function})


@pytest.mark.parametrize("name", ["os.system", "system", "clean.__globals__.get", "Kind.__init__"])
def test_no_way_leads_from_an_allowed_module_to_another(shop: ModuleType, name: str) -> None:
    with pytest.raises(ValueError, match=r"python\.function\.modules|two underscores"):
        load_function(f"shop.rows:{name}", ["shop"])


@pytest.mark.parametrize("name", ["clean", "Kind.of"])
def test_functions_of_the_package_are_taken(shop: ModuleType, name: str) -> None:
    assert load_function(f"shop.rows:{name}", ["shop"])("row") == "row"


def test_what_a_connector_says_of_modules_does_not_count() -> None:
    given = {"function": "os:system", "python.function.modules": "os"}
    with pytest.raises(ConfigError, match="allows no functions"):
        PythonFunctionConfig.parse(PythonFunctionConfig.with_leave(given, {}))
    assert (
        PythonFunctionConfig.with_leave(given, {"python.function.modules": "shop"})["python.function.modules"] == "shop"
    )


def test_nothing_of_a_module_that_is_not_allowed_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "ran"
    (tmp_path / "evil_rows.py").write_text(f"open({str(mark)!r}, 'w')\ndef clean(row): return row\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = PythonFunctionConfig.model_construct(function="evil_rows:clean", modules=("shop",), mode="row", fields=())
    with pytest.raises(ConfigError, match="evil_rows"):
        value(config)
    assert not mark.exists()


@pytest.mark.parametrize(
    "statement",
    [
        "(SELECT content FROM read_text('{file}')) AS a",
        "(SELECT a FROM read_csv('{file}')) AS a",
        "(SELECT count(*) FROM glob('{folder}/*')) AS a",
        "1 AS a; COPY (SELECT 1) TO '{folder}/out.csv'; SELECT 1",
        "1 AS a; COPY (SELECT 1) TO '.tmp/out.csv'; SELECT 1",
        "1 AS a; ATTACH '{folder}/out.db'; SELECT 1",
        "1 AS a; EXPORT DATABASE '{folder}/out'; SELECT 1",
        "1 AS a; LOAD '{file}'; SELECT 1",
        "1 AS a; INSTALL httpfs; SELECT 1",
        "1 AS a; SET enable_external_access = true; SELECT 1",
        "1 AS a; SET profiling_output = '{folder}/out'; SELECT 1",
        "getenv('HOME') AS a",
        "(SELECT a FROM table_of_the_caller) AS a",
    ],
)
def test_sql_reaches_no_file_no_library_and_no_variable(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    table_of_the_caller = pa.table({"a": [1]})
    file = tmp_path / "rows.csv"
    file.write_text("a\n1\n")
    # DuckDB's own place for temporary files is one that its statements may use.
    (tmp_path / ".tmp").mkdir()
    monkeypatch.chdir(tmp_path)
    transform = sql(SqlConfig.parse({"select": statement.format(file=file, folder=tmp_path)}))
    with pytest.raises(SchemaError, match="SQL failed"):
        transform.apply(Batch("t", Column.from_rows([{"n": 1}], s.struct({"n": s.INT64}))))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["rows.csv"]
    assert len(table_of_the_caller) == 1


def test_plug_ins_of_a_configuration_are_found_by_entry_points_alone() -> None:
    assert Catalog.installed().find("os.path.Converter") is None
    assert Catalog.installed().find("connect.transforms.code.sql:value") is None
