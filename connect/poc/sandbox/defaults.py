"""Holds what an evaluation may do unless somebody says otherwise, for the command line and for REST. It imports nothing
that takes time, as every command of the command line loads it.
"""

from __future__ import annotations

from typing import Final

SAMPLE_ROWS: Final = 10_000
DURATION_S: Final = 60.0
CRASHES: Final = 3
BUDGET_ROWS: Final = 500_000
