"""Trials in a process of its own, as in a task host: what it computes costs the server nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor

from memory_cluster import MemoryOperations, MemoryTrials
from sample_plugins import worker_config

from connect.cluster.hosts.host_validation import validated
from connect.cluster.loop.futures import mapped
from connect.cluster.model.request_errors import RequestError
from connect.cluster.model.validation_infos import ConfigInfos
from connect.cluster.validation.check import Validator
from connect.plugins.catalog import Catalog


def answer_of_host(config: Mapping[str, str]) -> str:
    """What a task host says of a configuration, as the text that goes over its socket."""
    try:
        infos = Validator(Catalog.installed(), worker_config(), lambda given: given).validate(config)
    except RequestError as error:
        return json.dumps({"refusal": type(error).__name__, "message": error.message})
    return json.dumps({"infos": infos.as_json()})


class ApartTrials(MemoryTrials):
    """Asks a process of its own."""

    def __init__(self, whole: MemoryOperations, pool: ProcessPoolExecutor) -> None:
        super().__init__(whole)
        self._pool = pool

    def validate(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[ConfigInfos]:
        return mapped(self._pool.submit(answer_of_host, config), lambda text: validated(json.loads(text)))
