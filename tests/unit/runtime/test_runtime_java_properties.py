import pytest

from connect.runtime.settings.java_properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a\t=\tb", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("a==b", {"a": "=b"}),
        ("a b=c", {"a": "b=c"}),
        ("  a=b", {"a": "b"}),
        ("# c\n! d\n  # e\na=b#c", {"a": "b#c"}),
        ("a=b\r\nc=d\re=f\n", {"a": "b", "c": "d", "e": "f"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a=b\\\n#c", {"a": "b#c"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("a\\\n b=c", {"ab": "c"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        (r"a=\t\n\r\f\q\"", {"a": '\t\n\r\fq"'}),
        (r"a=\u00e9\u00E9", {"a": "éé"}),
        (r"a=\uD83D\uDE00", {"a": "😀"}),
        ("ключ=значение", {"ключ": "значение"}),
        ("a=1\na=2", {"a": "2"}),
        ("\n\n", {}),
        ("a=c:\\\\temp", {"a": "c:\\temp"}),
    ],
)
def test_reads_as_java_util_properties_does(text, expected):
    assert parse_properties(text) == expected


def test_a_broken_unicode_escape_is_named_with_its_line():
    with pytest.raises(ValueError, match="line 2"):
        parse_properties("a=b\nc=\\u12")
