"""Declarations are built when they are first asked; several task threads may be the first."""

import threading
from concurrent.futures import ThreadPoolExecutor

from connect.api.config import Config, Int, String, key


def declared() -> type[Config]:
    class Declared(Config):
        size: Int = key("size", doc="A number.")
        name: String = key("name", "x", doc="A text.")

    return Declared


def test_many_threads_may_be_the_first_to_ask_for_a_declaration() -> None:
    threads = 16
    for _ in range(20):
        config, together = declared(), threading.Barrier(threads)

        def parse(number: int, config: type[Config] = config, together: threading.Barrier = together) -> int:
            together.wait(10)
            return config.parse({"size": str(number)}).size

        with ThreadPoolExecutor(threads) as pool:
            assert list(pool.map(parse, range(threads))) == list(range(threads))
