import pytest

from connect.cluster.model.auto_restart import NextRestart, RestartHistory, RestartPolicy, next_restart

POLICY = RestartPolicy(enabled=True, initial_s=1, max_s=10, limit=5, reset_after_s=600)


def test_waits_double_up_to_the_longest():
    history, delays = RestartHistory(), []
    for _ in range(5):
        following = next_restart(POLICY, history, 0)
        delays.append(following.delay_s)
        history = following.history
    assert delays == [1, 2, 4, 8, 10]
    assert next_restart(POLICY, history, 0) is None


def test_good_running_starts_the_count_anew():
    tired = RestartHistory(5, good_since_s=100)
    assert next_restart(POLICY, tired, 699) is None
    assert next_restart(POLICY, tired, 700) == NextRestart(1, RestartHistory(1))


def test_without_a_limit_it_goes_on_for_ever():
    endless = RestartPolicy(enabled=True, initial_s=1, max_s=10, limit=-1, reset_after_s=600)
    assert next_restart(endless, RestartHistory(10_000), 0).delay_s == 10


@pytest.mark.parametrize(
    ("own", "worker", "allowed"),
    [(None, True, True), (None, False, False), ("false", True, False), (" TRUE ", False, True)],
)
def test_a_connectors_own_word_counts_before_the_workers(own, worker, allowed):
    policy = RestartPolicy(worker, 1, 1, 1, 1)
    assert policy.allows({} if own is None else {"auto.restart.enabled": own}) is allowed
