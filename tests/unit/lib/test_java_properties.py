"""Checks that properties of Unicode in patterns have the characters that they have in Java."""

from __future__ import annotations

import pytest

from connect.lib.javatext.regex import JavaPatternError, compile_pattern

CHARACTERS = "éÉaA1٣ñ中αЖ _-ǅ\u2028€!x\u00a0ª"
JAVA = {
    r"\p{L}": "11110011110001000101",
    r"\pL": "11110011110001000101",
    r"\P{L}": "00001100001110111010",
    r"[^\p{L}]": "00001100001110111010",
    r"[\p{L}\d_]": "11111011110101000101",
    r"[\P{L}x]": "00001100001110111110",
    r"\p{Lu}": "01010000010000000000",
    r"\p{IsLu}": "01010000010000000000",
    r"\p{gc=Lu}": "01010000010000000000",
    r"\p{general_category=Ll}": "10100010100000000100",
    r"\p{IsAlphabetic}": "11110011110001000101",
    r"\p{IsLatin}": "11110010000001000101",
    r"\p{sc=Greek}": "00000000100000000000",
    r"\p{script=Cyrillic}": "00000000010000000000",
    r"\p{IsHan}": "00000001000000000000",
    r"\p{IsUppercase}": "01010000010000000000",
    r"\p{IsWhite_Space}": "00000000001000100010",
    r"\p{IsPunctuation}": "00000000000110001000",
    r"\p{IsDigit}": "00001100000000000000",
    r"\p{IsLetter}": "11110011110001000101",
    r"\p{javaLowerCase}": "10100010100000000101",
    r"\p{javaUpperCase}": "01010000010000000000",
    r"\p{Sc}": "00000000000000010000",
    r"\p{Z}": "00000000001000100010",
    r"\p{N}": "00001100000000000000",
    r"[\p{L}&&[^\p{Lu}]]": "10100011100001000101",
    r"[\w&&[\p{L}]]": "00110000000000000100",
    r"[\p{L}\w]": "11111011110101000101",
    r"(?i)\p{Lu}": "11110010110001000100",
    r"\p{LC}": "11110010110001000100",
    r"\p{Lt}": "00000000000001000000",
    r"\p{IsTitlecase}": "00000000000001000000",
    r"\p{javaTitleCase}": "00000000000001000000",
    r"\p{Co}": "00000000000000000000",
    r"\p{IsControl}": "00000000000000000000",
    r"\p{IsIdeographic}": "00000001000000000000",
    r"\p{GC=Lu}": "01010000010000000000",
    r"\p{IsWhiteSpace}": "00000000001000100010",
    r"\p{Sc=Latin}": "11110010000001000101",
    r"\p{javaDigit}": "00001100000000000000",
    r"\p{javaLetter}": "11110011110001000101",
    r"\p{javaAlphabetic}": "11110011110001000101",
}
"""Has what Java 17 answered, one digit for each character: 1 where the pattern matches it."""


@pytest.mark.parametrize("pattern", JAVA)
def test_a_property_has_the_characters_that_it_has_in_java(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    assert "".join(str(int(compiled.fullmatch(one) is not None)) for one in CHARACTERS) == JAVA[pattern]


def test_properties_are_repeated_and_grouped_like_other_characters() -> None:
    found = compile_pattern(r"(\p{L}{1,200})_(?<rest>[\p{L}\d]+)\p{Z}*").fullmatch("größe_Straße7 ")
    assert found is not None
    assert (found[1], found["rest"]) == ("größe", "Straße7")
    assert compile_pattern(r"\p{L}+\w").fullmatch("éé") is None, "\\w has ASCII's letters alone, as in Java"


@pytest.mark.parametrize(
    "pattern",
    [
        r"\p{isL}",
        r"\p{lu}",
        r"\p{islatin}",
        r"\p{IsNope}",
        r"\p{L",
        r"\p{gc=Nope}",
        r"\p{sc=Nope}",
        r"[\p{L}\W]",
        r"\p",
    ],
)
def test_a_property_that_is_not_known_is_refused(pattern: str) -> None:
    with pytest.raises(JavaPatternError):
        compile_pattern(pattern)
