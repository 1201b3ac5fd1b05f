"""Declares the settings of the transforms that Kafka Connect lacks; those of Debezium's keep Debezium's keys.

No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Final

from connect.api.config import Boolean, Config, Double, ListOf, Password, String, at_least, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.schema import Type
from connect.transforms.settings.function_modules import function_problem
from connect.transforms.settings.patterns import regex_problem
from connect.transforms.settings.shared import list_problems, setting
from connect.transforms.structure.field_path import path_problems

TYPE_NAMES: Final = tuple(t.value for t in Type if t not in {Type.ARRAY, Type.MAP, Type.STRUCT})
_FUNCTION: Final = re.compile(r"[\w.]+:[\w.]+")


class ExplodeConfig(Config):
    """Declares the settings of Explode."""

    field: Annotated[String, non_empty] = setting(
        "field",
        harmless="a path of fields",
        doc="The array: a dotted path, names with dots in backticks.",
        importance="high",
    )
    output: Annotated[String, one_of("field", "element")] = setting(
        "output", "field", doc="field: each row keeps all else and has one element in place of the array; element: the "
        "element is the whole value.",
    )  # fmt: skip
    empty_arrays: Annotated[String, one_of("keep", "drop")] = setting(
        "empty.arrays", "keep", doc="What becomes of rows without elements. keep: one row with a null; drop: none."
    )
    index_field: String | None = setting(
        "index.field", None, doc="Field for the element's place in the array, from 0; with output=field."
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from path_problems(self.field, "V2")
        if self.index_field and self.output == "element":
            yield ConfigProblem("index.field", "index.field needs output=field: an element has no fields of ours.")


class SqlConfig(Config):
    """Declares the settings of Sql."""

    select: Annotated[String, non_empty] = setting(
        "select", "*", importance="high",
        reach=Reach.SQL, bounds="run by DuckDB without files, network, extensions and settings",
        doc="What DuckDB's SELECT takes: columns and expressions with names, such as * EXCLUDE (a), b * c AS d.",
    )  # fmt: skip
    where: String | None = setting(
        "where",
        None,
        reach=Reach.SQL,
        bounds="run by DuckDB without files, network, extensions and settings",
        doc="Rows to keep; none given: all.",
        importance="high",
    )


class ThrottleConfig(Config):
    """Declares the settings of Throttle."""

    rows_per_second: Annotated[Double, at_least(0.001)] = setting(
        "rows.per.second", doc="The most rows a second of a task.", importance="high"
    )


class RedactConfig(Config):
    """Declares the settings of Redact."""

    fields: Annotated[ListOf, non_empty] = setting(
        "fields", importance="high",
        harmless="names of fields",
        doc="Java regular expressions; a field at any depth is redacted when one of them matches its whole name or "
        "its whole dotted path, in any case of letters.",
    )  # fmt: skip
    action: Annotated[String, one_of("null", "mask", "hash")] = setting(
        "action", "mask", doc="null: no value; mask: the replacement for texts, else the type's empty value; hash: the "
        "SHA-256 of the value's text, in hexadecimal.",
    )  # fmt: skip
    replacement: String = setting("replacement", "***", doc="What texts become with action=mask.")
    salt: Password | None = setting(
        "hash.salt", None, doc="Key of the hash (HMAC): without it, short values can be guessed from their hashes."
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from list_problems({"fields": self.fields})
        for pattern in self.fields:
            problem = regex_problem("fields", pattern)
            if problem is not None:
                yield problem


class PythonFunctionConfig(Config):
    """Declares the settings of PythonFunction."""

    function: Annotated[String, non_empty] = setting(
        "function",
        reach=Reach.CLASS,
        bounds="refused, unless `python.function.modules` of the worker's file lists the module or its package",
        doc="module:name, importable by the worker (PYTHONPATH or an installed package). It gets a row once more where "
        "another row of the batch is bad or has to wait, so it must not drop what it has seen before.",
        importance="high",
    )
    mode: Annotated[String, one_of("row", "batch")] = setting(
        "mode", "row", doc="row: called with each value, gives the new one, or None to drop the row. batch: called "
        "with a pyarrow.RecordBatch, gives one of as many rows, or a boolean array of the rows to keep.",
    )  # fmt: skip
    modules: ListOf = setting(
        "python.function.modules", (), from_worker=True,
        doc="Modules, and packages with all in them, that the worker allows; Python's own only by their full name.",
    )  # fmt: skip
    fields: ListOf = setting(
        "fields", (),
        harmless="names of fields",
        doc="With mode=row and a schema: fields that the function adds or gives another type, as "
        "name:type (int8 … int64, float32, float64, boolean, string, bytes); they may be null.",
    )  # fmt: skip

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        if not _FUNCTION.fullmatch(self.function):
            yield ConfigProblem(
                "function", f"Invalid value {self.function} for configuration function: not module:name"
            )
        elif problem := function_problem(self.function, self.modules):
            yield ConfigProblem("function", f"Invalid value {self.function} for configuration function: {problem}")
        for field in self.fields:
            name, _, kind = field.rpartition(":")
            if not name or kind not in TYPE_NAMES:
                yield ConfigProblem(
                    "fields", f"Invalid value {field} for configuration fields: must be name:type, with a type of "
                    f"{', '.join(TYPE_NAMES)}"
                )  # fmt: skip

    @property
    def types(self) -> Mapping[str, Type]:
        """Return the types of the fields that the function makes."""
        return MappingProxyType({name: Type(kind) for name, _, kind in (f.rpartition(":") for f in self.fields)})


class UnwrapConfig(Config):
    """Declares the settings of io.debezium.transforms.ExtractNewRecordState (Debezium 3)."""

    delete_mode: Annotated[
        String, one_of("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
    ] = setting(
        "delete.tombstone.handling.mode", "tombstone",
        doc="drop: deletes and tombstones go; tombstone: a delete goes, its tombstone stays; rewrite: a delete becomes "
        "its last state with __deleted, tombstones go; rewrite-with-tombstone: both stay; delete-to-tombstone: a "
        "delete becomes a tombstone, tombstones go.",
    )  # fmt: skip
    old_delete_mode: Annotated[String, one_of("none", "drop", "rewrite")] | None = setting(
        "delete.handling.mode", None, doc="As in Debezium 2: what becomes of deletes. Counts where it is given."
    )
    old_drop_tombstones: Boolean | None = setting(
        "drop.tombstones", None, doc="As in Debezium 2: tombstones go (true, its default)."
    )
    add_fields: ListOf = setting(
        "add.fields", (), doc="Members of the envelope to add as fields: op, source.table, table:name, …"
    )
    add_fields_prefix: String = setting("add.fields.prefix", "__", doc="What added fields' names begin with.")
    add_headers: ListOf = setting("add.headers", (), doc="Members of the envelope to add as headers.")
    add_headers_prefix: String = setting("add.headers.prefix", "__", doc="What added headers' names begin with.")
    route_by_field: String = setting("route.by.field", "", doc="Field of the row whose value becomes the topic.")

    @property
    def drops_tombstones(self) -> bool:
        """Tell if tombstones that follow deletes are dropped."""
        if self._old:
            return self.old_drop_tombstones is not False
        return self.delete_mode in {"drop", "rewrite", "delete-to-tombstone"}

    @property
    def deletes(self) -> str:
        """Return what a delete becomes: drop, rewrite or tombstone."""
        if self._old:
            return {"none": "tombstone", None: "drop"}.get(self.old_delete_mode, self.old_delete_mode or "drop")
        if self.delete_mode.startswith("rewrite"):
            return "rewrite"
        return "tombstone" if self.delete_mode == "delete-to-tombstone" else "drop"

    @property
    def _old(self) -> bool:
        return self.old_delete_mode is not None or self.old_drop_tombstones is not None
