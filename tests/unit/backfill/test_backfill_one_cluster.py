"""A job whose rows and markers would go to another Kafka is refused before a row is written."""

from __future__ import annotations

import pytest
from test_backfill_service import SPEC, WORKER

from connect.api.errors import ConfigError
from connect.backfill.job.job_store import JobStore, StateTopics
from connect.backfill.job.kinds import JobConnectors
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.one_cluster import require_one_cluster
from connect.backfill.planner import JobPlanner
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorParts, ConnectorSettings
from connect.runtime.settings.worker_config import WorkerConfig

TOPICS = StateTopics("jobs", "markers", 1)


def parts(**others: str) -> ConnectorParts:
    given = {"name": "orders", "connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    return ConnectorSettings(WORKER, given | others).open()


@pytest.fixture(autouse=True)
def clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clusters of some addresses, of which no broker is asked."""
    ids = {"127.0.0.1:1": "here", "localhost:1": "here", "127.0.0.1:2": "there"}
    monkeypatch.setattr(TopicAdmin, "cluster_id", lambda self, deadline: ids[self._settings["bootstrap.servers"]])


def test_another_cluster_is_refused():
    with pytest.raises(ConfigError, match=r"writes to the Kafka at 127\.0\.0\.1:2, and the worker's is at 127") as told:
        require_one_cluster(parts(**{"producer.override.bootstrap.servers": "127.0.0.1:2"}), Deadline.after(1))
    assert [problem.key for problem in told.value.problems] == ["producer.override.bootstrap.servers"]


def test_a_plan_asks_first():
    given = {"connector.class": "JdbcSource", "producer.override.bootstrap.servers": "127.0.0.1:2"}
    connectors = JobConnectors(ConnectorSettings(WORKER, given | {"name": "orders"}))
    with pytest.raises(ConfigError, match="writes to the Kafka at"):
        JobPlanner(BackfillSpec.model_validate(SPEC), connectors, JobStore(WorkerConfig.parse(WORKER), TOPICS)).plan()


@pytest.mark.parametrize("own", [{}, {"producer.override.bootstrap.servers": "localhost:1"}])
def test_one_cluster_may_have_several_addresses(own: dict[str, str]):
    require_one_cluster(parts(**own), Deadline.after(1))
