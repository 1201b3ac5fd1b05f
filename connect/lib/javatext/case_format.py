"""Changes the case of names of several words, such as LOWER_HYPHEN or UPPER_CAMEL, as Guava's CaseFormat does. Pure."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final, NamedTuple


class _Case(NamedTuple):
    boundary: str
    """This matches where a word begins behind another one."""
    separator: str
    first: str
    """The first word becomes `lower`, `upper` or `title`."""
    further: str


CASES: Final = MappingProxyType({
    "LOWER_HYPHEN": _Case("-", "-", "lower", "lower"), "LOWER_UNDERSCORE": _Case("_", "_", "lower", "lower"),
    "LOWER_CAMEL": _Case("(?=[A-Z])", "", "lower", "title"), "UPPER_CAMEL": _Case("(?=[A-Z])", "", "title", "title"),
    "UPPER_UNDERSCORE": _Case("_", "_", "upper", "upper"),
})  # fmt: skip
# Between two cases of such a pair, Guava changes only the separators.
_LETTERS_STAY: Final = frozenset({("LOWER_HYPHEN", "LOWER_UNDERSCORE"), ("LOWER_UNDERSCORE", "LOWER_HYPHEN")})
_LOWER: Final = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})
_UPPER: Final = str.maketrans({chr(code): chr(code - 32) for code in range(ord("a"), ord("z") + 1)})


def changed_case(text: str, source: str, target: str) -> str:
    """Return a text of the case `source` in the case `target`, both of CASES. Letters beyond ASCII are not changed."""
    if source == target:
        return text
    old, new = CASES[source], CASES[target]
    if (source, target) in _LETTERS_STAY:
        return text.replace(old.separator, new.separator)
    words = re.split(old.boundary, text)
    if not old.separator and len(words) > 1 and not words[0]:
        # A capital at the beginning starts the first word, so nothing is before it.
        del words[0]
    return new.separator.join(_cased(word, new.further if at else new.first) for at, word in enumerate(words))


def _cased(word: str, how: str) -> str:
    if how == "upper":
        return word.translate(_UPPER)
    lower = word.translate(_LOWER)
    return lower if how == "lower" else lower[:1].translate(_UPPER) + lower[1:]
