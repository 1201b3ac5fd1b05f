"""Says at which step the rows of a batch failed, through `isolate` and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from connect.api.errors import RejectedRowsError, RetriableError
from connect.runtime.records.tolerance import Stage

T = TypeVar("T")


class StageFailedError(Exception):
    """Carries the stage of a failure through `isolate`."""

    def __init__(self, stage: Stage, component: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.stage = stage
        self.component = component
        self.cause = cause


def staged(stage: Stage, component: str, step: Callable[[], T]) -> T:
    """Return what the step returns, and let its errors, but RetriableError, say at which stage they came."""
    try:
        return step()
    except RetriableError:
        raise
    except RejectedRowsError as error:
        raise RejectedRowsError({i: StageFailedError(stage, component, e) for i, e in error.rows.items()}) from error
    except Exception as error:
        raise StageFailedError(stage, component, error) from error


class StageRows(NamedTuple):
    """Holds the bad rows of one stage, each with its error."""

    stage: Stage
    component: str
    causes: dict[int, Exception]


def by_stage(rows: Mapping[int, Exception]) -> list[StageRows]:
    """Return the bad rows of each stage; what no stage claims is about the batch that came out of all of them."""
    found: dict[tuple[Stage, str], dict[int, Exception]] = {}
    for i, error in rows.items():
        if isinstance(error, StageFailedError):
            found.setdefault((error.stage, error.component), {})[i] = error.cause
        else:
            found.setdefault((Stage.VALUE_CONVERTER, type(error).__module__), {})[i] = error
    return [StageRows(stage, component, causes) for (stage, component), causes in found.items()]
