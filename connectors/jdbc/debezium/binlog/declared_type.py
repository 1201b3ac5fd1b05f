"""Reads the text of a column's type, as the catalog of MySQL and MariaDB has it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from connectors.jdbc.log.mysql.catalog import members_of

_TYPE: Final = re.compile(r"(?P<name>[a-z]\w*)(?: *\((?P<sizes>.*)\))?(?P<rest>[^)]*)", re.DOTALL | re.IGNORECASE)
_SYNONYMS: Final = {
    "integer": "int", "bool": "tinyint", "numeric": "decimal", "geomcollection": "geometrycollection",
    "double precision": "double", "real": "double",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """Holds a type's name in lower case, its numbers, if it has no sign, and the members of ENUM and SET."""

    name: str
    sizes: tuple[int, ...] = ()
    unsigned: bool = False
    members: tuple[str, ...] = ()

    @property
    def size(self) -> int | None:
        """Return the first number: a length, a precision, or digits of a second."""
        return self.sizes[0] if self.sizes else None


def declared_type(text: str) -> DeclaredType:
    """Return the type that a text such as `decimal(10,2) unsigned zerofill` names."""
    found = _TYPE.match(text)
    assert found is not None, text
    name = found["name"].lower()
    name = _SYNONYMS.get(name, name)
    if name in {"enum", "set"}:
        return DeclaredType(name, members=members_of(text))
    sizes = tuple(int(size) for size in (found["sizes"] or "").split(",") if size.strip().isdecimal())
    rest = found["rest"].lower()
    return DeclaredType(name, sizes, "unsigned" in rest or "zerofill" in rest)
