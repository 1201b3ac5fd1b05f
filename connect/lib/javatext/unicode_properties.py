"""Names the properties of characters that Java's patterns know beyond those of POSIX as the module `regex` names them.

Source: the documentation of `java.util.regex.Pattern`, "Unicode scripts, blocks, categories and binary properties".
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_CATEGORIES: Final = frozenset({
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "LC", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd",
    "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
})  # fmt: skip
_BINARY: Final[Mapping[str, str]] = MappingProxyType({
    "alphabetic": "Alphabetic", "ideographic": "Ideographic", "letter": "L", "lowercase": "Lowercase",
    "uppercase": "Uppercase", "titlecase": "Lt", "white_space": "White_Space", "whitespace": "White_Space",
    "control": "Cc", "punctuation": "P", "digit": "Nd",
})  # fmt: skip
"""Has binary properties, which have Is before their name, by their names in small letters."""
_SCRIPTS: Final = frozenset({
    "arabic", "armenian", "bengali", "common", "cyrillic", "devanagari", "georgian", "greek", "han", "hangul",
    "hebrew", "hiragana", "katakana", "khmer", "lao", "latin", "malayalam", "mongolian", "tamil", "telugu", "thai",
    "tibetan",
})  # fmt: skip
_METHODS: Final[Mapping[str, str]] = MappingProxyType({
    "javaLowerCase": "Lowercase", "javaUpperCase": "Uppercase", "javaAlphabetic": "Alphabetic", "javaDigit": "Nd",
    "javaLetter": "L", "javaTitleCase": "Lt", "javaIdeographic": "Ideographic",
})  # fmt: skip
_KEYED: Final = re.compile(r"(?:gc|general_category|(sc|script))=(\w+)", re.IGNORECASE)


def property_name(name: str) -> str | None:
    r"""Return what `regex` has in the braces of \p{…} for a name that Java has there, or None if it is not known."""
    keyed = _KEYED.fullmatch(name)
    if keyed is not None:
        return _script(keyed[2]) if keyed[1] else _category(keyed[2])
    if name in _METHODS:
        return _METHODS[name]
    own = name.removeprefix("Is")
    if own == name:
        return _category(name)
    return _category(own) or _BINARY.get(own.lower()) or _script(own)


def _category(name: str) -> str | None:
    return name if name in _CATEGORIES else None


def _script(name: str) -> str | None:
    return f"Script={name}" if name.lower() in _SCRIPTS else None
