"""Reads YAML that somebody else wrote: what a text of a few bytes may expand to has an end, and no key counts twice."""

from __future__ import annotations

from typing import Any, Final

import yaml

_MERGED_MAX: Final = 10_000
"""A mapping has so many keys at most, those that `<<` merges into it included."""
_MERGES_MAX: Final = 100
"""So many mappings at most are merged into a mapping."""
_KEYS_MAX: Final = 1_000_000
"""The mappings of a text have so many keys at most, all together. A text of 4 MiB without aliases has fewer."""
_MERGE: Final = "tag:yaml.org,2002:merge"
_INT: Final = "tag:yaml.org,2002:int"
_FLOAT: Final = "tag:yaml.org,2002:float"


def yaml_documents(text: str) -> list[Any]:
    """Return the documents of a text. yaml.YAMLError: it is no YAML, has a key twice, or merges too much.

    Aliases of a node are the same Python object, so whoever writes out what is nested has to bound it.
    """
    try:
        return list(yaml.load_all(text, _StrictLoader))
    except RecursionError:
        raise yaml.YAMLError("It is nested too deep.") from None


class _StrictLoader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Refuses keys that are there twice, of which PyYAML keeps the last, and merges that grow without an end."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._checked: set[int] = set()
        self._keys = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if id(node) not in self._checked:
            # Only once: what was merged into it later may have a key that is there already.
            self._checked.add(id(node))
            _check_keys(node)
        super().flatten_mapping(node)
        if len(node.value) > _MERGED_MAX:
            raise yaml.constructor.ConstructorError(
                None, None, f"a mapping has more than {_MERGED_MAX} keys", node.start_mark
            )
        self._keys += len(node.value)
        if self._keys > _KEYS_MAX:
            raise yaml.constructor.ConstructorError(
                None, None, f"its mappings have more than {_KEYS_MAX} keys", node.start_mark
            )


def _number_or_text(loader: _StrictLoader, node: yaml.ScalarNode) -> Any:
    """Return a number; a time as 12:30:00 is a text, as Kubernetes reads it, and no number of seconds."""
    if ":" in node.value:
        return node.value
    is_float = node.tag == _FLOAT
    return loader.construct_yaml_float(node) if is_float else loader.construct_yaml_int(node)


def _no_value(_: _StrictLoader, node: yaml.Node) -> Any:
    kind = node.tag.rpartition(":")[2]
    raise yaml.constructor.ConstructorError(None, None, f"a value is a {kind}, which is no text", node.start_mark)


for _tag in (_INT, _FLOAT):
    _StrictLoader.add_constructor(_tag, _number_or_text)
# Dates and times are texts as they were written: Python's would write 2026-01-01T10:00:00Z in another form.
_StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)
for _kind in ("binary", "set", "omap", "pairs"):
    _StrictLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _no_value)


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[tuple[str, str]] = set()
    merged = 0
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.tag == _MERGE:
            merged += len(value.value) if isinstance(value, yaml.SequenceNode) else 1
            if merged > _MERGES_MAX:
                raise yaml.constructor.ConstructorError(
                    None, None, f"more than {_MERGES_MAX} mappings are merged at once", value.start_mark
                )
            continue
        if (key.tag, key.value) in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is there twice", key.start_mark)
        seen.add((key.tag, key.value))
