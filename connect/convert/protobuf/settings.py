"""Holds the Protobuf converter's settings that change how schemas are mapped. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from connect.convert.protobuf.names import ENUM, GENERALIZED_ENUM


@dataclass(frozen=True, slots=True)
class ProtobufSettings:
    """Holds the settings, each named after its key, see `ProtobufConfig`."""

    enhanced: bool = False
    scrub_invalid_names: bool = False
    int_for_enums: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    index_for_unions: bool = True
    flatten_unions: bool = False
    generalized_sum_types: bool = False
    ignore_default_for_nullables: bool = False
    java: bool = False

    @property
    def enum_parameter(self) -> str:
        """Return the name of the parameter that makes a text an enum."""
        return GENERALIZED_ENUM if self.generalized_sum_types else ENUM
