"""Carries out evaluations for REST, each in a process of its own. They are kept in memory and end with the worker."""

from __future__ import annotations

import secrets
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from connect.cluster.model.request_errors import NotFoundError
from connect.lib.answering_child import AnsweringChild
from connect.rest.errors.http_error import HttpError

MODULE: Final = "connect.poc.job"
KEPT: Final = 10
"""This many results are kept; the oldest is dropped first."""
_END_S: Final = 30.0


@dataclass(slots=True)
class EvaluationJob:
    """Holds one evaluation. `said` is its progress; `answer` has `result` and `report`, or `error`, once it is over."""

    id: str
    connectors: Sequence[str] = ()
    process: AnsweringChild | None = None
    said: list[str] = field(default_factory=list)
    answer: Mapping[str, Any] | None = None

    @property
    def state(self) -> str:
        """Return RUNNING, DONE or FAILED."""
        if self.answer is None:
            return "RUNNING"
        return "FAILED" if "error" in self.answer else "DONE"

    def hear(self, told: Mapping[str, Any]) -> None:
        """Take one message of the process."""
        if "said" in told:
            self.said.append(told["said"])
        else:
            self.answer = told

    def ended(self, exit_code: int) -> None:
        """Take note that the process has ended, which becomes the answer if the process gave none."""
        if self.answer is None:
            self.answer = {"error": f"Its process ended with {exit_code}."}

    def shown(self) -> dict[str, Any]:
        """Return the evaluation in the form of REST's answer."""
        answer = self.answer or {}
        error, result = answer.get("error"), answer.get("result")
        return {"id": self.id, "state": self.state, "progress": list(self.said), "error": error, "result": result}


class EvaluationJobs:
    """Runs one evaluation at a time, as each starts a Kafka and a worker. Any thread may use it."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        """Take this worker's properties. Secrets in them go to the process through its standard input."""
        self._worker = dict(worker)
        self._jobs: dict[str, EvaluationJob] = {}
        self._lock = threading.Lock()

    def start(self, connectors: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> EvaluationJob:
        """Begin an evaluation. HttpError 409: another one runs."""
        with self._lock:
            running = next((job.id for job in self._jobs.values() if job.state == "RUNNING"), None)
            if running is not None:
                raise HttpError(409, f"Evaluation {running} runs on this worker: wait for it, or ask another one.")
            asked = {"connectors": list(connectors), "options": dict(options), "worker": self._worker}
            job = EvaluationJob(f"poc-{secrets.token_hex(4)}", [one["name"] for one in connectors])
            job.process = AnsweringChild(
                MODULE, asked, hear=job.hear, ended=job.ended, own_session=True, stderr=subprocess.DEVNULL
            )
            self._jobs[job.id] = job
            for old in list(self._jobs)[:-KEPT]:
                del self._jobs[old]
        return job

    def jobs(self) -> list[EvaluationJob]:
        """Return the evaluations that are kept, the oldest first."""
        with self._lock:
            return list(self._jobs.values())

    def job(self, name: str) -> EvaluationJob:
        """Return an evaluation that was started here. NotFoundError: there is none of this name."""
        with self._lock:
            found = self._jobs.get(name)
        if found is None:
            raise NotFoundError(f"This worker has no evaluation {name}; each knows its own only.")
        return found

    def close(self) -> None:
        """End the running evaluations; they remove everything that they made."""
        with self._lock:
            running = [job.process for job in self._jobs.values() if job.process is not None and job.state == "RUNNING"]
        for process in running:
            process.cancel()
        for process in running:
            if not process.has_ended(_END_S):
                process.kill()
