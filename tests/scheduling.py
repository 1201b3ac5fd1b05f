"""Which tests of a parallel run share a process: those of a file, and files that would each start a costly service.

`conftest.py` takes the hook from here.
"""

from __future__ import annotations

import re

import pytest
from xdist.scheduler import LoadScopeScheduling

_TOGETHER = {
    "cassandra, log": re.compile(r".*/integration/cassandra/test_cassandra_(agent|handover|restore)"),
    "cassandra, tables": re.compile(r".*/integration/cassandra/test_cassandra_(?!access|dedup)"),
    "spark": re.compile(r".*/test_(backfill_spark|spark_data_source|spark_kafka_sink)"),
}
"""What is shared -> the files; the first that fits counts. A node takes 15 s of a core to start, a JVM of Spark 10."""


class ByService(LoadScopeScheduling):
    """Hands whole files, or the files of a service, to whichever process is free."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((scope for scope, files in _TOGETHER.items() if files.match(file)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByService:
    """Instead of what `--dist` names."""
    return ByService(config, log)
