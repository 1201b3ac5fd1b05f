"""Tells if a docstring is plain: its first sentence has a verb, and does not begin as half a sentence."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
HALF_SENTENCE = re.compile(r"(Of|That|Whether|Were|What is|Which|As it|So that|Where it)\b")
AUXILIARY = frozenset(WORDS["auxiliary"].split())
NOUNS_TOO = frozenset(WORDS["nouns_too"].split())
"""Third persons that are plurals of nouns as well: they count as verbs only behind a subject of their own."""
SUBJECTS = frozenset(WORDS["subjects"].split())
MARKERS = frozenset(WORDS["markers"].split())
"""Words that begin a clause with a verb of its own."""
PREPOSITIONS = frozenset(WORDS["prepositions"].split())
RELATIVES = PREPOSITIONS | {"that", "which", "who", "whose", "where"}
"""Words behind a noun, which a verb does not have behind it."""
PASTS = frozenset(WORDS["pasts"].split())
DETERMINERS = frozenset(WORDS["determiners"].split())


@cache
def verbs() -> frozenset[str]:
    """Return the verbs of `words.toml` in their base form."""
    return frozenset(WORDS["verbs"].split())


@cache
def third_persons() -> frozenset[str]:
    """Return the verbs in the third person, those left out that read as plurals of nouns."""
    forms = set()
    for verb in verbs():
        if re.search(r"(s|x|z|ch|sh|o)$", verb):
            forms.add(verb + "es")
        elif re.search(r"[^aeiou]y$", verb):
            forms.add(verb[:-1] + "ies")
        else:
            forms.add(verb + "s")
    return frozenset(forms)


def first_sentence(text: str) -> str:
    """Return a docstring's text up to its first full stop, quoted code left out."""
    text = re.sub(r"`[^`]*`", "X", " ".join(text.split()))
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]


def begins_with_verb(words: Sequence[str]) -> bool:
    """Tell if words in small letters begin with a third person: `runs kafka` does so, `runs of` does not."""
    return words[0] in third_persons() and (words[0] not in NOUNS_TOO or not RELATIVES.intersection(words[1:2]))


def is_plain(text: str) -> bool:
    """Tell if the first sentence has a verb and begins as a sentence does."""
    sentence = first_sentence(text)
    if HALF_SENTENCE.match(sentence):
        return False
    words = re.findall(r"[A-Za-z']+", sentence)
    if not words:
        return False
    if words[0][0].isupper() and words[0].lower() in verbs():
        return True
    lower = [word.lower() for word in words]
    if begins_with_verb(lower):
        return True
    for before, word in zip(["", *lower], lower, strict=False):
        if word in AUXILIARY:
            return True
        if word in third_persons() and (word not in NOUNS_TOO or before in SUBJECTS):
            return True
    return False


def has_main_verb(text: str) -> bool:
    """Tell if the first sentence, up to its colon, says something: a headline has verbs in its side clauses alone."""
    sentence = first_sentence(text)
    if HALF_SENTENCE.match(sentence):
        return False
    words = [word.lower() for word in re.findall(r"[A-Za-z']+", re.split(r"[:;]", sentence, maxsplit=1)[0])]
    if not words:
        return False
    if begins_with_verb(words):
        return True
    found = 0
    for at, word in enumerate(words):
        before, behind = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
        if word in MARKERS:
            found -= 1
        elif _is_finite(before, word, behind) or (
            _may_be_verb(word) and MARKERS.intersection(words[max(0, at - 2) : at])
        ):
            found += 1
        if found > 0:
            return True
    return False


def _may_be_verb(word: str) -> bool:
    """Tell if a word behind the beginning of a clause is its verb."""
    return word in verbs() | third_persons() | AUXILIARY | PASTS or word.endswith("ed")


def _is_finite(before: str, word: str, behind: str) -> bool:
    """Tell if a word is a verb with a subject, by the words beside it."""
    if word in AUXILIARY:
        return True
    if word in third_persons():
        return word not in NOUNS_TOO or before in SUBJECTS or behind in DETERMINERS
    return word in verbs() and before.endswith("s") and behind in DETERMINERS | PREPOSITIONS | {""}
