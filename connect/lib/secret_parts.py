"""Finds the secrets in a setting's text: in URLs, `name=value` lists, JSON and headers. Pure.

Clients send these texts, so everything here takes time linear in the text. Patterns begin only where a run of
characters begins, and limit their repetitions.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import Final

from connect.lib.percent_escapes import Unescaped
from connect.lib.placeholders import is_reference, without_placeholders

HIDDEN: Final = "[hidden]"
"""A secret is replaced by this text wherever a person could see it (Kafka's Password.HIDDEN)."""
_SUSPECT: Final = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|user\.?info|jaas|authoriz|cookie|signature|connection\.?string"
    r"|(?:private|api|access|account|storage|signing|encryption)[._-]?key"
    r"|(?:^|[._-])(?:pass|auth|sas|sig|pat|pem)(?:$|[._-])|(?:^|[._-])(?:bearer|license)$",
    re.IGNORECASE,
)
# A text whose names are not parsed yet is searched for these words. A pattern of them takes 20 times as long for a long
# text, and no other thread runs meanwhile.
_SECRET_SOUNDS: Final = (
    "pass", "phrase", "pwd", "secret", "token", "cred", "user", "jaas", "auth", "cookie", "sig", "connection", "key",
    "sas", "pat", "pem", "bearer", "license",
)  # fmt: skip
_ASCII_BY_CASE: Final = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""A pattern that ignores case takes each of these letters beyond ASCII for an ASCII letter."""
_MAY_HOLD_PARTS: Final = re.compile(r"[=:%]|--|bearer", re.IGNORECASE)
PARTS_MAX: Final = 1000
"""If a text has more secrets, all of it is hidden from the last of these on."""
_LONG_CHARS: Final = 16_384
_LONG_KEPT: Final = 64
"""This is more than a connector's history has configurations: otherwise showing one would search all of them each
time.
"""
_LONG_LOCK: Final = threading.Lock()
_DIGEST_KEY: Final = os.urandom(32)
_PARTS_OF_LONG: Final[dict[bytes, Sequence[SecretPart]]] = {}
"""Holds the secret parts of long texts by digests, so that the texts are not kept here. The last one asked for is
last.
"""
_LAYERS: Final = 2
"""A URL in a parameter of another URL has its escapes escaped, as `%253A`; nobody nests them deeper."""
_SCHEME_CHARS: Final = 40
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*\Z")
_WHOLE_URL: Final = re.compile(r"\s*(?:jdbc:|[a-zA-Z][a-zA-Z0-9+.\-]*://)")
_MARK: Final = re.compile(r"://|(?<!\w)jdbc:")
_SPACE: Final = re.compile(r"\s")
_USER: Final = re.compile(r"[^:/@?#;,()\s]*")
# Something with a port behind it is a host, and nothing behind a host is a password.
_PORT: Final = re.compile(r"\d+(?:[/?#;,]|\Z)")
_ORACLE_USER: Final = re.compile(r"(?:jdbc:oracle:\w+:[^/@]*/(.*)|oracle(?:\+\w+)?://[^/@:]*/([^?]*))@")
_PARAMETER: Final = re.compile(r"([?&;(,])\s*([\w.\-]+)\s*=")
_BRACKET_END: Final = re.compile(r"[,)]")
_ENDS: Final = {"(": _BRACKET_END, ",": _BRACKET_END}
_END: Final = re.compile(r"&|;(?=\s*[\w.\-]+\s*=)")
_NEXT_URL: Final = re.compile(r",\s*(?=[a-zA-Z][a-zA-Z0-9+.\-]*://)")
# These find credentials without a scheme: `user:password@host`, `//user:password@host`.
_WORD: Final = re.compile(r"""[^\s,;'"(){}]+""")
_BARE_USER: Final = re.compile(r"(?:.*=)?(?://)?[\w.+%\-]{1,100}\Z", re.DOTALL)
_BARE_HOST: Final = re.compile(r"[\w\[]")
_NAMED: Final = re.compile(r"""(?<![\w.\-])([\w.\-]{1,200})(\\{0,20}["'])?\s{0,20}([=:])\s{0,20}(\\{0,20}["'])?""")
# An unquoted value ends where a delimiter and another name follow: a password may contain any delimiter.
_NEXT_NAME: Final = re.compile(r"&|(?:[;,|]\s{0,20}|(?<!\s)\s{1,20})(?=[\w.\-]{1,200}\s{0,5}=)")
_JSON_END: Final = re.compile(r"[,}\]\s]")
_HEADER: Final = re.compile(r"authoriz|cookie|^x-|[_-](?:key|token)$", re.IGNORECASE)
_INDENT_CHARS: Final = 40
_OPTION: Final = re.compile(r"(?<!\S)--([\w.\-]{1,100})\s{1,20}(?!--)(\S+)")
_BEARER: Final = re.compile(r"(?<![\w.\-])bearer\s{1,20}(\[hidden]|[\w.~+/=\-]{8,})", re.IGNORECASE)
_HEADER_END: Final = re.compile(r"[,;|\n](?=\s{0,20}[\w.\-]{1,100}\s{0,5}[=:])")


@dataclass(frozen=True, slots=True)
class SecretPart:
    """Holds the place of a secret inside a text, and the name that it has there."""

    name: str
    start: int
    end: int


def is_suspect(key: str) -> bool:
    """Tell if a key that nobody declares sounds as if its value were secret."""
    return _SUSPECT.search(key) is not None


def _sounds_secret(text: str) -> bool:
    """Tell if a text may hold a name for which `is_suspect` is true."""
    if not text.isascii():
        for letter, same in _ASCII_BY_CASE:
            text = text.replace(letter, same)
    lowered = text.lower()
    return any(sound in lowered for sound in _SECRET_SOUNDS)


def secret_parts(text: str) -> list[SecretPart]:
    """Return the secrets of a setting's text, in order. A part that only refers to a config provider is no secret."""
    return [part for part in _all_parts(text) if not is_reference(text[part.start : part.end])]


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of the secrets in a setting's text, in order and not overlapping. References to config
    providers count, too.
    """
    return [(part.start, part.end) for part in _all_parts(text)]


def url_parts(text: str) -> list[SecretPart]:
    """Return the secrets in addresses of a text that people read. Names in such a text are words, not settings."""
    if "@" not in text and "://" not in text and "jdbc:" not in text and "%" not in text:
        return []
    found = _apart(len(text), *_with_escapes(without_placeholders(text), _url_parts, _bare_users))
    return [part for part in found if not is_reference(text[part.start : part.end])]


def _all_parts(text: str) -> Sequence[SecretPart]:
    return _found_parts(text) if len(text) <= _LONG_CHARS else _long_parts(text)


def _long_parts(text: str) -> Sequence[SecretPart]:
    """Return the parts of a long text from a cache: one request needs them three times, to show, to hide and to keep
    secrets.
    """
    digest = blake2b(text.encode("utf-8", "surrogatepass"), key=_DIGEST_KEY).digest()
    with _LONG_LOCK:
        found = _PARTS_OF_LONG.pop(digest, None)
    if found is None:
        found = tuple(_found_parts(text))
    with _LONG_LOCK:
        _PARTS_OF_LONG[digest] = found
        if len(_PARTS_OF_LONG) > _LONG_KEPT:
            del _PARTS_OF_LONG[next(iter(_PARTS_OF_LONG))]
    return found


def _found_parts(text: str) -> Sequence[SecretPart]:
    if not _MAY_HOLD_PARTS.search(text):
        return ()
    finders = (_url_parts, _bare_users, _named_parts, _spoken_parts)
    return _apart(len(text), *_with_escapes(without_placeholders(text), *finders))


def _with_escapes(
    text: str, *finders: Callable[[str], Iterator[SecretPart]], layers: int = _LAYERS
) -> Iterator[Iterator[SecretPart]]:
    """Yield what each function finds in a text, and in the text without URL escapes: `u%3Apassword%40host` has a
    secret, too.
    """
    yield from (find(text) for find in finders)
    plain = Unescaped.of(text) if layers and "%" in text else None
    if plain is not None and plain.escapes:
        yield from (_placed(plain, found) for found in _with_escapes(plain.text, *finders, layers=layers - 1))


def _placed(plain: Unescaped, found: Iterator[SecretPart]) -> Iterator[SecretPart]:
    return (replace(part, start=plain.place(part.start), end=plain.place(part.end)) for part in found)


def _apart(size: int, *sources: Iterator[SecretPart]) -> list[SecretPart]:
    """Return the parts in order. Parts inside of another are left out, and overlapping ones are joined.

    If a source yields `PARTS_MAX` parts, everything from the last of them to the end of the text is one part.
    """
    found: list[SecretPart] = []
    ends_at = size
    for source in sources:
        taken = list(islice(source, PARTS_MAX))
        found += taken
        if len(taken) == PARTS_MAX:
            ends_at = min(ends_at, taken[-1].start)
    kept: list[SecretPart] = []
    for part in sorted(found, key=lambda one: (one.start, -one.end)):
        if part.start < part.end and (not kept or part.start >= kept[-1].end):
            kept.append(part if part.start < ends_at else replace(part, end=size))
        elif kept and part.end > kept[-1].end:
            kept[-1] = replace(kept[-1], end=part.end)
    return kept


def _url_parts(text: str) -> Iterator[SecretPart]:
    spans = _listed(text) if _WHOLE_URL.match(text) else _inside(text)
    for start, end in spans:
        yield from _parts_of(text[start:end], start)


def _listed(text: str) -> Iterator[tuple[int, int]]:
    """Return start and end of each URL in a list of URLs."""
    bounds = [(0, 0), *(found.span() for found in _NEXT_URL.finditer(text)), (len(text), len(text))]
    return ((bounds[i][1], bounds[i + 1][0]) for i in range(len(bounds) - 1))


def _inside(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each URL among other words: it goes from its scheme to the next space."""
    at = 0
    while found := _MARK.search(text, at):
        mark = found.start()
        scheme = _SCHEME.search(text[max(at, mark - _SCHEME_CHARS) : mark])
        end = _first(_SPACE, text, mark)
        if found[0] == "jdbc:":
            yield mark, end
        elif scheme is not None:
            yield mark - len(scheme[0]), end
        at = max(end, found.end())


def _parts_of(url: str, offset: int) -> Iterator[SecretPart]:
    user_end = 0
    for name, start, end in _credentials(url):
        user_end = max(user_end, end)
        yield SecretPart(name, offset + start, offset + end)
    at = user_end
    while found := _PARAMETER.search(url, at):
        at = found.end()
        if not is_suspect(found[2]):
            continue
        end = _first(_ENDS.get(found[1], _END), url, at)
        yield SecretPart(f"parameter {found[2].lower()}", offset + at, offset + end)
        at = end


def _credentials(url: str) -> Iterator[tuple[str, int, int]]:
    """Yield the password of the user in a URL. Without one, yield the user of a web address, who is then a token."""
    if found := _ORACLE_USER.match(url):
        yield "password", *found.span(found.lastindex or 1)
        return
    head, _, tail = url.partition("?")
    # A password may contain a question mark, and a parameter an at sign.
    in_tail = "=" not in (before := tail.rpartition("@")[0]) and before != ""
    place = _user_info(url if in_tail or "@" not in head else head)
    if place is None:
        return
    start, colon, at = place
    if colon is not None:
        yield "password", colon + 1, at
    elif re.match(r"\s*https?://", url) and start < at < len(head):
        yield "user", start, at


def _user_info(url: str) -> tuple[int, int | None, int] | None:
    """Return the places where the first user of a URL starts, of the colon behind it, if any, and of the last at
    sign.
    """
    last_at = url.rfind("@")
    mark = url.find("://")
    while 0 <= mark < last_at:
        start = mark + 3
        user = _USER.match(url, start)
        end = user.end() if user else start
        if url.startswith("@", end):
            return start, None, end
        if url.startswith(":", end) and end < last_at and not _PORT.match(url, end + 1):
            return start, end, last_at
        mark = url.find("://", start)
    return None


def _bare_users(text: str) -> Iterator[SecretPart]:
    if "@" not in text:
        return
    for found in _WORD.finditer(text):
        word, start = found[0], found.start()
        colon, last_at = word.find(":"), word.rfind("@")
        if not 0 < colon < last_at or "://" in word or not _BARE_HOST.match(word, last_at + 1):
            continue
        if _BARE_USER.match(word[:colon]):
            yield SecretPart("password", start + colon + 1, start + last_at)


def _named_parts(text: str) -> Iterator[SecretPart]:
    """Yield the values behind names that sound secret: `password=x`, `"password": "x"`, `Authorization: Bearer x`."""
    if not _sounds_secret(text):
        return
    at = 0
    while found := _NAMED.search(text, at):
        at = found.end()
        name, closes_name, sign, quote = found.groups()
        # This is a line as in YAML. A column that is renamed or cast, `token:string`, has no space behind its colon.
        is_line = found[0].endswith((" ", "\t")) and _begins_line(text, found.start())
        if not is_suspect(name) or not (sign == "=" or closes_name or is_line or _is_header(name, text, at)):
            # The quote that ends here may be the one that begins the next name.
            at = found.end() - len(quote or "")
            continue
        if quote:
            end = _quoted_end(text, at, quote)
        elif text.startswith("(", found.start() - 1) and found.start():
            end = _first(_BRACKET_END, text, at)
        else:
            end = _bare_end(text, at, sign, is_json=bool(closes_name))
        yield SecretPart(f"parameter {name.lower()}", at, end)
        at = end


def _begins_line(text: str, at: int) -> bool:
    """Tell if only spaces and the mark of a list stand before a place in its line."""
    before = text[max(0, at - _INDENT_CHARS) : at]
    return ("\n" in before or at <= _INDENT_CHARS) and not before.rpartition("\n")[2].strip(" \t-")


def _spoken_parts(text: str) -> Iterator[SecretPart]:
    """Yield the secrets of command line options, `--password x`, and of credentials without a name, `Bearer x`."""
    if not _sounds_secret(text):
        return
    for found in _OPTION.finditer(text):
        if is_suspect(found[1]):
            yield SecretPart(f"parameter {found[1].lower()}", *found.span(2))
    for found in _BEARER.finditer(text):
        yield SecretPart("bearer token", *found.span(1))


def _is_header(name: str, text: str, at: int) -> bool:
    """Tell if `name: value` is a line of a header. A column that is renamed or cast, as in `token:string`, is not."""
    return not text.startswith("//", at) and _HEADER.search(name) is not None


def _bare_end(text: str, start: int, sign: str, *, is_json: bool) -> int:
    ends = _NEXT_NAME if sign == "=" else _HEADER_END
    if is_json and sign == ":":
        if text.startswith(("{", "["), start):
            # The value is an object or a list: hide all to the end of the text rather than parse it. A mask ends where
            # it ends.
            return start + len(HIDDEN) if text.startswith(HIDDEN, start) else len(text)
        ends = _JSON_END
    return _first(ends, text, start)


def _first(ends: re.Pattern[str], text: str, start: int) -> int:
    stop = ends.search(text, start)
    return stop.start() if stop else len(text)


def _quoted_end(text: str, start: int, quote: str) -> int:
    """Return the end of the quoted text that `quote` has begun. In JSON inside of a text, quotes have backslashes
    before them.
    """
    end = text.find(quote, start)
    while end > start and len(quote) == 1 and _is_escaped(text, start, end):
        end = text.find(quote, end + 1)
    return end if end >= 0 else len(text)


def _is_escaped(text: str, start: int, at: int) -> bool:
    first = at
    while first > start and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1
