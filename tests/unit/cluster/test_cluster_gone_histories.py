"""Random histories of members that are told, rightly or wrongly, that their worker is gone: no slot has two owners."""

import pytest
from cluster_fakes import eventually
from gone_cluster import Group, Worker, draw_fault
from histories import run_histories

from connect.cluster.group import member_process
from connect.cluster.group.member_process import MemberServer

SLOTS = 4
FAULTS = 6
RETURNS = 0.3
"""How often the group wants a slot back, beside a fault."""


@pytest.mark.thorough
@pytest.mark.histories
def test_no_slot_has_two_owners_whatever_the_members_are_told(monkeypatch):
    monkeypatch.setattr(MemberServer, "_end_with_session", lambda server: None)  # it ends this process

    def one_history(history):
        group, workers = Group(SLOTS), []
        monkeypatch.setattr(member_process, "MembershipConsumer", group.member)

        def start():
            workers.append(Worker(f"worker {len(workers)}", group, history.draw))
            history.note("start", worker=workers[-1].name)

        try:
            start()
            for _ in range(FAULTS):
                eventually(lambda: all(marks[-1:] == [workers[-1].name] for marks in group.marks.values()))
                former = workers[-1]
                start()
                fault = draw_fault(history.draw)
                if history.draw.random() < RETURNS:
                    history.note("give back", slot=0)
                    group.wanted_back.add(0)
                history.note(fault.__name__, worker=former.name)
                fault(former)
                eventually(lambda former=former: not former.member.is_alive())
            eventually(lambda: all(marks[-1:] == [workers[-1].name] for marks in group.marks.values()))
        finally:
            for worker in workers:
                worker.end()
        for slot, marks in group.marks.items():
            assert len(marks) == len(set(marks)), f"slot {slot} was worked on by {marks[:20]} …"

    run_histories("gone", one_history, short=3)
