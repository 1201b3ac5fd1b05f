"""The emulated BigQuery keeps what the sink's exactly-once rests on."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import pytest
import requests

from connect.tools.services.bigquery import BigQueryService

pytestmark = pytest.mark.integration


@pytest.fixture
def jobs_url(bigquery_service: BigQueryService) -> str:
    endpoint = bigquery_service.endpoint
    return f"{endpoint.url}/bigquery/v2/projects/{endpoint.project}/jobs"


def test_the_id_of_a_job_is_taken_once_however_many_ask_for_it_at_one_moment(jobs_url, unique):
    def submit(number):
        job = {
            "jobReference": {"projectId": "local", "jobId": f"{unique}-{number // 8}"},
            "configuration": {"query": {"query": "SELECT 1", "useLegacySql": False}},
        }
        return number // 8, requests.post(jobs_url, json=job, timeout=60).status_code

    with ThreadPoolExecutor(8) as clients:
        answers = Counter(clients.map(submit, range(160)))
    assert {number: answers[number, HTTPStatus.OK] for number in range(20)} == dict.fromkeys(range(20), 1)
    assert answers.total() == 160
    assert {status for _, status in answers} == {HTTPStatus.OK, HTTPStatus.CONFLICT}
