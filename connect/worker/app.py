"""Builds all objects of a worker from its configuration, in the order in which they need each other; nothing else
does.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.cluster.group.member_process import Joining
from connect.cluster.group.remote_member import MemberProcesses
from connect.cluster.herder.herder import Herder
from connect.cluster.herder.reconcile import HerderDependencies
from connect.cluster.hosts.fork_seed import ForkSeed
from connect.cluster.hosts.forked_host import ForkedHosts
from connect.cluster.hosts.host_logs import at_worker_levels, name_java_loggers
from connect.cluster.hosts.host_pool import Launch
from connect.cluster.hosts.host_process import CommandProcess, HostProcess, python_host
from connect.cluster.hosts.lease import SHARE, UNHEARD_SHARE, Lease
from connect.cluster.hosts.life_line import LifeLine
from connect.cluster.hosts.task_host import Host, HostListener, TaskHost
from connect.cluster.leader.group_membership import GroupMember, GroupMembership, SlotListener
from connect.cluster.leader.group_settings import member_settings, release_s, resume_s
from connect.cluster.loop.connector_catalog import InstalledConnectors
from connect.cluster.loop.membership import Membership
from connect.cluster.model.cluster_topics import internal_topics
from connect.cluster.offsets.sink_groups import GroupOffsets
from connect.cluster.store.config_store import DELIVERY_TIMEOUT_S, ConfigStore
from connect.cluster.store.first_contact import FirstContact, StartError
from connect.cluster.store.kafka_claims import KafkaClaims
from connect.cluster.store.leader_producer import leader_producer
from connect.cluster.store.lost_slots import LostSlots
from connect.cluster.store.lost_topic import LostTopic
from connect.cluster.store.record_log import MakeLog, OnRecord, RecordLog
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings, is_secret, producer_settings
from connect.kafka.log.kv_log import KeyValueLog
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.calls.group_calls import ADMIN_OVERRIDE
from connect.runtime.host.import_without_gc import loading
from connect.runtime.settings.config_providers import config_providers
from connect.runtime.settings.encryption_keys import ENCRYPTION_KEY
from connect.runtime.settings.internal_topics import slots_topic
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.exactly_once import fences_leader, uses_transactions
from connect.telemetry.log_levels import LOG_LEVELS
from connect.telemetry.tracing import check_installed, is_switched_on

if TYPE_CHECKING:
    from connect.rest.rest_server import RestServer

JOIN_S: Final = 1.0
"""A worker answers requests after this many seconds even if it is not yet in the group, which may wait for a lost
worker.
"""
CALL_HOST_S: Final = 90.0
FORKED_CALL_HOST_S: Final = 5.0
"""A process for questions to connectors is kept this many seconds for further ones: starting one anew takes a second,
or a few milliseconds by forking.
"""
SLOTS_S: Final = 2.0
"""A leader waits so many seconds for the number of slots; without it, it goes on, and asks again when a task stands."""
STOP_MARGIN_S: Final = 10.0
"""On top of the time that tasks get to stop, the worker has this many seconds to leave Kafka and end REST."""


class Worker:
    """Holds a worker and its REST API. It is owned by the thread that starts and stops it."""

    def __init__(self, config: WorkerConfig, seed: ForkSeed | None = None, member_seed: ForkSeed | None = None) -> None:
        """Take `seed`, the process that becomes the first fork server, and `member_seed`, which becomes the member in
        the group; without them those are new interpreters.
        """
        if is_switched_on(config.tracing_enabled):
            check_installed()
        self._config = config
        self._catalog = Catalog.installed()
        name_java_loggers(LOG_LEVELS, self._catalog)
        self._stopping = threading.Event()
        self._reacher: TopicAdmin | None = None
        self._session_s = config.session_timeout_ms / 1000
        self._lease = Lease(SHARE * self._session_s, UNHEARD_SHARE * self._session_s, self._reach, resume_s(config))
        self._life_line = LifeLine()
        self._members = MemberProcesses(self._lease.descriptor, self._life_line.watched, LOG_LEVELS, member_seed)
        self._forked: ForkedHosts | None = None
        if sys.platform.startswith("linux"):  # On other systems, system libraries may not survive a fork.
            self._forked = ForkedHosts(self._lease.descriptor, self._life_line.held, seed)
        self.herder = Herder(config, self._surroundings())
        self._contact = FirstContact(config, lambda: self._admin({}), self.herder.read, self._stopping)
        self._lost_slots = LostSlots(
            config,
            lambda: self._admin({}),
            lambda admin, deadline: KafkaClaims(config, admin, deadline, is_new=True),
            self._group.join_anew,
            self._stopping,
        )
        self._rest: RestServer | None = None

    def start(self) -> str:
        """Serve REST, then start by what the internal topics say, and return the URL of REST. StartError: the worker
        cannot start.

        Until the topics are read, REST answers that the worker is starting.
        """
        started_s = time.monotonic()
        with ThreadPoolExecutor(1, thread_name_prefix="kafka-contact") as beside:
            # Kafka needs time to answer while the libraries of REST are loaded.
            contact = beside.submit(self._contact.reach)
            self._members.prepare()
            try:
                with loading():
                    url = self._serve_rest()
            except BaseException:
                self._stopping.set()
                raise
            while not self._stopping.is_set():
                try:
                    self.herder.start(urlsplit(url).netloc, url, contact.result())
                except RetriableError as error:
                    self._contact.wait(error, time.monotonic() - started_s)
                    contact = beside.submit(self._contact.reach)
                except ConnectError as error:
                    raise StartError(str(error)) from error
                else:
                    self._lost_slots.start()
                    self.herder.wait_until_joined(Deadline.after(JOIN_S, self._stopping))
                    break
        return url

    def ask_to_stop(self) -> None:
        """End the wait for Kafka. Any thread may call it, also a handler of signals."""
        self._stopping.set()

    def stop(self) -> None:
        """Stop tasks, leave the group and end REST, within a limited time."""
        self._stopping.set()
        stop_s = self._config.task_shutdown_graceful_timeout_ms / 1000
        self.herder.stop(Deadline.after(stop_s + STOP_MARGIN_S))
        if self._rest is not None:
            self._rest.stop()

    def _serve_rest(self) -> str:
        from connect.rest.rest_server import RestServer

        try:
            config_providers(self._config.originals, self._catalog)  # This checks them; each host builds its own.
            self._rest = RestServer(self._config, self.herder, self._catalog)
        except ConfigError as error:
            raise StartError(str(error)) from error
        return self._rest.start()

    def _surroundings(self) -> HerderDependencies:
        return HerderDependencies(
            config_log=self._log(
                self._config.config_storage_topic,
                "configs",
                leader_id=f"connect-cluster-{self._config.group_id}",
                deliver_within_s=DELIVERY_TIMEOUT_S,
            ),
            status_log=self._log(self._config.status_storage_topic, "statuses", on_error=self._lost_statuses().heard),
            offset_log=self._log(self._config.offset_storage_topic, "offsets"),
            group_offsets=self._group_offsets,
            membership=self._membership,
            catalog=InstalledConnectors(self._catalog),
            launch=self._launcher(),
            keep_call_host_s=CALL_HOST_S if self._forked is None else FORKED_CALL_HOST_S,
            host_count=self._config.task_hosts or os.cpu_count() or 1,
            set_log_level=LOG_LEVELS.set_as_told,
            count_slots=self._count_slots,
        )

    def _count_slots(self) -> int:
        # A request for metadata might have brokers make the topic, with another number.
        name = slots_topic(self._config)
        return self._admin({}).partition_counts([name], Deadline.after(SLOTS_S)).get(name, 0)

    def _reach(self, timeout_s: float) -> bool:
        if self._reacher is None:
            self._reacher = self._admin({})
        try:
            self._reacher.partition_count(self._config.config_storage_topic, Deadline.after(timeout_s))
        except ConnectError:
            return False
        return True

    def _membership(self, configs: ConfigStore) -> Membership:
        self._group = GroupMembership(
            configs,
            self._join,
            self._lease,
            release_s(self._config),
            in_transactions=uses_transactions(self._config, {}),
        )
        return self._group

    def _join(self, worker_id: str, listener: SlotListener) -> GroupMember:
        settings = member_settings(self._config, worker_id)
        joining = Joining(
            slots_topic(self._config),
            settings,
            secrets=[str(value) for key, value in settings.items() if is_secret(key)],
            log_level=logging.getLogger().level,
            lease_s=SHARE * self._session_s,
            session_s=self._session_s,
        )
        return self._members.join(joining, listener)

    def _lost_statuses(self) -> LostTopic:
        topics = {topic.spec.name: topic for topic in internal_topics(self._config)}
        statuses = topics[self._config.status_storage_topic]
        return LostTopic(
            statuses,
            lambda: self._admin({}),
            lambda: self.herder.write_statuses_again(),  # noqa: PLW0108 - the herder is made later
            may_make=self._config.internal_topics_automatic_creation_enable,
        )

    def _log(
        self,
        topic: str,
        purpose: str,
        leader_id: str | None = None,
        on_error: Callable[[ConnectError], None] | None = None,
        deliver_within_s: float | None = None,
    ) -> MakeLog:
        """Return what makes the log of a topic. If the leader writes in transactions, `leader_id` is its transactional
        id. A record that no broker has taken within `deliver_within_s` is given up; without it each waits for ever.
        """
        worker = self._config.originals
        client_id = f"{self._config.client_prefix}-{purpose}"
        deliver_within_ms = None if deliver_within_s is None else round(deliver_within_s * 1000)
        leader = None
        if leader_id is not None and fences_leader(self._config):
            leader = leader_producer(worker, f"{client_id}-leader", leader_id)

        def make(on_record: OnRecord) -> RecordLog:
            writer = producer_settings(worker, {}, client_id=client_id, deliver_within_ms=deliver_within_ms)
            return KeyValueLog(
                topic,
                # A worker must not take in a record whose transaction is aborted later.
                {**consumer_settings(worker, {}, client_id=client_id).properties, "isolation.level": "read_committed"},
                {**writer.properties, "linger.ms": 0},
                on_record=on_record,
                on_error=on_error,
                transactional=leader,
            )

        return make

    def _launcher(self) -> Launch:
        # A process that runs connectors does not read the config topic, so it needs no key to decrypt it.
        given = {key: value for key, value in self._config.originals.items() if key != ENCRYPTION_KEY}

        def launch(name: str, listener: HostListener) -> Host:
            return TaskHost(name, given, listener, self._start_process, lambda: self._lease.is_good)

        return at_worker_levels(launch, LOG_LEVELS)

    def _start_process(self, line: socket.socket, report: int) -> HostProcess:
        if self._forked is not None:
            return self._forked.start(line, report)
        lease = self._lease.descriptor
        inherited = [lease, report, self._life_line.held]
        return CommandProcess(line, lambda descriptor: python_host(descriptor, lease, report), inherited)

    def _admin(self, overrides: Mapping[str, str]) -> TopicAdmin:
        client_id = f"{self._config.client_prefix}-shared-admin"
        return TopicAdmin(admin_settings(self._config.originals, overrides, client_id).properties)

    def _group_offsets(self, connector: Mapping[str, str]) -> GroupOffsets:
        prefix = ADMIN_OVERRIDE
        return self._admin({k.removeprefix(prefix): v for k, v in connector.items() if k.startswith(prefix)})
