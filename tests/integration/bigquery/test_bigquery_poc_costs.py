"""Checks what `connect poc` says of a sink's costs: by the real table, and the topics of the user's Kafka."""

from __future__ import annotations

import pytest
from bigquery_dataset import CLASS, Dataset
from test_bigquery_plan import orders_in_kafka

from connect.poc.sandbox.children import asked_of
from connect.poc.sandbox.result import Outcome
from connect.poc.sink.cost_check import judge_costs
from connect.runtime.parts.connector_settings import ConnectorSettings

pytestmark = pytest.mark.integration
_JSON = "org.apache.kafka.connect.json.JsonConverter"


def worker_of(kafka) -> dict[str, str]:
    topics = {f"{name}.storage.topic": name for name in ("config", "offset", "status")}
    converters = {"key.converter": _JSON, "value.converter": _JSON}
    return {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", **topics, **converters}


def test_the_costs_of_a_sink_are_told_by_what_comes_into_its_topics(kafka, topic_name, dataset: Dataset):
    orders_in_kafka(kafka, topic_name, 50)
    worker = worker_of(kafka)
    # By the interval of tests each record would be a merge, and they would cost more than a dollar.
    settings = dataset.settings(topics=topic_name, sanitizeTopics="true", dedup__merge__interval__ms="60000")
    connector = {"name": "sink", "connector.class": CLASS, **settings}
    answer = asked_of(ConnectorSettings(worker, connector), "costs", 60.0, sampled=worker)
    assert answer.get("error") is None, answer
    (table,) = answer["tables"]
    assert "sampled: 7,200 records a day" in table["facts"]
    check = judge_costs(answer["tables"])
    assert (check.number, check.outcome) == (10, Outcome.PASS)
    assert "costs about 0" in check.summary
    assert "as set, fits" in {row[4] for row in check.tables[0].rows}


def test_a_sink_that_nothing_is_known_of_is_not_priced_and_one_that_tells_no_costs_is_left_out(kafka, dataset: Dataset):
    worker = worker_of(kafka)
    connector = {"name": "sink", "connector.class": CLASS, **dataset.settings(topics="orders")}
    answer = asked_of(ConnectorSettings(worker, connector), "costs", 60.0, sampled=None)
    assert judge_costs(answer["tables"]).outcome is Outcome.NOT_TESTED
    plain = {"name": "sink", "connector.class": "FileStreamSink", "topics": "orders"}
    assert asked_of(ConnectorSettings(worker, plain), "costs", 60.0, sampled=None) == {"tables": None}


def test_a_mode_that_costs_more_than_the_one_that_fits_is_warned_of():
    mode = {"bytes_per_day": 2**40, "freshness": "1 min", "why": "", "is_lower_bound": False}
    dear = {**mode, "mode": "merge, every 1 min", "usd_per_day": 913.0, "fits": False, "is_set": True}
    fits = {**mode, "mode": "compact, once a day", "usd_per_day": 0.9, "fits": True, "is_set": False}
    check = judge_costs([{"table": "p.d.t", "facts": "100 rows", "modes": [dear, fits]}])
    assert check.outcome is Outcome.WARN
    assert "913.00 USD a day as it is set. compact, once a day fits it, for about 0.90 USD" in check.summary
    assert check.tables[0].rows[0][1] == "1,024.00"
