"""A secret is one also where a URL's delimiters, or letters of its name, are written as percent escapes."""

from __future__ import annotations

import time

import pytest

from connect.lib.percent_escapes import Unescaped
from connect.lib.secrets import HIDDEN, is_masked, masked, masked_setting, restored

SECRET = "Kx7w9Qz"
TEXTS = [
    "u%3AKx7w9Qz%40h", "jdbc:postgresql://u%3AKx7w9Qz%40h:5432/db", "postgresql://u%3aKx7w9Qz@h/db",
    "http%3A%2F%2Fu%3AKx7w9Qz%40h%2F", "http://h/?pass%77ord=Kx7w9Qz", "http://h/?user=u%26password%3DKx7w9Qz",
    "mysql://h/db?%70assword=Kx7w9Qz&x=1", "https://%75:Kx7w9Qz@h/x", "mysql://u:Kx7w9Qz%40x%3Ay@h/db",
    "oracle://u%3AKx7w9Qz%2Fx%40h", "oracle://u:Kx7w9Qz/x@h/db", "oracle://u/x@Kx7w9Qz@h", "oracle://u%2FKx7w9Qz@h",
    "u%253AKx7w9Qz%2540h", "https://h/?to=postgresql%3A%2F%2Fu%253AKx7w9Qz%2540h",
    "jdbc:oracle:thin:u/x@Kx7w9Qz@//h:1521/d",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_an_escaped_secret_is_masked_and_comes_back(text):
    for shown in (masked(text), masked_setting(text), masked(f"cannot connect to {text} now")):
        assert SECRET not in shown
        assert HIDDEN in shown
    assert is_masked(masked_setting(text))
    assert restored(masked_setting(text), text) == text


@pytest.mark.parametrize("text", ["a%3Ab", "50% of u:rows", "%", "%4", "path%2Fto%2Ffile", "100%41", "x%C3%A4@%E2"])
def test_other_escapes_are_left_alone(text):
    assert masked(text) == masked_setting(text) == text


def test_places_are_those_of_the_text_with_escapes():
    text = "%41b%42%C3c%25d"
    plain = Unescaped.of(text)
    assert plain.text == "AbB%C3c%d"
    assert [text[plain.place(at)] for at in range(len(plain.text))] == list("%b%%C3c%d")
    assert plain.place(len(plain.text)) == len(text)


def test_escapes_take_time_in_proportion_to_the_text():
    began = time.thread_time()
    masked_setting("u%3Apw%40h,http%3A%2F%2F" * 10_000)
    assert time.thread_time() - began < 5
