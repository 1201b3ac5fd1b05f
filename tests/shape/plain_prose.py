"""What makes a docstring plain: its first sentence has a verb, and does not begin as half a sentence."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
HALF_SENTENCE = re.compile(r"(Of|That|Whether|Were|What is|Which|As it|So that|Where it)\b")
AUXILIARY = frozenset(WORDS["auxiliary"].split())
NOUNS_TOO = frozenset(WORDS["nouns_too"].split())
"""Third persons that are plurals of nouns as well: they count as verbs only behind a subject of their own."""
SUBJECTS = frozenset(WORDS["subjects"].split())


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
    for before, word in zip(["", *lower], lower, strict=False):
        if word in AUXILIARY:
            return True
        if word in third_persons() and (word not in NOUNS_TOO or before in SUBJECTS):
            return True
    return False
