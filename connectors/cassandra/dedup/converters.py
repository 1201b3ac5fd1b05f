"""Recognises records that are read with other converters than the agents wrote them with. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect.api.errors import ConfigError

_ENVELOPE: Final = {"schema", "payload"}


def of_other_converters(topic: str, keys: Sequence[Any], values: Sequence[Any]) -> ConfigError | None:
    """Return an error if all keys, or all values, look as if another converter had written them; else None.

    `keys` and `values` are those that this connector's converters made of the records. The error names key.converter or
    value.converter. Tombstones are not looked at.
    """
    events = [(key, value) for key, value in zip(keys, values, strict=True) if value is not None]
    for side, found in (("value", [value for _, value in events]), ("key", [key for key, _ in events])):
        forms = {_form(one) for one in found}
        form = forms.pop() if len(forms) == 1 else None
        if form is not None:
            return ConfigError(
                f"The records of topic {topic} were written by another {side}.converter than they are read by: as they "
                f"are read, each {side} is {form}.",
                key=f"{side}.converter",
                fix=f"Give this connector the {side}.converter, with all {side}.converter.* keys, that the agents have "
                "by the file of `connect agent cassandra` or of its --worker.",
            )
    return None


def _form(read: object) -> str | None:
    """Return in words what a key or value was read as, if it is no event and no event's key; else None."""
    if isinstance(read, Mapping):
        return "an envelope of schema and payload (schemas.enable=true wrote it)" if set(read) == _ENVELOPE else None
    return None if read is None else f"of type {type(read).__name__} and no struct"
