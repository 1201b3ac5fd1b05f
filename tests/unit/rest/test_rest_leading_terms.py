"""A worker that was frozen may lead again: what it knew of alerts counts only if nobody else has led meanwhile."""

from __future__ import annotations

from memory_cluster import MemoryOperations

from connect.cluster.model.history import Rebalance
from connect.rest.jobs.leading_terms import LeadingTerms

OWN, OTHER = "own:1", "other:1"


def led(number: int, leader: str) -> Rebalance:
    return Rebalance(number, number, leader, [OWN, OTHER], number)


def nothing() -> None:
    """Forget nothing, as nothing was queued."""


def test_a_term_goes_on_until_another_worker_leads(monkeypatch) -> None:
    operations, forgotten = MemoryOperations(), list[bool]()
    told = [led(1, OTHER), led(2, OWN)]
    monkeypatch.setattr(operations.history, "rebalances", lambda: told)
    terms = LeadingTerms(operations, OWN)
    assert not terms.goes_on(), "nobody has read which alerts were told"
    assert terms.begins_anew(nothing)
    assert terms.goes_on()
    told.append(led(3, OWN))
    assert (terms.begins_anew(nothing), terms.goes_on()) == (False, True), "somebody came or went, and the leader stays"
    told += [led(4, OTHER), led(5, OWN)]
    assert not terms.goes_on(), "it leads, and another one has led since"
    assert terms.begins_anew(lambda: forgotten.append(terms.goes_on()))
    assert forgotten == [False], "what was queued before is forgotten before anything may be sent again"
    assert terms.goes_on()
    operations.is_ready = False
    assert not terms.goes_on(), "Kafka does not hear it"
    operations.is_ready, operations.leads = True, False
    assert not terms.goes_on()


def test_what_was_queued_before_another_led_does_not_go_on_by_a_look_meanwhile(monkeypatch) -> None:
    operations = MemoryOperations()
    told = [led(1, OWN)]
    monkeypatch.setattr(operations.history, "rebalances", lambda: told)
    terms = LeadingTerms(operations, OWN)
    terms.begins_anew(nothing)

    def caught_up() -> None:
        told.append(led(2, OTHER))
        terms.begins_anew(nothing)  # the look, on its own thread

    monkeypatch.setattr(operations.history, "told_alerts", caught_up)
    assert not terms.goes_on()
