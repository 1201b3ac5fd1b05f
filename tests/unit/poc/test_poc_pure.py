"""Checks the judgements of an evaluation that need nothing but values: pages, lags, rates, moments of kills, hidden
values.
"""

from __future__ import annotations

from operator import or_

import pytest

from connect.api.errors import ConfigError
from connect.plugins.catalog import Catalog
from connect.poc.evaluation import worker_settings
from connect.poc.report.estimate import Load, judge_load
from connect.poc.sandbox.connector_runs import at_own_brokers
from connect.poc.sandbox.prices import Prices, read_prices
from connect.poc.sandbox.result import Outcome
from connect.poc.sandbox.row_values import without_values
from connect.poc.sandbox.timeline import (
    Reading,
    growing_lag_s,
    has_caught_up,
    lags_s,
    percentiles,
    rate,
    rate_range,
    shares,
)
from connect.poc.source.page_check import missing_rows
from connect.runtime.settings.config_providers import usual_providers


def readings(rows, lags=()):
    figures = [{"caught_up_age_seconds": lag} for lag in lags] or [{}] * len(rows)
    return [Reading(float(at), count, found) for at, (count, found) in enumerate(zip(rows, figures, strict=True))]


@pytest.mark.parametrize(
    ("left", "right", "missing"),
    [
        ("abcdef", "abcdef", 0),
        ("abcdef", "abcd", 0),
        ("abcdef", "abdef", 1),
        ("acdef", "abdef", 2),
        ("aabc", "abc", 1),
    ],
    ids=["equal", "one is shorter", "one skips a row", "each skips another", "one repeats a row"],
)
def test_rows_that_one_reading_lacks_are_counted_as_far_as_both_have_come(left, right, missing):
    def topic(text):
        return {"t": [letter.encode() for letter in text]}

    assert missing_rows(topic(left), topic(right)) == missing
    assert missing_rows(topic(right), topic(left)) == missing


def test_a_lag_that_grows_while_rows_come_is_told_and_no_other():
    rows = list(range(0, 120, 10))
    grows = [0, 5, 6, *range(1, 10)]
    assert growing_lag_s(readings(rows, grows)) == (2.0, 8.0)
    assert growing_lag_s(readings(rows, range(12))) is None, "its first read is not over"
    assert growing_lag_s(readings(rows, range(12, 0, -1))) is None, "it catches up"
    assert growing_lag_s(readings([5] * 12, grows)) is None, "it rests: nothing new is there"
    assert growing_lag_s(readings(rows, [0, 9, 1, 8, 2, 7, 3, 6, 4, 5, 1, 7])) is None, "it only swings"
    assert growing_lag_s(readings(rows)) is None, "the source does not tell"


def polling(rows, polled, poll_s, lags=()):
    figures = [{"polled_rows_total": n, "poll_seconds_total": s} for n, s in zip(polled, poll_s, strict=True)]
    told = [{"caught_up_age_seconds": lag} for lag in lags] or [{}] * len(figures)
    return [Reading(float(at), *found) for at, found in enumerate(zip(rows, map(or_, figures, told), strict=True))]


def test_a_source_has_caught_up_when_it_was_asked_and_had_nothing_more():
    rows, polled, asked = [0, 5, 9, 9, 9, 9], [0, 5, 9, 9, 9, 9], [0, 0.1, 0.2, 1.2, 2.2, 3.2]
    assert has_caught_up(polling(rows, polled, asked), 3.0)
    assert has_caught_up(polling(rows, polled, asked, [1, 2, 3, 4, 0.5, 1]), 3.0)
    assert not has_caught_up(polling(rows, polled, asked), 4.0), "it had less time than that"
    assert not has_caught_up(polling(rows, [0, 5, 9, 9, 9, 12], asked), 3.0), "rows are on their way"
    assert not has_caught_up(polling(rows, polled, [0, 0.1, 0.2, 0.2, 0.2, 0.2]), 3.0), "a poll has not come back"
    assert not has_caught_up(polling(rows, polled, asked, [1, 2, 3, 4, 5, 6]), 3.0), "it says that it has not"
    assert not has_caught_up(polling(rows, [0, 5, 9, 0, 0, 0], asked), 3.0), "it was started anew in between"
    assert not has_caught_up(polling([0] * 6, [0] * 6, asked), 3.0), "no row came at all"
    assert not has_caught_up([], 3.0)


def test_a_source_whose_task_is_started_anew_has_not_caught_up_with_its_first_poll():
    dead = [Reading(float(second), 9) for second in range(1, 8)]
    begun = Reading(8.0, 9, {"poll_seconds_total": 0.1})
    assert not has_caught_up([*polling([0, 5], [0, 5], [0, 0.1]), *dead, begun], 3.0)


def test_while_nobody_could_look_a_source_was_not_quiet():
    asked = {"poll_seconds_total": 1.0}, {"poll_seconds_total": 5.0}
    paused = [
        Reading(0.0, 9, asked[0]),
        Reading(0.2, 9, asked[0]),
        Reading(3.4, 9, asked[1]),
        Reading(3.6, 9, asked[1]),
    ]
    assert not has_caught_up(paused, 3.0)
    later = [Reading(3.6 + at / 5, 9, {"poll_seconds_total": 5.0 + at}) for at in range(1, 20)]
    assert has_caught_up([*paused, *later], 3.0)


def test_a_task_that_tells_nothing_just_now_has_not_caught_up_but_javas_never_tells():
    told = [Reading(at / 2, 9, {"poll_seconds_total": 1.0} if at < 2 else {}) for at in range(10)]
    assert not has_caught_up(told, 3.0)
    assert has_caught_up([Reading(at / 2, 9, {}) for at in range(10)], 3.0)


def test_a_rate_leaves_out_the_warm_up_and_the_rest_behind_the_last_row():
    assert rate(readings([0, 0, 0, 0, 100, 200, 300, 400, 400, 400])) == pytest.approx(100.0)
    assert rate(readings([0, 5, 5, 5])) == pytest.approx(5.0)
    assert rate(readings([400])) == 0.0


def test_steps_are_told_the_longest_first():
    found = shares([Reading(0, 1, {"poll_seconds_total": 1.0, "send_seconds_total": 3.0, "put_seconds_total": 0.0})])
    assert list(found.items()) == [("send", 3.0), ("poll", 1.0)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("value 'Jane Doe' is no number", "value … is no number"),
        ('got "4111 1111" for INT8', "got … for INT8"),
        ("1234567 is out of range, -7.5e3 too", "… is out of range, … too"),
        ("b'abc' at column 'orders'", "… at column 'orders'"),
        ("no such key 'batch.max.rows'", "no such key 'batch.max.rows'"),
    ],
)
def test_what_may_be_a_value_of_a_row_is_hidden(text, shown):
    assert without_values(text, ["batch.max.rows", "orders,customers"]) == shown


def test_percentiles_are_values_that_were_seen():
    assert percentiles([]) is None
    assert percentiles([3.0]) == (3.0, 3.0, 3.0)
    assert percentiles([float(number) for number in range(100)]) == (50.0, 95.0, 99.0)


def test_a_sources_lag_counts_from_its_first_catching_up_and_a_sinks_always():
    assert lags_s(readings([1, 2, 3, 4], [5, 6, 0.5, 1])) == [0.5, 1]
    assert lags_s([Reading(0, 1, {"lag_seconds": 2.0}), Reading(1, 2, {"lag_seconds": 3.0})]) == [2.0, 3.0]


def test_the_slowest_and_the_fastest_part_of_a_run_are_told():
    assert rate_range(readings([0, 10])) == (pytest.approx(10.0), pytest.approx(10.0))
    slowest, fastest = rate_range(readings([*range(0, 50, 10), *range(50, 500, 90), 600, 700, 800, 900]))
    assert slowest < 30
    assert fastest > 89


def load(**more):
    return Load(**{
        "rows": 3_600_000, "is_exact": False, "row_bytes": 100.0, "rate": 1000.0, "slowest": 500.0, "fastest": 2000.0,
        "tasks": 2, "chunks": 120, **more,
    })  # fmt: skip


def test_an_estimate_shows_its_formulas():
    told = judge_load(load(), Prices(core_hour=3.0))
    assert told.summary == "About 3,600,000 rows, 1.080 GB in Kafka, 60 min at the rate of this machine."
    cells = {what: (formula, result) for what, formula, result in told.tables[0].rows}
    assert cells["first read by the connector"] == ("rows / 1,000 rows a second, 2 tasks", "30 min to 2.0 h")
    assert cells["backfill on Spark"] == (
        "rows / 500 a second and lane, 120 chunks",
        "30 min with 4 lanes that do not hold each other up, 2.0 h with one",
    )
    assert cells["its compute"] == ("hours of cores x 3 USD", "6.00 USD once")
    assert "backfill on Spark" not in [row[0] for row in judge_load(load(chunks=None), Prices()).tables[0].rows]
    assert judge_load(load(rate=0.0), Prices()).outcome is Outcome.NOT_TESTED


def test_prices_of_a_file_replace_those_it_names(tmp_path):
    file = tmp_path / "prices.yaml"
    file.write_text("currency: EUR\nkafka_gb_month: 0.5\n")
    assert read_prices(file) == Prices(currency="EUR", kafka_gb_month=0.5)
    for broken in ("kafka: 1", "core_hour: -1", "core_hour: x", "[", "- 1"):
        file.write_text(broken)
        with pytest.raises(ConfigError, match="cannot be used"):
            read_prices(file)


def test_the_sandboxs_worker_has_the_providers_that_the_connectors_name_and_no_other():
    worker = {
        "config.providers": "file, env,vault", "config.providers.file.class": "F",
        "config.providers.file.param.x": "1", "config.providers.env.class": "E", "config.providers.vault.class": "V",
        "config.providers.vault.param.token": "s", "key.converter": "K", "value.converter": "V",
        "value.converter.x": "${env:X}", "bootstrap.servers": "b",
        "sasl.jaas.config": "secret",
    }  # fmt: skip
    catalog = Catalog.installed()
    found = worker_settings(catalog, worker, [{"connection.password": "${file:/a:b}"}])
    assert found == {
        "config.providers": "file,env", "config.providers.file.class": "F", "config.providers.file.param.x": "1",
        "config.providers.env.class": "E", "key.converter": "K", "value.converter": "V",
        "value.converter.x": "${env:X}",
    }  # fmt: skip
    assert worker_settings(catalog, worker | {"value.converter.x": ""}, [{"a": "${other:b}"}]).keys() == {
        "key.converter", "value.converter", "value.converter.x",
    }  # fmt: skip


def test_overrides_of_brokers_are_judged_as_by_a_worker_without_a_login_and_go_nowhere():
    config = {"producer.override.bootstrap.servers": "a:1,b:2", "consumer.override.linger.ms": "1"}
    found = worker_settings(Catalog.installed(), {}, [config, {"admin.override.bootstrap.servers": "c:3"}])
    assert found == {"connector.client.config.login.addresses": "a:1,b:2,c:3"}
    assert at_own_brokers(config) == {"consumer.override.linger.ms": "1"}
    signals = {"signal.kafka.bootstrap.servers": "a:1"}
    assert at_own_brokers(signals) == {**signals, "signal.consumer.security.protocol": "PLAINTEXT"}
    by_tls = {**signals, "signal.consumer.security.protocol": "SSL"}
    assert at_own_brokers(by_tls) == by_tls


def test_without_a_worker_there_are_the_providers_that_a_configuration_names() -> None:
    package = "org.apache.kafka.common.config.provider"
    named = [{"connection.password": "${file:/a:b}"}, {"user": "${env:USER} ${vault:x:y}"}]
    assert usual_providers(named) == {
        "config.providers": "file,env",
        "config.providers.file.class": f"{package}.FileConfigProvider",
        "config.providers.env.class": f"{package}.EnvVarConfigProvider",
    }
    assert usual_providers([{"connection.password": "secret"}]) == {}
