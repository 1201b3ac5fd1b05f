"""Holds what a validation found, in the shape of Kafka Connect's ConfigInfos. Values only.

The order of the members is the order of the JSON; see org.apache.kafka.connect.runtime.rest.entities.ConfigInfos.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

WHERE_ELSE: Final = (
    "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
)
NO_PROVIDER: Final = "no config provider"
"""Every note on a placeholder whose config provider is missing has these words."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Describes a key as REST clients see it. A key with `group` None and `order` -1 has no place in a form."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    width: str
    display_name: str
    dependents: tuple[str, ...]
    order: int


@dataclass(frozen=True, slots=True)
class Value:
    """Holds a key's value as text, and its errors; a secret has the text `[hidden]`."""

    name: str
    value: str | None
    recommended_values: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    visible: bool = True


@dataclass(frozen=True, slots=True)
class Info:
    """Holds a key. `definition` is None if nobody declares the key, but it has errors or is passed on as it is."""

    definition: Definition | None
    value: Value

    def with_errors(self, errors: Sequence[str]) -> Info:
        """Return the key with further errors; an error that it has already is not repeated."""
        if not errors:
            return self
        return replace(self, value=replace(self.value, errors=tuple(dict.fromkeys((*self.value.errors, *errors)))))


@dataclass(frozen=True, slots=True)
class ConfigInfos:
    """Holds all keys of a connector configuration. `name` is `connector.class` as given.

    `notes` are sentences about settings that are valid and yet worth knowing. Java has no such member, so the JSON has
    it only if there are notes.
    """

    name: str
    groups: tuple[str, ...]
    configs: tuple[Info, ...]
    notes: tuple[str, ...] = ()

    @property
    def error_count(self) -> int:
        """Return the number of errors of all keys."""
        return sum(len(info.value.errors) for info in self.configs)

    def with_errors(self, errors: Mapping[str, Sequence[str]]) -> ConfigInfos:
        """Return the same infos with further errors by key; a key that is not there yet is added at the end."""
        known = {info.value.name for info in self.configs}
        configs = [info.with_errors(errors.get(info.value.name, ())) for info in self.configs]
        extra = [Info(None, Value(key, None, errors=tuple(found))) for key, found in errors.items() if key not in known]
        return replace(self, configs=(*configs, *extra))

    def as_json(self) -> dict[str, Any]:
        """Return the members in the order of the JSON answer."""
        configs = [{part: _members(getattr(info, part)) for part in _PARTS} for info in self.configs]
        members = {"name": self.name, "error_count": self.error_count, "groups": self.groups, "configs": configs}
        return members | ({"notes": self.notes} if self.notes else {})

    @classmethod
    def of_json(cls, members: Mapping[str, Any]) -> ConfigInfos:
        """Return the infos whose `as_json` gave these members."""
        configs = tuple(map(_info, members["configs"]))
        return cls(members["name"], tuple(members["groups"]), configs, tuple(members.get("notes", ())))

    def message(self) -> str:
        """Return the text of the answer to an invalid configuration."""
        errors = [error for info in self.configs for error in info.value.errors]
        head = f"Connector configuration is invalid and contains the following {len(errors)} error(s):"
        broken = {info.value.name for info in self.configs if info.value.errors}
        # A placeholder that was not replaced is often why the target refuses a password; a key's own error shows it.
        causes = [f"Note: {n}" for n in self.notes if NO_PROVIDER in n and n.partition(":")[0] not in broken]
        return "\n".join((head, *errors, *causes, WHERE_ELSE))


_PARTS: Final = tuple(field.name for field in fields(Info))
_NAMES: Final = {kind: tuple(field.name for field in fields(kind)) for kind in (Definition, Value)}


def _members(part: Definition | Value | None) -> dict[str, Any] | None:
    """Return the members of a part of an Info. `asdict` would copy each text and take ten times as long."""
    return None if part is None else {name: getattr(part, name) for name in _NAMES[type(part)]}


def _info(members: Mapping[str, Any]) -> Info:
    definition, value = members["definition"], members["value"]
    lists = ("recommended_values", "errors")
    return Info(
        definition and Definition(**{**definition, "dependents": tuple(definition["dependents"])}),
        Value(**{**value, **{name: tuple(value[name]) for name in lists}}),
    )
