"""Answers what a worker asks of a sink's consumer group, in a task host: it alone knows the sink's client settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.runtime.parts.clients import Clients
from connect.runtime.task.messages import Call, Method

GROUP_CALLS: Final[frozenset[Method]] = frozenset({"list_topics", "read_group", "alter_group", "delete_group"})
GROUP_KEY: Final = "consumer.override.group.id"
ADMIN_OVERRIDE: Final = "admin.override."


def answer_group_call(clients: Clients, call: Call, resolved: Mapping[str, str]) -> Any:
    """Carry out one of GROUP_CALLS and return its value. Kafka's errors pass through."""
    admin = group_admin(clients, resolved)
    group, deadline = group_of(resolved), Deadline.after(call.timeout_s)
    match call.method:
        case "list_topics":
            return admin.topics(deadline)
        case "read_group":
            return [_pair(tp, offset) for tp, offset in admin.group_offsets(group, deadline).items()]
        case "alter_group":
            offsets = {_partition(p): None if o is None else int(o["offset"]) for p, o in call.positions}
            return admin.alter_group_offsets(group, offsets, deadline)
        case "delete_group":
            return admin.delete_group(group, deadline)
        case _:
            raise ValueError(f"No group is asked for {call.method}.")


def group_admin(clients: Clients, resolved: Mapping[str, str]) -> TopicAdmin:
    """Return an admin client with a sink connector's own settings."""
    given = {k.removeprefix(ADMIN_OVERRIDE): v for k, v in resolved.items() if k.startswith(ADMIN_OVERRIDE)}
    client_id = f"{clients.worker.client_prefix}-shared-admin"
    return TopicAdmin(admin_settings(clients.worker_properties, given, client_id).properties)


def group_of(config: Mapping[str, str]) -> str:
    """Return the name of a sink connector's consumer group."""
    return config.get(GROUP_KEY) or f"connect-{config['name']}"


def _pair(tp: TopicPartition, offset: int) -> tuple[dict[str, object], dict[str, object]]:
    return {"topic": tp.topic, "partition": tp.partition}, {"offset": offset}


def _partition(given: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(given["topic"], given["partition"])
