"""Checks that each key that sounds as if it named a file, code, an address, SQL or a command says what it names, or why
nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

from connect.api.config import ClassName, Config, Int, String, key
from connect.api.plugin import Plugin, PluginKind
from connect.api.reach import Reach
from connect.api.url import Url, UrlText
from connect.kafka.client import java_names, security_names
from connect.kafka.client.override_rules import CLIENT_REACHES, HARMLESS
from connect.kafka.client.settings import WORKERS_ALONE
from connect.plugins.catalog import Catalog
from connect.tools.reference.reach_table import declared_keys, reach_table, written

WORDS = (
    "file files filename path paths class url urls uri host hosts dir directory folder folders query sql command cmd "
    "location endpoint endpoints keyfile keytab module modules function script address addresses driver drivers "
    "library jar jars cert certificate certificates keystore truststore provider providers proxy server servers bucket "
    "warehouse store contact points catalog python conf packages master remote exec program socket strategy "
    "converter plugin select where statement suffix engine factory"
)
NAME = frozenset(WORDS.split(" "))
DOC = re.compile(
    r"\b(files?|paths?|class|classes|URLs?|URIs?|hosts?|folders?|director(?:y|ies)|modules?|SQL|SELECT|commands?"
    r"|statements?|address(?:es)?|endpoint|programs?|scripts?|librar(?:y|ies)|SQLAlchemy)\b",
    re.IGNORECASE,
)
CLIENT_WORDS = "file location keytab url class servers factory provider providers cmd jaas principal path paths command"


def words(name: str) -> set[str]:
    """The words of a key's name, apart at dots, underscores and capitals."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def suspicious(catalog: Catalog) -> list[str]:
    """The keys that sound so and say nothing."""
    return [
        f"{found.where}: {found.name}"
        for found in declared_keys(catalog)
        if found.is_open and not found.reaches and not found.harmless
        and (words(found.name) & NAME or DOC.search(found.doc))
    ]  # fmt: skip


def test_every_key_that_sounds_so_says_what_it_names() -> None:
    assert suspicious(Catalog.installed()) == [], "Declare reach=..., or harmless='why': see connect.api.config.key."


def test_the_documents_have_todays_table() -> None:
    text = (Path(__file__).parents[3] / "docs/reach.md").read_text(encoding="utf-8")
    assert written(text, Catalog.installed()) == text, "A declaration has changed: run `make reference` and commit."


class Odd(Config):
    """Keys of a plug-in that says too little."""

    keyfile: String = key("keyfile", "", doc="The key.")
    where: String = key("other", "", doc="Path of what is read.")
    rows: Int = key("file.rows", 1, doc="How many rows a file has.")
    pattern: String = key("file.pattern", "*", doc="Which files.", harmless="a pattern of names")
    code: ClassName = key("some.class", "", doc="A class.")
    url: Url = key("some.url", UrlText(""), doc="A URL.")
    said: String = key("said.file", "", doc="A file.", reach=Reach.FILE, bounds="none")
    given: String = key("given.paths", "", doc="The worker gives it.", from_worker=True)


def test_a_key_that_says_nothing_is_found() -> None:
    catalog = Catalog([Plugin(PluginKind.SOURCE, "org.example.Odd", "odd:Odd", Odd, "1")])
    assert suspicious(catalog) == ["`Odd`: keyfile", "`Odd`: other"]
    lines = [line for line in reach_table(catalog) if line.startswith("| `Odd`")]
    assert [line.split(" | ")[1:3] for line in lines] == [
        ["`some.class`", "class"], ["`some.url`", "URL"], ["`said.file`", "file"],
    ]  # fmt: skip


def test_every_setting_of_a_kafka_client_that_sounds_so_says_what_it_names() -> None:
    known = {
        *java_names.ADMIN_NAMES, *java_names._PRODUCER, *java_names._CONSUMER, *java_names._SPECIAL,
        *security_names._SAME, *security_names._NEEDLESS, *WORKERS_ALONE, *CLIENT_REACHES, "sasl.jaas.config",
    }  # fmt: skip
    told = CLIENT_REACHES.keys() | HARMLESS.keys()
    assert {name for name in known if words(name) & {*CLIENT_WORDS.split()}} - told == set()
    assert not CLIENT_REACHES.keys() & HARMLESS.keys()
