"""A sink whose topic does not exist yet waits for it and does not fail."""

from __future__ import annotations

from e2e_s3 import rows_of, sink_config
from e2e_worker import wait_for
from test_e2e_bad_records import PLAIN_JSON, produce


def test_a_sink_waits_for_its_topic(worker, kafka, s3, s3_bucket, unique):
    topic = f"{unique}-later"
    assert worker.create(unique, sink_config(s3, s3_bucket, unique, topic, **PLAIN_JSON)).status_code == 201
    worker.wait_for_tasks(unique, "RUNNING")
    produce(kafka, topic, [b'{"n":1}'])
    wait_for(lambda: rows_of(s3, s3_bucket, f"{unique}/{topic}") == [{"n": 1}], 60, "the row in S3")
    history = worker.log_path.read_text()
    assert f"connector={unique} task=0 trace" not in history
    worker.call("DELETE", unique)
