"""Runs random histories by their seeds, saves one that fails, and says how to run it again.

A history is a series of random steps and faults. They are applied to a part of the product, and to a simple model that
knows what the README promises. `make test` runs the first few seeds, the same for everybody; `make chaos` draws seeds
for hours.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

SECONDS: Final = "CONNECT_HISTORY_S"
"""If this environment variable is set, seeds are drawn and their histories run until this many seconds are over."""
SEED: Final = "CONNECT_HISTORY_SEED"
"""If this environment variable is set, only the history of this seed runs."""
STANDSTILL: Final = "CONNECT_HISTORY_STANDSTILL_S"
"""If this environment variable is set, a history fails after so many seconds in which nothing moves."""
THEME: Final = "CONNECT_HISTORY_THEME"
"""If this environment variable is set, histories have this theme instead of a drawn one."""
FOLDER: Final = Path("build/histories")
"""Histories that failed are saved here, below the folder in which pytest runs."""


class History:
    """Holds one random history. It draws only from `draw`; `steps` has what was done so far."""

    def __init__(self, part: str, seed: int) -> None:
        self.part, self.seed = part, seed
        self.draw = random.Random(f"{part} {seed}")
        self.steps: list[dict[str, Any]] = []
        self._began_s = time.monotonic()

    def theme(self, weights: Mapping[str, int]) -> str:
        """Return the theme of this history, which says what its steps are about. ValueError: the environment names one
        that is not among those with a weight.
        """
        (drawn,) = self.draw.choices(list(weights), list(weights.values()))
        theme = os.environ.get(THEME, drawn)
        if theme not in weights:
            raise ValueError(f"{THEME} is {theme!r}, and histories of {self.part} have these themes: {sorted(weights)}")
        return theme

    def note(self, step: str, **details: Any) -> None:
        """Note a step that is about to be done, or something that was seen."""
        self.steps.append({"at_s": round(time.monotonic() - self._began_s, 3), "step": step, **details})

    def save(self, failure: BaseException) -> Path:
        """Write the history as JSON, and return the file's path."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        file = FOLDER / f"{self.part}-{self.seed}.json"
        told = {"part": self.part, "seed": self.seed, "failure": repr(failure), "steps": self.steps}
        file.write_text(json.dumps(told, indent=1, default=repr) + "\n", encoding="utf-8")
        return file.resolve()


def run_histories(part: str, run: Callable[[History], None], *, short: int) -> int:
    """Run histories of a part one after the other, and return how many there were.

    Unless the environment says otherwise, these are the seeds 1 to `short`. An error in a history is raised on, with
    its seed, the file in which it was saved, and the command that runs it again.
    """
    done = 0
    for seed in _seeds(short):
        history = History(part, seed)
        try:
            run(history)
        except BaseException as failure:
            for line in (f"history {seed} of {part}, saved in {history.save(failure)}", f"again: {again(seed)}"):
                failure.add_note(line)
            raise
        done += 1
        print(f"history {seed} of {part}: {len(history.steps)} steps, as promised", flush=True)  # noqa: T201
    return done


def again(seed: int) -> str:
    """Return the command that runs the history of a seed in the test that runs now."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    theme = f"{THEME}='{os.environ[THEME]}' " if THEME in os.environ else ""
    return f"{SEED}={seed} {theme}.venv/bin/python -m pytest -s --timeout=900 '{test}'"


def _seeds(short: int) -> Iterator[int]:
    if told := os.environ.get(SEED):
        yield int(told)
    elif seconds := os.environ.get(SECONDS):
        end_s = time.monotonic() + float(seconds)
        while time.monotonic() < end_s:
            yield random.SystemRandom().randrange(1000, 1 << 31)
    else:
        yield from range(1, short + 1)
