"""Requests made up from the OpenAPI document, right ones and wrong ones, against a real worker.

The only 500s are those with which Kafka Connect answers a body that it cannot use; every answer fits the document.
"""

import re

import pytest
import schemathesis
import schemathesis.specs.openapi.schemas  # now: Python 3.11 cannot compile it safely beside other threads
from e2e_worker import wait_for
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rest_workers import ask, runs, two_workers
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

SOURCE = {"connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/no-such-file"}
EXAMPLES = 3
DOCUMENTED_500 = re.compile(
    r"Cannot (deserialize|construct|read)|Unrecognized (field|token)|Unexpected |Invalid UTF|Numeric value|"
    r"Document nesting|Non-standard token|Illegal null or empty Level name|Partition objects cannot be null|"
    r"org\.apache\.kafka\.connect\.runtime\.rest\.errors\.BadRequestException: |.*(partition|offset|position)",
    re.IGNORECASE,
)
CHECKS = [
    schemathesis.checks.not_a_server_error,
    response_schema_conformance,
    content_type_conformance,
    status_code_conformance,
]


@pytest.fixture(scope="module")
def worker(kafka, tmp_path_factory):
    with two_workers(kafka, tmp_path_factory.mktemp("schema")) as (_, follower):
        yield follower


@pytest.fixture(scope="module")
def operations(worker):
    schema = schemathesis.openapi.from_url(f"{worker.url}/openapi.json")
    return [result.ok() for result in schema.get_all_operations()]


def is_known_refusal(answer):
    message = answer.json()["message"]
    return answer.status_code == 500 and DOCUMENTED_500.match(message) is not None


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_answer_fits_the_document(worker, operations, mode):
    assert len(operations) > 30
    answered = {}

    def try_out(operation):
        cases = operation.as_strategy(generation_mode=mode)

        @given(case=cases, known=st.booleans())
        @settings(
            max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def one(case, known):
            if known and "name" in case.path_parameters:
                case.path_parameters["name"] = "live"
            answer = case.call(timeout=60)
            answered.setdefault(answer.status_code, set()).add(operation.label)
            checks = CHECKS[1:] if answer.status_code == 500 and is_known_refusal(answer) else CHECKS
            case.validate_response(answer, checks=checks)

        one()

    for operation in operations:
        ask(worker, "POST", "/connectors", {"name": "live", "config": SOURCE})
        wait_for(lambda: runs(worker, "live") or ask(worker, "PUT", "/connectors/live/resume").ok, 60, "live runs")
        # What takes neither parameters nor a body has no wrong form.
        if mode is GenerationMode.POSITIVE or operation.body or operation.query:
            try_out(operation)
    print({status: len(labels) for status, labels in answered.items()})  # noqa: T201 - a figure for the report
    assert ask(worker, "GET", "/health").status_code == 200
    assert 200 in answered
