"""Writes in sentences why statements wait for the budget, what is left of it, and what to do. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from connect.api.errors import RetriableError
from connectors.bigquery.rows.sizes import bytes_told
from connectors.bigquery.spending.ledger import Wait

_CHEAPER: Final = (
    "Raise the budget, or let merges cost less: by dedup.mode=compact, which loads rows without one and shows them in "
    "its view, or by dedup.window."
)
_BUDGET: Final = "budget"


class BudgetSpentError(RetriableError):
    """The day's budget is too small for a statement. No row is lost, and most statements run later.

    A statement that needs more than a whole day's budget waits until a person changes something.
    """


def budget_spent(
    target: str, wait: Wait, need_bytes: int, budget_bytes: int, now_s: float, *, key: str
) -> BudgetSpentError:
    """Return the error of a table whose statements wait. `key` is the setting of the budget."""
    need, budget = bytes_told(need_bytes), bytes_told(budget_bytes)
    if wait.seconds is None:
        return BudgetSpentError(
            f"Table {target} is not merged, as one merge needs about {need}, and {key} has {budget} for a "
            "whole day. Rows stay where they are, in Kafka or in the log, and none is lost.",
            fix=_CHEAPER,
        )
    if wait.is_full:
        return BudgetSpentError(
            f"Table {target} waits {wait.seconds:.0f} s, as so many jobs run that no more bytes can be reserved for "
            f"one ({key}). Rows stay where they are, in Kafka or in the log, and none is lost.",
            fix="Lower tasks.max or threadPoolSize, by which fewer tables are merged at the same time.",
            waiting_for=_BUDGET,
        )
    until = datetime.fromtimestamp(now_s + wait.seconds, UTC)
    return BudgetSpentError(
        f"Table {target} is merged again at {until:%H:%M} UTC, as it needs about {need}, and "
        f"{bytes_told(wait.used_bytes)} of {budget} ({key}) are used today. Rows stay where they are, in "
        "Kafka or in the log, and none is lost.",
        fix=_CHEAPER,
        waiting_for=_BUDGET,
    )
