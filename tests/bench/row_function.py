"""Defines a user's transform that works row by row: it computes one field and changes one."""

from __future__ import annotations

from typing import Any


def total(row: dict[str, Any]) -> dict[str, Any]:
    row["total"] = row["quantity"] * row["price"] * (1 - row["discount"])
    row["sku"] = row["sku"].lower()
    return row
