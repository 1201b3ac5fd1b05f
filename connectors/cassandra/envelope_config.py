"""Declares the settings of the transform to Debezium's form.

It imports no Arrow, as it is read wherever plug-ins are listed.
"""

from __future__ import annotations

from typing import Annotated, Final

from connect.api.config import Config, String, key, one_of

CELLS: Final = "cells"


class EnvelopeConfig(Config):
    """Declares the setting that chooses the form of columns."""

    columns: Annotated[String, one_of(CELLS, "values")] = key(
        "columns", CELLS, doc="cells: value, deletion_ts and set of each column; values: the value alone."
    )  # fmt: skip
