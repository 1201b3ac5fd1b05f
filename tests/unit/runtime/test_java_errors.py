"""The class names in dead letters are those of Kafka Connect."""

import pytest

from connect.api.errors import ConfigError, ConnectError, RejectedRowsError, RetriableError, SchemaError
from connect.runtime.records.dead_letter import context
from connect.runtime.records.record_sizes import RecordTooLargeError
from connect.runtime.records.tolerance import BadRow, Stage
from connect.runtime.task.task_id import TaskId


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (SchemaError("x", field="a"), "org.apache.kafka.connect.errors.DataException"),
        (RetriableError("x"), "org.apache.kafka.connect.errors.RetriableException"),
        (ConfigError("x"), "org.apache.kafka.common.config.ConfigException"),
        (RecordTooLargeError("x"), "org.apache.kafka.common.errors.RecordTooLargeException"),
        (ConnectError("x"), "org.apache.kafka.connect.errors.ConnectException"),
        (RejectedRowsError({0: ValueError("x")}), "org.apache.kafka.connect.errors.ConnectException"),
        (ValueError("x"), "org.apache.kafka.connect.errors.ConnectException"),
    ],
)
def test_an_error_has_the_class_of_a_java_worker_and_its_own_in_the_trace(error, name):
    headers = dict(context(TaskId("c", 0), BadRow(Stage.TASK_PUT, "sink", error, "t", 0, 1)))
    assert headers["__connect.errors.exception.class.name"].decode() == name
    assert type(error).__name__ in headers["__connect.errors.exception.stacktrace"].decode()
