"""Starts clusters in the same moment: every order of their looks and claims lets one of them go on, never both."""

import itertools
import threading
from dataclasses import replace

import pytest

from connect.api.errors import ConfigError, RetriableError
from connect.api.state import NewerFormatError
from connect.cluster.model.cluster_claim import ClusterClaim
from connect.cluster.store.claiming import STARTING_MS, Claiming, SeenClaim
from connect.kafka.admin.groups import GroupMembers

KEYS = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")


def claim(group, *topics):
    return ClusterClaim(group, dict(zip(KEYS, topics, strict=True)))


class Brokers:
    """All slots topics, the groups, and a clock that each claim moves on."""

    def __init__(self):
        self.topics = {}
        self.workers = {}
        self.rebalancing = set()
        self.clock_ms = 1_000_000


class Log:
    """What one worker sees of them; `turn` is called before each look and each claim."""

    def __init__(self, brokers, own, turn=lambda: None):
        self.brokers, self.own, self.turn = brokers, own, turn

    def read(self):
        self.turn()
        return {topic: list(claims) for topic, claims in self.brokers.topics.items()}

    def write(self, given):
        self.turn()
        self.brokers.clock_ms += 1
        claims = self.brokers.topics.setdefault(self.own, [])
        claims.append(SeenClaim(given, len(claims), self.brokers.clock_ms))
        return claims[-1]

    def members(self, group):
        return GroupMembers(self.brokers.workers.get(group, 0), group in self.brokers.rebalancing)

    def now_ms(self):
        return self.brokers.clock_ms


class Steps:
    """A deadline after so many pauses, which take no time; each runs `meanwhile`."""

    def __init__(self, pauses, meanwhile=lambda: None):
        self.pauses, self.meanwhile = pauses, meanwhile

    def wait(self, timeout_s):
        self.meanwhile()
        self.pauses -= 1
        return self.pauses > 0


def start(brokers, mine, deadline=None, turn=lambda: None):
    own = f"{mine.group_id}-slots"
    Claiming(mine, own, Log(brokers, own, turn)).run(deadline or Steps(3))
    brokers.workers[mine.group_id] = brokers.workers.get(mine.group_id, 0) + 1


A = claim("a", "c", "o", "s")
SAME_TOPICS = claim("b", "c", "o2", "s2")
SAME_GROUP = claim("a", "c2", "o2", "s2")


def test_a_cluster_that_meets_nobody_claims_once_per_worker():
    brokers = Brokers()
    start(brokers, A)
    start(brokers, A)
    assert [seen.claim for seen in brokers.topics["a-slots"]] == [A, A]


@pytest.mark.parametrize("other", [SAME_TOPICS, SAME_GROUP])
@pytest.mark.parametrize("order", sorted(set(itertools.permutations("aaabbb"))), ids="".join)
def test_of_two_that_start_at_once_one_is_refused(other, order):
    """`order`: whose next look or claim it is; afterwards both go on at will, the first of them first."""
    brokers, turns, outcome = Brokers(), list(order), {}
    now, pause = threading.Condition(), threading.Event()

    def turn_of(who):
        def turn():
            with now:
                assert now.wait_for(lambda: not turns or turns[0] == who or who in outcome, 10)
                if turns:
                    turns.pop(0)
                now.notify_all()

        return turn

    def run(who, mine):
        try:
            start(brokers, mine, Steps(400, lambda: pause.wait(0.001)), turn_of(who))
            result = "works"
        except ConfigError:
            result = "refused"
        with now:
            outcome[who] = result
            turns[:] = [turn for turn in turns if turn != who]
            now.notify_all()

    threads = [threading.Thread(target=run, args=given) for given in (("a", A), ("b", other))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(outcome.values()) == ["refused", "works"]
    last = brokers.topics.get("a-slots", [SeenClaim(None, 0, 0)])[-1].claim
    if other is SAME_GROUP:
        assert last == (A if outcome["a"] == "works" else other)
    else:
        assert outcome["a"] == "works" or last is None


def test_a_claim_counts_while_its_cluster_works_or_may_be_starting():
    brokers = Brokers()
    start(brokers, A)
    with pytest.raises(ConfigError, match="Topic c"):
        start(brokers, SAME_TOPICS)
    brokers.workers.clear()
    with pytest.raises(RetriableError, match="starting"):
        start(brokers, SAME_TOPICS)
    brokers.clock_ms += STARTING_MS
    start(brokers, SAME_TOPICS)


def test_a_clock_that_was_set_back_keeps_nobody_waiting_for_a_cluster_that_is_gone():
    brokers = Brokers()
    start(brokers, SAME_TOPICS)
    brokers.workers.clear()
    brokers.clock_ms -= 3_600_000
    start(brokers, A)
    assert [seen.claim for seen in brokers.topics["a-slots"]] == [A]


def test_workers_that_have_ended_while_their_group_rebalances_are_waited_for():
    brokers = Brokers()
    start(brokers, A)
    brokers.clock_ms += STARTING_MS
    brokers.rebalancing.add("a")
    with pytest.raises(RetriableError, match="starting or ending"):
        start(brokers, SAME_TOPICS)
    start(brokers, SAME_TOPICS, Steps(9, brokers.workers.clear))
    assert brokers.topics["b-slots"][-1].claim == SAME_TOPICS


def test_a_cluster_that_has_rebalanced_and_goes_on_is_in_the_way():
    brokers = Brokers()
    start(brokers, A)
    brokers.rebalancing.add("a")
    with pytest.raises(ConfigError, match="Topic c"):
        start(brokers, SAME_TOPICS, Steps(9, brokers.rebalancing.clear))


def test_who_is_refused_for_a_moment_only_goes_on():
    brokers = Brokers()
    start(brokers, A)
    start(brokers, A)
    assert brokers.workers == {"a": 2}
    brokers.topics["a-slots"].append(SeenClaim(SAME_GROUP, 2, brokers.clock_ms))  # about to be taken back

    def take_back():
        brokers.topics["a-slots"].append(SeenClaim(A, 3, brokers.clock_ms))

    start(brokers, A, Steps(3, take_back))
    assert brokers.workers == {"a": 3}


def test_a_cluster_that_a_newer_version_wrote_is_left_as_it_is_though_nobody_works():
    brokers = Brokers()
    brokers.topics["a-slots"] = [SeenClaim(replace(A, format_version=2), 0, 1)]
    with pytest.raises(NewerFormatError, match=r"group\.id=a has format_version=2.*Nothing is written over it"):
        start(brokers, A)
    assert [seen.claim.format_version for seen in brokers.topics["a-slots"]] == [2]
    start(brokers, claim("b", "c3", "o3", "s3"))  # what another cluster wrote is its own matter
