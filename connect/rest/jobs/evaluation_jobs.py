"""Evaluations that this worker runs for REST, each in a process of its own. In memory: they end with the worker."""

from __future__ import annotations

import json
import secrets
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final

from connect.cluster.model.operations import NotFoundError, RequestError
from connect.lib import python_child

MODULE: Final = "connect.poc.job"
KEPT: Final = 10
"""Results that are remembered; the oldest goes first."""
_END_S: Final = 30.0


@dataclass(slots=True)
class EvaluationJob:
    """One of them. `said`: its progress; `answer`: `result` and `report`, or `error`, once it is over."""

    id: str
    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    answer: Mapping[str, Any] | None = None

    @property
    def state(self) -> str:
        """RUNNING, DONE or FAILED."""
        if self.answer is None:
            return "RUNNING"
        return "FAILED" if "error" in self.answer else "DONE"

    def shown(self) -> dict[str, Any]:
        """The evaluation as REST answers it."""
        answer = self.answer or {}
        error, result = answer.get("error"), answer.get("result")
        return {"id": self.id, "state": self.state, "progress": list(self.said), "error": error, "result": result}


class EvaluationJobs:
    """Runs one at a time: it brings a Kafka and a worker along. May be used from any thread."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        """`worker`: this worker's properties; may hold secrets, which go to the process by its standard input."""
        self._worker = dict(worker)
        self._jobs: dict[str, EvaluationJob] = {}
        self._lock = threading.Lock()

    def start(self, connectors: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> EvaluationJob:
        """Begin one. RequestError 409: another one runs."""
        with self._lock:
            running = next((job.id for job in self._jobs.values() if job.state == "RUNNING"), None)
            if running is not None:
                raise RequestError(409, f"Evaluation {running} runs on this worker: wait for it, or ask another one.")
            process = python_child.start(
                python_child.command(MODULE),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                start_new_session=True,
            )  # fmt: skip
            job = EvaluationJob(f"poc-{secrets.token_hex(4)}", process)
            self._jobs[job.id] = job
            for old in list(self._jobs)[:-KEPT]:
                del self._jobs[old]
        asked = {"connectors": list(connectors), "options": dict(options), "worker": self._worker}
        _pipe(process.stdin).write(f"{json.dumps(asked)}\n")
        _pipe(process.stdin).flush()
        threading.Thread(target=self._listen, args=(job,), name=job.id, daemon=True).start()
        return job

    def job(self, name: str) -> EvaluationJob:
        """One that was started here. NotFoundError."""
        with self._lock:
            found = self._jobs.get(name)
        if found is None:
            raise NotFoundError(f"This worker has no evaluation {name}; each knows its own only.")
        return found

    def close(self) -> None:
        """End those that run; they remove what they made."""
        with self._lock:
            running = [job.process for job in self._jobs.values() if job.state == "RUNNING"]
        for process in running:
            _pipe(process.stdin).close()
        for process in running:
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()

    def _listen(self, job: EvaluationJob) -> None:
        for line in _pipe(job.process.stdout):
            told = json.loads(line)
            if "said" in told:
                job.said.append(told["said"])
            else:
                job.answer = told
        code = job.process.wait()
        if job.answer is None:
            job.answer = {"error": f"Its process ended with {code}."}


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
