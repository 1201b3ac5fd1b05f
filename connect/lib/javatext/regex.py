"""Translates `java.util.regex.Pattern` to Python's `re`, with Java's meaning where they differ, and with Java's
messages.

Flags in the middle of a pattern are refused, as they cannot be translated. Pure.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from connect.lib.javatext.pattern_bounds import beginning, ranges_too_wide, too_long
from connect.lib.javatext.timed_pattern import SIZE_MAX, TimedPattern, written_out
from connect.lib.javatext.unicode_properties import property_name

if TYPE_CHECKING:
    from regex import Match

_POSIX: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Lower": "a-z", "Upper": "A-Z", "ASCII": r"\x00-\x7f", "Alpha": "A-Za-z", "Digit": "0-9",
        "Alnum": "0-9A-Za-z", "Punct": r"!-/:-@\[-`{-~", "Graph": "!-~", "Print": " -~", "Blank": r" \t",
        "Cntrl": r"\x00-\x1f\x7f", "XDigit": "0-9A-Fa-f", "Space": r" \t\n\x0b\f\r",
    }
)  # fmt: skip
"""Holds the characters of each POSIX class as ranges."""
_HORIZONTAL = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_VERTICAL = r"\n\x0b\f\r\x85\u2028\u2029"
_LINE_ENDS = r"\n\r\x85\u2028\u2029"
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "u": re.UNICODE, "U": re.UNICODE}
_LEADING_FLAGS = re.compile(r"\(\?([a-zA-Z]+)\)")
_NAME = re.compile(r"[A-Za-z0-9]*")
_GROUP = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)(>?)")
_HEXADECIMAL = re.compile(r"\\x\{([0-9A-Fa-f]+)\}")
_PROPERTY = re.compile(r"\\[pP](?:\{([\w=]+)\}|(\w))")
_COUNT = re.compile(r"\{\d+(?:,\d*)?")
_REFERENCE = re.compile(r"\\k<([A-Za-z][A-Za-z0-9]*)>")

_KEPT_CHARS: Final = 1000
"""A longer pattern is not cached, but compiled each time: a thousand of them would fill the worker's memory."""


class JavaPatternError(ValueError):
    """Says that a text is no Java pattern, or has no form in Python."""


def compile_pattern(regex: str) -> TimedPattern:
    """Return the compiled pattern. JavaPatternError says what is wrong, and where, as Java does.

    Compiling ends soon, also for a pattern that a stranger sends: JavaPatternError also says that one is too long or
    costs too much.
    """
    if len(regex) <= _KEPT_CHARS:
        return _kept(regex)
    try:
        return _compiled(regex)
    finally:
        re.purge()  # Python itself caches 512 patterns of any size


@lru_cache(maxsize=1000)
def _kept(regex: str) -> TimedPattern:
    return _compiled(regex)


def _compiled(regex: str) -> TimedPattern:
    _refuse(too_long(regex), regex)
    translation = _Translation(regex)
    try:
        text = translation.run()
        _refuse(too_long(text) or ranges_too_wide(text.replace(_HORIZONTAL, "")), regex)
        flags = translation.flags if translation.unicode else translation.flags | re.ASCII
        checked = re.compile(text, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise JavaPatternError(_java_message(regex, error)) from None
    if written_out(text) > SIZE_MAX:
        _refuse(f"Its repetitions written out have more than {SIZE_MAX} characters", regex)
    return TimedPattern(checked, _Translation(regex, natively=True).run() if translation.has_properties else text)


def _refuse(problem: str | None, regex: str) -> None:
    if problem is not None:
        raise JavaPatternError(f"{problem}\n{beginning(regex)}")


def expand(match: Match[str], replacement: str) -> str:
    """Return the replacement with groups filled in, as `Matcher.replaceFirst` does. ValueError, in Java's words: a
    group that it names does not exist, or it cannot be read.
    """
    parts: list[str] = []
    at = 0
    while at < len(replacement):
        char = replacement[at]
        if char == "\\":
            if at + 1 == len(replacement):
                raise ValueError("character to be escaped is missing")
            parts.append(replacement[at + 1])
            at += 2
        elif char == "$":
            text, at = _group(match, replacement, at + 1)
            parts.append(text)
        else:
            parts.append(char)
            at += 1
    return "".join(parts)


def _group(match: Match[str], text: str, at: int) -> tuple[str, int]:
    """Return the text of the group that is named at a place, and the place behind that name."""
    if text.startswith("{", at):
        found = _NAME.match(text, at + 1)
        assert found is not None
        _check_name(match, found.group(), closed=text.startswith("}", found.end()))
        return match.group(found.group()) or "", found.end() + 1
    if at >= len(text) or text[at] not in "0123456789":
        raise ValueError("Illegal group reference")
    number = int(text[at])
    if number > match.re.groups:
        raise ValueError(f"No group {number}")
    at += 1
    # A further digit belongs to the number only if there is a group of that number.
    while at < len(text) and text[at] in "0123456789" and number * 10 + int(text[at]) <= match.re.groups:
        number = number * 10 + int(text[at])
        at += 1
    return match.group(number) or "", at


def _check_name(match: Match[str], name: str, *, closed: bool) -> None:
    if not name:
        raise ValueError("named capturing group has 0 length name")
    if not closed:
        raise ValueError("named capturing group is missing trailing '}'")
    if name[0].isdigit():
        raise ValueError(f"capturing group name {{{name}}} starts with digit character")
    if name not in match.re.groupindex:
        raise ValueError(f"No group with name {{{name}}}")


class _Translation:
    """Translates one pattern in one pass over it.

    `re` knows no properties of Unicode, so that the letters a to z stand for them; with `natively` the text is one for
    the module `regex`, which knows them.
    """

    def __init__(self, regex: str, *, natively: bool = False) -> None:
        self._regex = regex
        self._natively = natively
        self._at = 0
        self.has_properties = False
        self._groups: set[str] = set()
        self.flags = 0
        self.unicode = False

    def run(self) -> str:
        self._leading_flags()
        parts = []
        while self._at < len(self._regex):
            parts.append(self._next())
        return "".join(parts)

    def _leading_flags(self) -> None:
        while (found := _LEADING_FLAGS.match(self._regex, self._at)) is not None:
            for place, letter in enumerate(found.group(1), start=self._at + 2):
                if letter not in _FLAGS:
                    raise JavaPatternError(self._error("Unknown inline modifier", place))
                self.flags |= _FLAGS[letter]
                self.unicode = self.unicode or letter in "uU"
            self._at = found.end()

    def _next(self) -> str:
        char = self._regex[self._at]
        if char == "\\":
            return self._escape(in_class=False)
        if char == "[":
            return self._class()
        if char == "." and not self.flags & re.DOTALL:
            self._at += 1
            return f"[^{_LINE_ENDS}]"
        if char == "{":
            return self._count()
        named = _GROUP.match(self._regex, self._at)
        if named is not None:
            if not named.group(2):
                text = "named capturing group is missing trailing '>'"
                raise JavaPatternError(self._error(text, named.end()))
            self._at = named.end()
            self._groups.add(named.group(1))
            return f"(?P<{named.group(1)}>"
        self._at += 1
        return char

    def _count(self) -> str:
        found = _COUNT.match(self._regex, self._at)
        if found is None:
            raise JavaPatternError(self._error("Illegal repetition", self._at + 1))
        if not self._regex.startswith("}", found.end()):
            raise JavaPatternError(self._error("Unclosed counted closure", found.end()))
        self._at = found.end() + 1
        return f"{found.group()}}}"

    def _escape(self, *, in_class: bool) -> str:
        at = self._at
        escape = self._regex[at : at + 2]
        if len(escape) == 1:
            raise JavaPatternError(self._error("Unexpected internal error", at + 1))
        if escape[1] == "Q":
            end = self._regex.find("\\E", at + 2)
            self._at = len(self._regex) if end < 0 else end + 2
            return re.escape(self._regex[at + 2 :] if end < 0 else self._regex[at + 2 : end])
        if escape[1] in "pP":
            return self._property(in_class=in_class)
        if escape[1] == "k":
            return self._back_reference()
        hexadecimal = _HEXADECIMAL.match(self._regex, at)
        if hexadecimal is not None:
            self._at = hexadecimal.end()
            return re.escape(self._character(hexadecimal.group(1)))
        self._at += 2
        if not in_class:
            return _ESCAPES.get(escape[1], escape)
        ascii_only = _ASCII_ESCAPES if self._natively and not self.unicode else {}
        return _CLASS_ESCAPES.get(escape[1]) or ascii_only.get(escape[1], escape)

    def _character(self, hexadecimal: str) -> str:
        code = int(hexadecimal, 16)
        if code > sys.maxunicode:
            raise JavaPatternError(self._error("Hexadecimal codepoint is too big", self._at - 1))
        return chr(code)

    def _property(self, *, in_class: bool) -> str:
        found = _PROPERTY.match(self._regex, self._at)
        name = "" if found is None else found.group(1) or found.group(2)
        ranges = _POSIX.get(name)
        known = None if ranges is not None else property_name(name)
        if found is not None and known is not None:
            self._at = found.end()
            return self._unicode_property(f"\\{found.group()[1]}{{{known}}}", in_class=in_class)
        if found is None or ranges is None:
            end = found.end() - 1 if found is not None else self._at + 1
            raise JavaPatternError(self._error(f"Unknown character property name {{{name}}}", end))
        negated = self._regex[self._at + 1] == "P"
        self._at = found.end()
        if in_class and negated:
            raise JavaPatternError(self._error("Negated properties inside a class are not supported", self._at))
        return ranges if in_class else f"[{'^' if negated else ''}{ranges}]"

    def _unicode_property(self, text: str, *, in_class: bool) -> str:
        self.has_properties = True
        if in_class:
            return text if self._natively else "a-z"
        return f"(?u:{text})" if self._natively else "[a-z]"

    def _back_reference(self) -> str:
        found = _REFERENCE.match(self._regex, self._at)
        name = found.group(1) if found is not None else ""
        if found is None or name not in self._groups:
            end = found.end() - 1 if found is not None else self._at + 2
            raise JavaPatternError(self._error(f"named capturing group <{name}> does not exist", end))
        self._at = found.end()
        return f"(?P={name})"

    def _class(self) -> str:
        """Return a character class as a pattern of one character: inner classes become alternatives, && becomes a
        look-ahead.
        """
        negated = self._regex.startswith("[^", self._at)
        self._at += 2 if negated else 1
        both: list[str] = []
        members: list[str] = []
        nested: list[str] = []
        while not self._regex.startswith("]", self._at):
            if self._at >= len(self._regex):
                raise JavaPatternError(self._error("Unclosed character class", len(self._regex) - 1))
            if self._regex.startswith("&&", self._at):
                both.append(self._united(members, nested))
                members, nested = [], []
                self._at += 2
            elif self._regex[self._at] == "[":
                nested.append(self._class())
            else:
                members.append(self._member())
        self._at += 1
        return self._one_character(both, members, nested, negated=negated)

    def _member(self) -> str:
        char = self._regex[self._at]
        if char == "\\":
            return self._escape(in_class=True)
        self._at += 1
        return f"\\{char}" if char in "~|&^" else char

    def _united(self, members: list[str], nested: list[str]) -> str:
        own = [self._bracket(members)] if members else []
        return "|".join([*own, *nested])

    def _one_character(self, both: list[str], members: list[str], nested: list[str], *, negated: bool) -> str:
        if not both and not nested:
            return self._bracket(members, negated=negated)
        *ahead, last = [part for part in (*both, self._united(members, nested)) if part]
        found = "".join(f"(?={part})" for part in ahead) + f"(?:{last})"
        return rf"(?:(?!{found})[\s\S])" if negated else f"(?:{found})"

    def _bracket(self, members: list[str], *, negated: bool = False) -> str:
        text = f"[{'^' if negated else ''}{''.join(members)}]"
        if not any(member[:2] in {r"\p", r"\P"} for member in members):
            return text
        if not self.unicode and not _NARROW.isdisjoint(members):
            told = r"\D, \S and \W beside a property of Unicode in a class are not supported"
            raise JavaPatternError(self._error(told, self._at))
        # The flag holds for this class alone: `regex` forgets it in a group that is within the flag's group.
        return f"(?u:{text})"

    def _error(self, text: str, place: int) -> str:
        return java_error(text, self._regex, place)


_ESCAPES = {
    "h": f"[{_HORIZONTAL}]", "H": f"[^{_HORIZONTAL}]", "v": f"[{_VERTICAL}]", "V": f"[^{_VERTICAL}]",
    "R": rf"(?:\r\n|[{_VERTICAL}])", "z": r"\Z", "Z": rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)", "e": r"\x1b",
}  # fmt: skip
_NARROW = frozenset({r"\D", r"\S", r"\W"})
_ASCII_ESCAPES = {"d": "0-9", "s": r" \t\n\x0b\f\r", "w": "a-zA-Z0-9_"}
"""Has what stands for these in a class, where a property of Unicode beside them would widen them."""
_CLASS_ESCAPES = {"h": _HORIZONTAL, "v": _VERTICAL, "e": r"\x1b"}


def java_error(text: str, regex: str, place: int) -> str:
    """Return the message of a PatternSyntaxException."""
    caret = f"\n{' ' * place}^" if place < len(regex) else ""
    return f"{text} near index {place}\n{regex}{caret}"


def _java_message(regex: str, error: Exception) -> str:
    if not isinstance(error, re.error):
        return f"{error} in {regex}"
    place = error.pos or 0
    match error.msg:
        case "nothing to repeat" | "multiple repeat":
            found = re.search(r"[*+?]{2}", regex)
            place = found.end() - 1 if found is not None and error.msg == "multiple repeat" else place
            return java_error(f"Dangling meta character '{regex[place : place + 1]}'", regex, place)
        case "missing ), unterminated subpattern":
            return java_error("Unclosed group", regex, len(regex))
        case "unbalanced parenthesis":
            return java_error("Unmatched closing ')'", regex, max(place - 1, 0))
        case "min repeat greater than max repeat":
            return java_error("Illegal repetition range", regex, regex.find("}", place))
    return java_error(error.msg, regex, place)
