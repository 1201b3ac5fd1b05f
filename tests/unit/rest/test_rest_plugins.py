"""Checks plug-ins, their keys, and validation."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from rest_client import Rest, ServerMaker, invalid, refused
from sample_plugins import (
    FILE_SINK,
    FILE_SOURCE,
    FILTER,
    HANGING_SOURCE,
    HOIST,
    SIMPLE_HEADER,
    TOPIC_MATCHES,
    VAULT_SOURCE,
    HangingSourceConfig,
)

from connect.api.errors import ConnectError
from connect.cluster.model.request_errors import UnavailableError


def test_plugins_are_listed_by_kind_and_name(rest: Rest) -> None:
    connectors = rest.get("/connector-plugins")
    assert connectors == [
        {"class": FILE_SINK, "type": "sink", "version": "4.1.0"},
        {"class": HANGING_SOURCE, "type": "source", "version": "4.1.0"},
        {"class": VAULT_SOURCE, "type": "source", "version": "1.2"},
        {"class": FILE_SOURCE, "type": "source", "version": "4.1.0"},
    ]
    everything = rest.get("/connector-plugins?connectorsOnly=false")
    kinds = ["sink", "source", "transformation", "predicate", "converter", "header_converter"]
    assert list(dict.fromkeys(p["type"] for p in everything)) == kinds
    assert {"class": SIMPLE_HEADER, "type": "header_converter", "version": "4.1.0"} in everything


def test_broken_plugins_are_listed_with_their_errors(rest: Rest) -> None:
    assert rest.get("/connector-plugins-broken") == [{"name": "bad", "value": "bad.module", "error": "ImportError: x"}]


@pytest.mark.parametrize("name", [FILE_SOURCE, "FileStreamSource", "FileStreamSourceConnector"])
def test_the_keys_of_a_plugin(rest: Rest, name: str) -> None:
    keys = rest.get(f"/connector-plugins/{name}/config")
    assert [k["name"] for k in keys[:4]] == ["file", "topic", "batch.size", "name"]
    assert list(keys[0]) == [
        "name", "type", "required", "default_value", "importance", "documentation", "group", "width", "display_name",
        "dependents", "order",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "keys"), [(HOIST, ["field"]), (FILTER, []), (TOPIC_MATCHES, ["pattern"])])
def test_the_keys_of_a_transform(rest: Rest, name: str, keys: list[str]) -> None:
    assert [k["name"] for k in rest.get(f"/connector-plugins/{name}/config")] == keys


def test_the_keys_of_one_version(rest: Rest) -> None:
    path = f"/connector-plugins/{VAULT_SOURCE}/config"
    assert rest.get(f"{path}?version=1.2") == rest.get(path)
    text = f"Plugin {VAULT_SOURCE} not found that matches the version range [9,9], available versions: [1.2]"
    refused(rest("GET", f"{path}?version=9"), 400, text)
    refused(rest("GET", "/connector-plugins/HoistField/config"), 404, "Unknown plugin HoistField.")


@pytest.mark.parametrize("name", ["org.apache.kafka.common.config.provider.FileConfigProvider", "FileConfigProvider"])
def test_what_is_no_plugin_of_a_connector_has_no_keys_here(rest: Rest, name: str) -> None:
    text = (
        "Invalid plugin type config_provider. Valid types are sink, source, converter, header_converter, "
        "transformation, predicate."
    )
    refused(rest("GET", f"/connector-plugins/{name}/config"), 400, text)


def test_validate_answers_200_to_what_is_wrong(rest: Rest) -> None:
    answer = rest("PUT", "/connector-plugins/FileStreamSource/config/validate", {"connector.class": FILE_SOURCE})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["name"], body["error_count"]) == (FILE_SOURCE, 2)
    assert {c["value"]["name"] for c in body["configs"] if c["value"]["errors"]} == {"name", "topic"}
    assert rest.get("/connectors") == []


@pytest.mark.parametrize(
    ("plugin", "cls", "same"),
    [("FileStreamSource", "FileStreamSource", True), ("FileStreamSource", FILE_SOURCE, True),
     ("FileStreamSourceConnector", FILE_SOURCE, True), (FILE_SOURCE, FILE_SOURCE, True),
     (FILE_SOURCE, "FileStreamSource", False), (FILE_SOURCE, FILE_SINK, False), ("nope", FILE_SOURCE, False)],
)  # fmt: skip
def test_validate_wants_the_same_class_in_path_and_body(rest: Rest, plugin: str, cls: str, same: bool) -> None:
    answer = rest(
        "PUT", f"/connector-plugins/{plugin}/config/validate", {"connector.class": cls, "name": "k", "topic": "t"}
    )
    if same:
        assert answer.json()["error_count"] == 0
    else:
        refused(answer, 400, f"Included connector type {cls} does not match request type {plugin}")


def test_validate_without_a_class_is_a_500_as_in_connect_4(rest: Rest) -> None:
    wrapped = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: "
    assert refused(rest("PUT", "/connector-plugins/x/config/validate", {}), 500) == (
        f"{wrapped}Connector config {{}} contains no connector type"
    )
    unknown = refused(rest("PUT", "/connector-plugins/nope/config/validate", {"connector.class": "nope"}), 500)
    assert unknown.startswith(
        f"{wrapped}Failed to find any class that implements Connector and which name matches nope"
    )


def test_the_connectors_own_check_adds_to_the_validation(rest: Rest) -> None:
    rest.operations.problems = {"topic": ["The broker refuses it."], "elsewhere": ["Odd."], "file": []}
    body = {"name": "n", "config": {"connector.class": FILE_SOURCE, "topic": "t"}}
    refused(rest("POST", "/connectors", body), 400, invalid("The broker refuses it.", "Odd."))
    assert rest.operations.checked == [{"connector.class": FILE_SOURCE, "topic": "t", "name": "n"}]


def test_a_configuration_with_errors_is_not_tried(rest: Rest) -> None:
    rest("POST", "/connectors", {"name": "n", "config": {"connector.class": FILE_SOURCE}})
    assert rest.operations.checked == []


@pytest.mark.thorough
def test_a_check_that_hangs_is_an_error_of_the_class(serve: ServerMaker) -> None:
    rest = serve(check_timeout_s=0.05)
    rest.operations.check_is_stuck = True
    answer = rest("PUT", "/connectors/n/config", {"connector.class": FILE_SOURCE, "topic": "t"})
    assert "own check of its configuration (reach, credentials, rights) did not end in" in refused(answer, 400)


def test_a_check_that_cannot_be_run_is_an_error_of_the_class(rest: Rest) -> None:
    rest.operations.check_error = ConnectError("The driver is missing.", fix="Install it.")
    found = rest("PUT", "/connector-plugins/FileStreamSource/config/validate",
                 {"connector.class": "FileStreamSource", "name": "n", "topic": "t"})  # fmt: skip
    errors = {c["value"]["name"]: c["value"]["errors"] for c in found.json()["configs"] if c["value"]["errors"]}
    assert list(errors) == ["connector.class"]
    assert errors["connector.class"][0].endswith("could not be run: The driver is missing. Install it.")


@pytest.mark.quick
def test_a_worker_that_ends_says_nothing_of_a_configuration_and_asks_for_another_try(serve: ServerMaker) -> None:
    rest = serve(worker={"config.providers": "file"})
    ending = "The worker is shutting down. Send the request again, or to another worker."
    path = "/connector-plugins/FileStreamSource/config/validate"
    for part, topic in (("check_error", "t"), ("validate_error", "${file:/s:topic}")):
        setattr(rest.operations, part, UnavailableError("The worker is shutting down"))
        config = {"connector.class": FILE_SOURCE, "topic": topic}
        refused(rest("POST", "/connectors", {"name": "n", "config": config}), 409, ending)
        refused(rest("PUT", path, {**config, "connector.class": "FileStreamSource", "name": "n"}), 409, ending)
    assert rest.get("/connectors") == []


@pytest.mark.thorough
def test_a_plugin_that_hangs_in_validation_holds_up_nobody_else(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.request.timeout.ms": "1500"})
    HangingSourceConfig.entered.clear()
    HangingSourceConfig.released.clear()
    try:
        with ThreadPoolExecutor(40) as pool:
            hanging = [pool.submit(rest, "PUT", f"/connectors/h{n}/config", {"connector.class": HANGING_SOURCE})
                       for n in range(40)]  # fmt: skip
            assert HangingSourceConfig.entered.wait(10)
            rest.create("a")
            assert rest.get("/connectors") == ["a"]
            answers = {refused(one.result(), 500).partition(", which began")[0] for one in hanging}
            assert answers == {"Request timed out. The worker is currently validating the configuration"}
    finally:
        HangingSourceConfig.released.set()


def test_what_a_provider_gives_is_validated_and_never_shown(serve: ServerMaker) -> None:
    def resolve(config: Mapping[str, str]) -> Mapping[str, str]:
        return {k: "hunter2" if v == "${file:/s:pw}" else v for k, v in config.items()}

    rest = serve(worker={"config.providers": "file"})
    rest.operations.resolve = resolve
    config = {"connector.class": FILE_SOURCE, "topic": "${file:/s:pw}"}
    assert rest("POST", "/connectors", {"name": "n", "config": config}).json()["config"] == {**config, "name": "n"}
    assert rest.operations.checked == [{**config, "name": "n"}]
    text = refused(rest("PATCH", "/connectors/n/config", {"batch.size": "${file:/s:pw}"}), 400)
    assert "Invalid value for configuration 'batch.size': the value resolved from the config provider" in text
    assert "hunter2" not in text + rest("GET", "/connectors?expand=info").text


def test_a_provider_that_cannot_be_asked_is_an_error_of_the_class_and_nothing_is_stored(serve: ServerMaker) -> None:
    rest = serve(worker={"config.providers": "file"})
    rest.operations.validate_error = ConnectError("The process that ran the connector's validate (pid 7) died.")
    config = {"connector.class": FILE_SOURCE, "topic": "${file:/s:pw}", "batch.size": "${file:/s:n}"}
    text = refused(rest("POST", "/connectors", {"name": "n", "config": config}), 400)
    assert "1 error(s):\nThe check in a task host (values of config providers, matches of topics.regex, large" in text
    assert "configurations) could not be run: The process that ran" in text
    assert rest.get("/connectors") == []
    found = rest("PUT", "/connector-plugins/FileStreamSource/config/validate",
                 {**config, "connector.class": "FileStreamSource", "name": "n", "none": None})  # fmt: skip
    errors = {c["value"]["name"]: len(c["value"]["errors"]) for c in found.json()["configs"] if c["value"]["errors"]}
    assert errors == {"connector.class": 1, "none": 1}


def test_a_provider_that_does_not_answer_in_time_is_an_error_of_the_class(serve: ServerMaker) -> None:
    rest = serve(worker={"config.providers": "file"}, check_timeout_s=0.01)
    rest.operations.validate_is_stuck = True
    config = {"connector.class": FILE_SOURCE, "topic": "${file:/s:pw}"}
    text = refused(rest("PUT", "/connectors/n/config", config), 400)
    assert "(values of config providers, matches of topics.regex, large configurations) did not end in 0 s." in text


def test_a_worker_judges_no_large_configuration_itself(rest: Rest) -> None:
    large = {"connector.class": FILE_SOURCE, "topic": "t", "file": "f" * 9000, "batch.size": "x"}
    path = "/connector-plugins/FileStreamSource/config/validate"
    found = rest("PUT", path, large | {"name": "n"}).json()
    assert [c["value"]["name"] for c in found["configs"] if c["value"]["errors"]] == ["batch.size"]
    rest.operations.validate_error = ConnectError("It is gone.")
    found = rest("PUT", path, large | {"name": "n"}).json()
    assert [c["value"]["name"] for c in found["configs"]] == ["connector.class"], "nothing else is known"
    assert found["configs"][0]["value"]["errors"][0].endswith("large configurations) could not be run: It is gone.")
    assert "NoSuch" in refused(
        rest("POST", "/connectors", {"name": "n", "config": large | {"connector.class": "NoSuch"}}), 400
    )
