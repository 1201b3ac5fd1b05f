"""Drops and renames fields (ReplaceField). On Arrow it moves columns and touches no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connect.api.schema import Field, Schema
from connect.transforms.settings.config import ReplaceFieldConfig
from connect.transforms.structure.field_path import parse_path
from connect.transforms.structure.fields import FieldsTransform
from connect.transforms.structure.nested import Nested, Path
from connect.transforms.structure.sides import Side
from connect.transforms.structure.structs import column_of, members, rebuilt, value_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class _Fields:
    """Tells what happens to the fields of one struct."""

    exclude: set[str] = field(default_factory=set)
    include: set[str] = field(default_factory=set)
    new_names: dict[str, str] = field(default_factory=dict)


class _ReplaceField:
    def __init__(self, config: ReplaceFieldConfig, fields: _Fields) -> None:
        self._exclude = frozenset(fields.exclude)
        self._include = frozenset(fields.include)
        self._names = fields.new_names
        self._default = config.replace_null

    def schema_of(self, schema: Schema) -> Schema:
        return rebuilt(schema, (Field(self._named(f.name), f.schema) for f in self._kept(schema)))

    def columns(self, array: pa.StructArray, schema: Schema, _made: Schema, _batch: Batch) -> Sequence[pa.Array]:
        return [column_of(array, schema, field, default=self._default) for field in self._kept(schema)]

    def struct_row(
        self, row: Mapping[str, Any], schema: Schema, _made: Schema, _batch: Batch, _i: int
    ) -> dict[str, Any]:
        return {self._named(f.name): value_of(row, f, default=self._default) for f in self._kept(schema)}

    def map_row(self, row: Mapping[Any, Any], _batch: Batch, _i: int) -> dict[Any, Any]:
        for name in row:
            if not isinstance(name, str):
                raise SchemaError(
                    f"Field names must be texts; a map has the key {name!r} of type {type(name).__name__}."
                )
        return {self._named(name): value for name, value in row.items() if self._keeps(name)}

    def map_columns(self, array: pa.StructArray, _batch: Batch) -> dict[str, pa.Array] | None:
        kept = {name: column for name, column in members(array).items() if self._keeps(name)}
        made = {self._named(name): column for name, column in kept.items()}
        # If two keys get one new name, columns do not tell which of them a row has.
        return made if len(made) == len(kept) else None

    def _kept(self, schema: Schema) -> list[Field]:
        return [field for field in schema.fields if self._keeps(field.name)]

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _named(self, name: str) -> str:
        return self._names.get(name, name)


def _by_parent(config: ReplaceFieldConfig) -> dict[Path, _Fields]:
    """Return the fields to exclude, include and rename, by the path of their parent.

    A path that is included also keeps its parents, but none of their other fields.
    """
    groups: dict[Path, _Fields] = {}
    for name in config.exclude:
        path = parse_path(name, "V2")
        groups.setdefault(path[:-1], _Fields()).exclude.add(path[-1])
    included = {parse_path(name, "V2") for name in config.include}
    for path in included:
        if any(path[:i] in included for i in range(1, len(path))):
            continue  # a parent that is included as a whole keeps all fields
        for i in range(len(path)):
            groups.setdefault(path[:i], _Fields()).include.add(path[i])
    for name, new in config.new_names.items():
        path = parse_path(name, "V2")
        groups.setdefault(path[:-1], _Fields()).new_names[path[-1]] = new
    return groups


def _transform(side: Side, config: ReplaceFieldConfig) -> FieldsTransform | Nested:
    def of(fields: _Fields) -> FieldsTransform:
        return FieldsTransform(side, "field replacement", _ReplaceField(config, fields))

    if config.nested:
        return Nested(side, {parent: of(fields) for parent, fields in _by_parent(config).items()})
    return of(_Fields(set(config.exclude), set(config.include), dict(config.new_names)))


def key(config: ReplaceFieldConfig) -> FieldsTransform | Nested:
    """Return the transform ReplaceField$Key."""
    return _transform(Side.KEY, config)


def value(config: ReplaceFieldConfig) -> FieldsTransform | Nested:
    """Return the transform ReplaceField$Value."""
    return _transform(Side.VALUE, config)
