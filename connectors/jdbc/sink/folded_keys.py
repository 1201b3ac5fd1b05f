"""Tells if a database may take two different texts of keys for one: by case, accents, or blanks at the end. Pure.

Texts are folded further than any collation of MariaDB or MySQL takes them for equal, as a test on both servers shows.
Texts with characters beyond those that are folded here count as if they could be one. Where keys may be one, a batch is
written in smaller parts, which is slower alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

KNOWN: Final = "\\x00-\\x7fÀ-ÖØ-öø-ėĚ-ķĹ-ňŊ-ſΆΈ-ΊΌΎ-ΡΣ-ώЀ-џҐґ–—‘’“”„€一-鿋가-힣"
"""These characters are folded here, as the ranges of a regular expression: most letters of Europe are. The Polish ę is
not, as Swedish collations take it for an ä.
"""
_KNOWN: Final = f"^[{KNOWN}]*$"
_LETTERS: Final = str.maketrans({
    "æ": "ae", "ø": "o", "ð": "d", "þ": "th", "j": "i", "y": "i", "u": "i", "v": "i", "w": "i", "\x7f": None, "й": "и",
    "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "ŋ": "n", "œ": "oe", "ŧ": "t", "ґ": "г", "·": None,
    **dict.fromkeys(map(chr, range(0x21))),
})  # fmt: skip
"""Some collations hold i, j and y to be one letter, or u, v and w, or y and ü. Some ignore control characters, and most
ignore blanks at the end.
"""
_CHANGED: Final = "[^0-9bfmpqx]"
_RUN: Final = re.compile(f"({_CHANGED})\\1+")
"""A letter may stand beside letters that stand for the same one, as in ßs and åa."""
_LONGER: Final = (
    ("ccs", "cscs"), ("ddz", "dzdz"), ("ggi", "gigi"), ("lli", "lili"), ("nni", "nini"), ("ssz", "szsz"),
    ("tti", "titi"), ("zzs", "zszs"), ("ae", "a"), ("oe", "o"), ("ie", "i"), ("aa", "a"), ("ss", "s"), ("th", "t"),
    ("dz", "d"),
)  # fmt: skip
"""Some letters stand for others: Hungarian's ccs is cscs, German's ae is ä, Danish's aa is å."""


def may_meet(keys: pa.Table, texts: Sequence[str]) -> bool:
    """Return True if two different keys may be one for the database. `texts` are the columns that hold text."""
    if not texts:
        return False
    names = keys.column_names
    distinct = keys.group_by(names).aggregate([])
    if not all(_is_known(distinct[name]) for name in texts):
        return len(distinct) > 1
    return _merges(distinct, texts, _rough) and _merges(distinct, texts, _folded)


def _is_known(texts: pa.ChunkedArray) -> bool:
    # An array of nulls alone has no answer.
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return True
    return pc.all(pc.match_substring_regex(texts, _KNOWN)).as_py() is True


def _merges(distinct: pa.Table, texts: Sequence[str], fold: Callable[[pa.ChunkedArray], Any]) -> bool:
    names = distinct.column_names
    made = pa.table({name: fold(distinct[name]) if name in texts else distinct[name] for name in names})
    kept: int = made.group_by(names).aggregate([]).num_rows
    return kept < len(distinct)


def _rough(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return what is left of texts that `folded` never changes. It costs a tenth, and mostly tells keys apart."""
    return pc.replace_substring_regex(pc.ascii_lower(texts), _CHANGED, "")


def _folded(texts: pa.ChunkedArray) -> pa.Array:
    return pa.array([None if text is None else folded(text) for text in texts.to_pylist()], pa.string())


def folded(text: str) -> str:
    """Return a text of `KNOWN` characters that is the same for all texts that some collation takes for this one."""
    plain = text.casefold() if text.isascii() else unicodedata.normalize("NFKD", text.casefold())
    found = "".join(c for c in plain if not unicodedata.combining(c)).translate(_LETTERS)
    for longer, shorter in _LONGER:
        found = found.replace(longer, shorter)
    return _RUN.sub(r"\1", found)
