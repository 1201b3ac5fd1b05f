"""Which tests of a parallel run share a process: those of a file, and files that would each start a costly service.

`conftest.py` takes the hook from here.
"""

from __future__ import annotations

from pathlib import PurePath

import pytest
from xdist.scheduler import LoadScopeScheduling

_TOGETHER = {
    "cassandra": (
        "test_cassandra_restore", "test_cassandra_sink", "test_cassandra_agent_faults", "test_cassandra_contract",
        "test_cassandra_source", "test_cassandra_agent", "test_cassandra_bulk", "test_cassandra_handover",
        "test_cassandra_incremental",
    ),
    "spark": ("test_backfill_spark", "test_spark_data_source", "test_spark_kafka_sink"),
}  # fmt: skip
"""What is shared -> the files. A node takes 15 s of a core to start, a JVM of Spark 10."""
_SCOPES = {stem: scope for scope, stems in _TOGETHER.items() for stem in stems}


class ByService(LoadScopeScheduling):
    """Hands whole files, or the files of a service, to whichever process is free."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return _SCOPES.get(PurePath(file).stem, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByService:
    """Instead of what `--dist` names."""
    return ByService(config, log)
