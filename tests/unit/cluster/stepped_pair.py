"""Runs two workers step by step, of which the first leads and the second reads when it is told to."""

from __future__ import annotations

from stepped_cluster import SteppedCluster

ENOUGH = 10_000
CONFIG = {"connector.class": "Source", "name": "c", "tasks.max": "4"}


class Pair:
    """Two workers with a slot each, of which the first leads; the second reads when it is told to."""

    def __init__(self, **settings: str) -> None:
        self.cluster = SteppedCluster(2, 1, **settings)
        self.leader, self.follower = self.cluster.workers
        self.leader.membership.hold(frozenset({0}))
        self.follower.membership.hold(frozenset({1}))
        self.settle()
        self.ask(lambda: self.leader.requests.create("c", CONFIG, None, "test"))
        self.settle()

    def ask(self, change):
        asked = self.leader.request(change)
        self.settle(self.leader)
        asked.result(0)

    def settle(self, *workers):
        for _ in range(20):
            self.cluster.pass_time(1.0)
            for worker in workers or self.cluster.workers:
                number = self.cluster.workers.index(worker)
                for topic in (self.cluster.configs, self.cluster.statuses):
                    topic.logs[number].catch_up()
                worker.loop.turn(ENOUGH)
                for host in worker.talking():
                    while host.heard:
                        host.answer()
                worker.loop.turn(ENOUGH)

    def runs(self):
        """Return the runs of the second worker."""
        return {task: run for host in self.follower.live_hosts() for task, (run, _) in host.runs.items()}

    def target(self, target):
        self.ask(lambda: self.leader.requests.set_target("c", target))

    def save(self, config):
        self.ask(lambda: self.leader.requests.save("c", config, "test"))
