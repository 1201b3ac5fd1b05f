"""Looks at dead letters and replays them in a process of its own: `python -m connect.dlq.job`.

It is a child of `connect.lib.answering_child`: a worker that is asked for letters runs no converter and no transform of
theirs in its own process. What it tells last has `answer`, `conflict` (another replay took over) or `error`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.dlq.letter import Letter
from connect.dlq.letters import LetterTopic
from connect.dlq.replay import Outcome, errors_of
from connect.dlq.run import ReplayConflictError, run_replay
from connect.dlq.selection import Selection, parse_error, parse_place
from connect.dlq.text import as_json, moment
from connect.lib.answering_child import Answers
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig

SHOWN: Final = 50
"""An answer holds at most so many letters, the newest ones."""
_CHARS: Final = 4000


def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request: to `list` letters, to `try` what a replay would do, or to `replay`."""
    worker = WorkerConfig.parse(asked["worker"])
    deadline = Deadline.after(asked["timeout_s"])
    topic = LetterTopic(worker.originals, asked["topic"])
    places = asked.get("places")
    selection = Selection(
        connector=asked.get("connector"),
        error=parse_error(asked.get("error") or None),
        places=frozenset(map(parse_place, places)) if places else None,
    )
    if asked["do"] == "list":
        return _listed(topic, selection, deadline)
    outcome = run_replay(worker, topic, selection, deadline, is_trial=asked["do"] == "try")
    return _outcome(outcome)


def _listed(topic: LetterTopic, selection: Selection, deadline: Deadline) -> dict[str, Any]:
    done = topic.replayed(deadline)
    groups = errors_of(topic.letters(selection, deadline))
    summary = [
        {
            "stage": stage, "error": error, "letters": len(group),
            "replayed": sum(letter.identity in done for letter in group),
            "last": moment(max((at for one in group if (at := one.timestamp_ms) is not None), default=None)),
        }
        for (_, stage, error), group in groups.items()
    ]  # fmt: skip
    letters = sorted(chain.from_iterable(groups.values()), key=lambda one: (one.timestamp_ms or 0, one.place))
    shown = [_letter(one, is_replayed=one.identity in done) for one in letters[: -SHOWN - 1 : -1]]
    return {"summary": summary, "letters": shown, "count": len(letters)}


def _letter(letter: Letter, *, is_replayed: bool) -> dict[str, Any]:
    """Return a letter as `connect dlq list --json` writes it, with its place and trace; long texts are cut."""
    told = {name: _cut(value) for name, value in as_json(letter, replayed=is_replayed).items()}
    return told | {"place": str(letter.place), "trace": _cut(letter.context.get("exception.stacktrace", ""))}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    refused = [
        {"place": str(letter.place), "origin": letter.origin, "why": _cut(why)} for letter, why in outcome.refused
    ]
    return {
        "replayed": outcome.replayed, "records": outcome.records, "before": outcome.before,
        "missing": [str(place) for place in outcome.missing], "refused": refused[:SHOWN], "refused_count": len(refused),
    }  # fmt: skip


def _cut(value: object) -> object:
    return f"{value[:_CHARS]}…" if isinstance(value, str) and len(value) > _CHARS else value


def main() -> int:
    """Answer the request on standard input; return the exit code."""
    answers = Answers()
    try:
        answers.tell(answer=answer(answers.request()))
    except ReplayConflictError as error:
        answers.tell(conflict=str(error))
        return 1
    except ConnectError as error:
        answers.tell(error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
