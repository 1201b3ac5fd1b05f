"""Holds the Avro converter's settings that change how schemas are mapped. Values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AvroSettings:
    """Holds the settings, each named after its key, see `connect.convert.avro.config.AvroConfig`."""

    enhanced: bool = False
    meta_data: bool = True
    scrub_invalid_names: bool = False
    allow_optional_map_keys: bool = False
    flatten_singleton_unions: bool = True
    generalized_sum_types: bool = False
    discard_type_doc_default: bool = False
    ignore_default_for_nullables: bool = False
