"""Runs herders over one set of topics in memory, in a group that a test deals slots from."""

import queue

from cluster_fakes import World, eventually

from connect.api.errors import RetriableError
from connect.cluster.hosts.lease import Lease
from connect.cluster.leader.group_membership import GroupMembership
from connect.cluster.model.request_errors import NotFoundError

SLOTS = 6


class Member:
    """Does on its polling thread what the test put in its queue."""

    def __init__(self, listener):
        self.listener, self.events, self.left = listener, queue.Queue(), False
        self.told = []

    def poll(self, timeout_s):
        try:
            what, slots = self.events.get(timeout=0.02)
        except queue.Empty:
            return
        if what == "fail":
            raise RetriableError("away")
        getattr(self.listener, what)(frozenset(slots))
        self.told.append(what)

    def close(self, deadline):
        self.left = True


class Cluster:
    def __init__(self):
        self.world, self.members, self.herders, self.leases = World(), {}, {}, {}
        self.memberships = {}

    def start(self, name, address=None, **keys):
        def join(worker_id, listener):
            self.members[name] = Member(listener)
            return self.members[name]

        self.leases[name] = Lease(5)

        def membership(configs):
            enabled = keys.get("exactly.once.source.support") == "enabled"
            joined = GroupMembership(configs, join, self.leases[name], 2, in_transactions=enabled)
            self.memberships[name] = joined
            return joined

        self.herders[name] = self.world.herder(membership, worker_id=address or f"{name}:1", **keys)
        eventually(lambda: name in self.members)
        return self.herders[name]

    def deal(self, name, what, slots):
        self.members[name].events.put((what, slots))


def create(herder, tasks=4):
    config = {"connector.class": "Source", "tasks.max": str(tasks)}
    return herder.connectors.create("c", config, None).result(60)


def workers(herder):
    try:
        tasks = herder.connectors.status("c").tasks.values()
    except NotFoundError:
        return []
    return sorted(task.worker_id for task in tasks if task.state.value == "RUNNING")
