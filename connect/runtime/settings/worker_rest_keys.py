"""Declares the worker's settings of its REST API: Kafka Connect's keys, and ours for access and its limits.

Parsing is elsewhere; no I/O here.
"""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator

from connect.api.config import Boolean, Int, ListOf, Long, String, at_least, between, key, non_empty, one_of
from connect.runtime.settings.worker_access_keys import AccessKeys

BASIC_AUTH_FILE: Final = "rest.basic.auth.file"
BASIC_AUTH_CLASS: Final = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"


def _check_addresses(value: tuple[str, ...]) -> tuple[str, ...]:
    for address in value:
        url = urlsplit(address)
        if url.scheme.lower() not in {"http", "https"} or not address.partition("://")[2]:
            raise ValueError(
                f"{address!r} is not of the form http://host:port or https://host:port; without a host it is all "
                "addresses"
            )
        try:
            _ = url.port
        except ValueError as error:
            raise ValueError(f"{address!r}: {error}") from error
    return value


_addresses: Final = AfterValidator(_check_addresses)
_as_in_yaml: Final = BeforeValidator(lambda value: {"true": "on", "false": "off"}.get(value, value))
"""YAML reads `on` and `off` as booleans."""


class RestKeys(AccessKeys):
    """Holds a worker's settings of its REST API."""

    listeners: Annotated[ListOf, non_empty, _addresses] = key(
        "listeners",
        ("http://:8083",),
        doc="REST addresses, http://host:port, or https:// with listeners.https.ssl.*; port 0 takes a free one.",
        group="Common",
    )
    admin_listeners: Annotated[ListOf, _addresses] = key(
        "admin.listeners",
        (),
        doc="Addresses for /admin alone; left out it is on every listener, and empty it is nowhere.",
        importance="low",
    )
    access_control_allow_origin: String = key(
        "access.control.allow.origin", "", doc="Web pages that may use REST: origins, patterns, or *.", importance="low"
    )
    access_control_allow_methods: String = key(
        "access.control.allow.methods", "", doc="HTTP methods these pages may use.", importance="low"
    )
    response_http_headers_config: String = key(
        "response.http.headers.config", "", doc="Headers for every answer: `add Name: value, …`.", importance="low"
    )
    rest_basic_auth_file: String = key(
        BASIC_AUTH_FILE,
        None,
        doc="Properties file of users and passwords; with it every request needs one of them (HTTP basic). A "
        "changed file counts within a second.",
        importance="low",
    )
    rest_mask_secrets: Boolean = key(
        "rest.mask.secrets",
        True,
        doc="Answers show secrets of configurations as [hidden], which stands for the stored value when it is sent "
        "back. false: as they are stored, as in Java, for clients that compare what they sent with what they get.",
        importance="low",
    )
    rest_ui: Annotated[String, one_of("on", "read-only", "off"), _as_in_yaml] = key(
        "rest.ui",
        "on",
        doc="The pages for a browser at /ui. read-only: they show everything and change nothing; off: there are none.",
        importance="low",
    )
    rest_extension_classes: ListOf = key(
        "rest.extension.classes",
        (),
        doc=f"{BASIC_AUTH_CLASS} stands for {BASIC_AUTH_FILE}, which it needs; others have no effect.",
        importance="low",
    )
    rest_advertised_host_name: String = key(
        "rest.advertised.host.name",
        None,
        doc="Host by which other workers reach this one.",
        importance="low",
        group="Common",
    )
    rest_advertised_port: Annotated[Int, between(1, 65535)] = key(
        "rest.advertised.port",
        None,
        doc="Port by which other workers reach this one.",
        importance="low",
        group="Common",
    )
    rest_advertised_listener: Annotated[String, one_of("http", "https", ignore_case=True)] = key(
        "rest.advertised.listener", None, doc="Protocol by which other workers reach this one.", importance="low"
    )
    rest_advertised_certificate_name: String = key(
        "rest.advertised.certificate.name",
        None,
        doc="Name that the certificates of all workers are for, as that of a Service of Kubernetes; workers look for "
        "it there in place of the host by which they reach each other. Default: that host.",
        importance="low",
    )
    rest_request_timeout_ms: Annotated[Long, at_least(1)] = key(
        "rest.request.timeout.ms", 90_000, doc="Longest time a REST request may take.", importance="low"
    )
    rest_allowed_hosts: ListOf = key(
        "rest.allowed.hosts",
        (),
        doc="Further names, host or host:port, under which browsers may reach this worker: those of a proxy or of DNS. "
        "*.example.com stands for all below, * for every name. Its own names, localhost and IP addresses always count; "
        "clients that are no browsers are not asked.",
        importance="low",
    )
    rest_connections_max: Annotated[Int, at_least(1)] = key(
        "rest.connections.max",
        256,
        doc="Connections to a listener at a time; behind that the one goes that has waited longest without a request.",
        importance="low",
    )
    backfill_processes_max: Annotated[Int, at_least(0)] = key(
        "backfill.processes.max",
        0,
        doc="Processes that a backfill asked for by REST may use on this worker; 0: one per core.",
        importance="low",
    )
    backfill_lanes_max: Annotated[Int, between(1, 1000)] = key(
        "backfill.lanes.max", 64, doc="Lanes of a backfill that is asked for by REST.", importance="low"
    )
    backfill_jobs_max: Annotated[Int, at_least(0)] = key(
        "backfill.jobs.max",
        4,
        doc="Backfills that this worker runs at a time for REST, those of other workers that it goes on with left out.",
        importance="low",
    )
