"""The last object of a place is found among any others, with few requests."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.s3.paths.object_chain import PAGE, Chain, last_starts

OTHERS = ["d/t+1+0000000009.json", "d/t+10+0000000009.json", "d/t+1+0000000009.json.gz", "d/s+1+5.json"]


class Keys:
    """A listing as S3 gives it; `requests` counts pages."""

    def __init__(self, keys: list[str]) -> None:
        self.keys = sorted(keys)
        self.requests = 0

    async def __call__(self, prefix: str, after: str) -> AsyncIterator[str]:
        matching = [key for key in self.keys if key.startswith(prefix) and key > after]
        for at, key in enumerate(matching):
            self.requests += at % PAGE == 0
            yield key
        self.requests += not matching


def last(keys: Keys, chain: Chain, offset: int) -> int | None:
    return asyncio.run(chain.last_start(keys, offset))


@pytest.mark.parametrize("pad", [10, 0])
@pytest.mark.parametrize("offset", [0, 7, 10**6])
def test_a_small_place_takes_one_request(pad, offset):
    chain = Chain("d/t+0+", pad, ".json")
    keys = Keys([*OTHERS, *map(chain.key, (0, 5, 12, 2500))])
    assert last(keys, chain, offset) == 2500
    assert keys.requests == 1
    assert last(Keys(OTHERS), chain, offset) is None


@pytest.mark.parametrize(("offset", "most"), [(40_000_000, 5), (39_999_999, 5), (60_000_000, 16), (3, 30)])
def test_the_last_of_very_many_takes_few_requests(offset, most):
    chain = Chain("d/t+0+", 10, ".json")
    keys = Keys([*OTHERS, *map(chain.key, range(0, 40_000_000, 1000))])
    assert last(keys, chain, offset) == 39_999_000
    assert keys.requests <= most


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), offset=st.integers(0, 40_000), pad=st.integers(0, 6))
def test_any_chain_ends_where_its_greatest_number_says(seed, offset, pad):
    chain = Chain("d/t+0+", pad, ".json")
    starts = random.Random(seed).sample(range(30_000), PAGE + seed % 500)
    assert last(Keys([chain.key(start) for start in starts]), chain, offset) == max(starts)


@pytest.mark.parametrize(
    "key", ["d/t+0+12.json", "d/t+0+00012.json", "d/t+0+0012.json.gz", "d/t+0+x012.json", "d/t+0+"]
)
def test_a_key_of_another_form_is_none_of_the_chain(key):
    assert Chain("d/t+0+", 4, ".json").start_offset(key) is None


def test_the_last_objects_of_many_chains_are_those_of_each():
    chance = random.Random(1)
    chains = [Chain(f"d/p={number}/t+0+", pad, ".json") for number, pad in enumerate((10, 0, 3) * 30)]
    keys = OTHERS + [chain.key(chance.choice([0, 7, 999, 10**4, 10**9])) for chain in chains for _ in range(3)]
    keys.append("d/p=0/t+0+0000000000-9999999999.json")
    each = {chain: last(Keys(keys), chain, 0) for chain in chains}
    assert last_starts(chains, keys) == each
    assert last_starts(chains, OTHERS) == {}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), low=st.integers(0, 40_000), pad=st.integers(0, 6))
def test_the_objects_of_a_span_are_listed_with_those_that_reach_into_it(seed, low, pad):
    chain = Chain("d/t+0+", pad, ".json")
    drawn = random.Random(seed)
    starts = sorted(drawn.sample(range(30_000), drawn.choice([0, 1, 30, PAGE + 300])))
    joined = set(drawn.sample(starts, len(starts) // 3))
    high = low + drawn.randrange(20_000)
    keys = {start: chain.key(start) for start in starts}
    keys |= {start: chain.key(start).replace(".json", f"-{start + 1}.json") for start in joined}
    asked = asyncio.run(chain.objects_between(Keys([*OTHERS, *keys.values()]), low, high))
    before = [start for start in starts if start <= low]
    assert [one.key for one in asked] == [keys[s] for s in [*before[-1:], *(s for s in starts if low < s < high)]]


def test_a_joined_object_reaches_beyond_one_that_it_is_made_of():
    chain = Chain("d/t+0+", 4, ".json")
    keys = Keys(["d/t+0+0000-0090.json", "d/t+0+0030.json", "d/t+0+0090.json", "d/t+0+0090-x.json"])
    found = asyncio.run(chain.objects_between(keys, 60, 95))
    assert [(one.start, one.end) for one in found] == [(0, 90), (30, None), (90, None)]
