"""Decides if a process traces, and with what (OpenTelemetry). Nothing of it is imported where tracing is off."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from connect.api.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

SWITCHES: Final = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Where `tracing.enabled` says nothing, one of these in the environment switches tracing on."""


def is_switched_on(setting: bool | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Tell if tracing is on: by `tracing.enabled` where it is given, else by OpenTelemetry's own environment."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or environment.get(SWITCHES[0]) == "none":
        return False
    return setting if setting is not None else any(environment.get(name) for name in SWITCHES)


def check_installed(off: str = "tracing.enabled=false") -> None:
    """Raise ConfigError when the packages of the extra `tracing` are not there; `off` is what asks for none."""
    for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise ConfigError(
                f"OpenTelemetry is switched on and the package {name} is missing.", key=off.partition("=")[0],
                fix=f"Run: pip install 'connect-for-kafka[tracing]', or set {off}.",
            )  # fmt: skip


def tracer_provider(service: str) -> TracerProvider:
    """Return a provider that sends spans by OTLP over HTTP to where OTEL_EXPORTER_OTLP_* say, or prints them.

    It prints them with OTEL_TRACES_EXPORTER=console. `service` is the service's name unless OTEL_SERVICE_NAME gives
    one. ConfigError: see `check_installed`.
    """
    check_installed()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    from connect.telemetry.collector_session import CollectorSession

    name = os.environ.get("OTEL_SERVICE_NAME") or service
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    console = os.environ.get(SWITCHES[0]) == "console"
    provider.add_span_processor(
        BatchSpanProcessor(ConsoleSpanExporter() if console else OTLPSpanExporter(session=CollectorSession()))
    )
    return provider
