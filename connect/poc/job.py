"""Evaluates connectors in a process of its own: `python -m connect.poc.job`.

It is a child of `connect.lib.answering_child`. Each of its messages has `said`, a sentence of progress; the last one
has `result` and `report`, or `error`. When standard input ends, the owner is gone or has cancelled: the evaluation then
ends and removes what it made.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping
from typing import Any

from connect.api.errors import ConnectError
from connect.client.manifests import Manifest
from connect.lib.answering_child import Answers
from connect.poc.sandbox.options import Options


def asked_options(given: Mapping[str, Any]) -> Options:
    """Return the options of a request; options that it does not name have the defaults of the command line."""
    known = {
        "sample_rows": int, "duration_s": float, "crashes": int, "budget_rows": int, "show_values": bool, "seed": int,
    }  # fmt: skip
    return Options(**{name: kind(given[name]) for name, kind in known.items() if given.get(name) is not None})


def main() -> int:
    """Run the evaluation that standard input describes; return the exit code."""
    answers = Answers()
    asked = answers.request()
    threading.Thread(target=_end_with_owner, daemon=True, name="owner").start()
    manifests = [Manifest(one["name"], one["config"], "REST") for one in asked["connectors"]]
    try:
        from connect.poc.evaluation import evaluate
        from connect.poc.report.report import html_report

        result = evaluate(
            manifests, asked_options(asked["options"]), lambda text: answers.tell(said=text), asked["worker"]
        )
        answers.tell(result=result.as_json(), report=html_report(result))
    except ConnectError as error:
        answers.tell(error=str(error))
    except ModuleNotFoundError as error:
        answers.tell(error=f"{error}. Install what it needs: pip install 'connect-for-kafka[poc]'.")
    except KeyboardInterrupt:
        return 130
    return 0


def _end_with_owner() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
