"""Each in an interpreter of its own: pyarrow looks for pandas once in a process."""

import importlib.util
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is not installed"),
]

DEFERRED = """
import sys
from connect.runtime.pandas_on_demand import defer_pandas
defer_pandas()
import pyarrow as pa
values = pa.array([1.5, None])
assert "pandas" not in sys.modules
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_arrays_are_made_without_pandas():
    run(DEFERRED)


def test_arrow_turns_into_pandas_all_the_same():
    run(DEFERRED + "assert values.to_pandas().isna().tolist() == [False, True]")


def test_arrow_knows_the_series_of_a_plug_in_that_uses_pandas():
    run(DEFERRED + "import pandas\nassert pa.array(pandas.Series([1.0, float('nan')])).null_count == 1")


def test_it_does_nothing_where_pandas_is_loaded_already():
    run("import pandas, sys\n" + DEFERRED.replace('assert "pandas" not', 'assert "pandas"'))
