"""Opens Google's clients for a configuration, with its credentials and addresses."""

from __future__ import annotations

from typing import Any

from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.settings.job_terms import JobTerms
from connectors.bigquery.warehouse.accounts import credentials_of
from connectors.bigquery.warehouse.service_clock import ServiceClock
from connectors.bigquery.warehouse.storage import StorageWriter
from connectors.bigquery.warehouse.warehouse import Warehouse


def open_warehouse(config: BigQuerySinkConfig) -> Warehouse:
    """Open the dataset of a configuration, and send nothing yet. Raise ConfigError if there are no credentials."""
    clock = ServiceClock()
    return Warehouse(
        open_client(config, clock), config.project, config.dataset, timeout_s=config.request_timeout_ms / 1000,
        terms=config.job_terms, clock=clock,
    )  # fmt: skip


def open_client(config: BigQuerySinkConfig, clock: ServiceClock | None = None) -> Any:
    """Open Google's client, a `google.cloud.bigquery.Client`, whose answers tell `clock` the time.

    Raise ConfigError if there are no credentials.
    """
    from google.cloud import bigquery

    from connectors.bigquery.warehouse.session import WarehouseSession

    options = {"api_endpoint": config.endpoint} if config.endpoint else None
    credentials = credentials_of(config)
    own: str | None = getattr(credentials, "project_id", None)
    project = config.jobs_project or (own if config.use_credentials_project and own else config.project)
    session = WarehouseSession(credentials, config.endpoint, timeout_s=config.request_timeout_ms / 1000)
    if clock is not None:
        session.tell(clock)
    # Google's client takes a session of ours by this name alone.
    return bigquery.Client(
        project=project, credentials=credentials, client_options=options, _http=session,
        default_query_job_config=_with_terms(bigquery.QueryJobConfig(), config.job_terms),
        default_load_job_config=_with_terms(bigquery.LoadJobConfig(), config.job_terms),
    )  # fmt: skip


def _with_terms(job_config: Any, terms: JobTerms) -> Any:
    """Add the labels and the reservation of the settings to the configuration of a job."""
    if terms.labels:
        job_config.labels = dict(terms.labels)
    if terms.reservation:
        job_config.reservation = terms.reservation
    return job_config


def account_of(config: BigQuerySinkConfig) -> str:
    """Return the address of the sink's account, or the word ACCOUNT if the credentials do not tell it."""
    return getattr(credentials_of(config), "service_account_email", "") or "ACCOUNT"


def open_storage(config: BigQuerySinkConfig) -> StorageWriter:
    """Open the Storage Write API of a configuration. Nothing is sent yet."""
    from google.cloud.bigquery_storage_v1 import BigQueryWriteClient

    timeout_s = config.request_timeout_ms / 1000
    if config.insecure:
        return StorageWriter(_insecure_storage(config), config.project, config.dataset, timeout_s=timeout_s)
    options = {"api_endpoint": config.storage_endpoint} if config.storage_endpoint else None
    client: Any = BigQueryWriteClient(credentials=credentials_of(config), client_options=options)  # type: ignore[no-untyped-call]  # no types
    return StorageWriter(client, config.project, config.dataset, timeout_s=timeout_s)


def _insecure_storage(config: BigQuerySinkConfig) -> Any:
    import grpc
    from google.cloud.bigquery_storage_v1 import BigQueryWriteClient
    from google.cloud.bigquery_storage_v1.services.big_query_write.transports import BigQueryWriteGrpcTransport

    channel = grpc.insecure_channel(config.storage_endpoint)
    return BigQueryWriteClient(transport=BigQueryWriteGrpcTransport(channel=channel))  # type: ignore[no-untyped-call]  # the library has no types there
