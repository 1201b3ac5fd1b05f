"""Holds the JSON Schema converter's settings that change how schemas are mapped. Values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JsonSchemaSettings:
    """Holds the settings, each named after its key, see `JsonSchemaConfig`."""

    numeric_decimals: bool = False
    additional_properties: bool = True
    optional_for_nonrequired: bool = False
    generalized_sum_types: bool = False
    flatten_singleton_unions: bool = True
    ignore_default_for_nullables: bool = False
