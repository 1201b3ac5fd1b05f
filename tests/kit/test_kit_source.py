"""The source suite passes a correct source, and catches each broken one by the test that is named for it."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

FILE = """
import kit_source
import pytest
from connect.testing.source import SourceSuite

class TestIt(SourceSuite):
    plugin = kit_source.source(kit_source.{connector}, kit_source.{config})
    patience_s = 3.0

    @pytest.fixture
    def driver(self, tmp_path):
        return kit_source.TableDriver(tmp_path)
"""
CASES = {
    ("TableConnector", "TableConfig"): set(),
    ("AcksEarly", "TableConfig"): {"?"},
}


def failures(pytester: pytest.Pytester, connector: str, config: str) -> set[str]:
    """The tests of the suite that fail on this plug-in."""
    pytester.makepyfile(test_it=FILE.format(connector=connector, config=config))
    result = pytester.inline_run("-p", "no:cacheprovider", "--timeout=120")
    passed, _, failed = result.listoutcomes()
    assert passed, "The suite ran no test."
    return {report.nodeid.rpartition("::")[2] for report in failed}
