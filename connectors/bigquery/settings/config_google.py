"""Declares the account, the addresses and the billing of requests to Google. Values only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import AfterValidator, SecretStr

from connect.api.config import Boolean, ListOf, Long, Password, String, at_least, key, one_of
from connect.api.errors import ConfigError
from connect.api.reach import Reach
from connect.lib.cloud_names import project_name
from connectors.bigquery.settings.account_key import AccountKey, read_key
from connectors.bigquery.settings.config_dedup import DedupSettings
from connectors.bigquery.settings.job_terms import JobTerms

GOOGLE: Final = "Google"
_LABEL_KEY: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE: Final = re.compile(r"[a-z0-9_-]{0,63}")
_OWN_LABELS: Final = "kafka-connect-"
_ACCOUNT: Final = re.compile(r"[a-z0-9.-]+@[a-z0-9.-]+\.gserviceaccount\.com")
_RESERVATION: Final = re.compile(r"none|projects/[^/\s]+/locations/[^/\s]+/reservations/[^/\s]+")
_KMS_KEY: Final = re.compile(r"projects/[^/\s]+/locations/[^/\s]+/keyRings/[^/\s]+/cryptoKeys/[^/\s]+")
_LOCATION: Final = re.compile(r"[A-Za-z0-9-]*")


def check_labels(value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels. Raise ValueError if BigQuery would refuse one, or if a name comes twice."""
    for pair in value:
        name, found, text = pair.partition(":")
        if not found or not _LABEL_KEY.fullmatch(name) or not _LABEL_VALUE.fullmatch(text):
            raise ValueError(
                f"{pair!r} is no key:value of a label: at most 63 lower-case letters, digits, _ and -, and the key "
                "begins with a letter"
            )
    return value


def labels_of(pairs: Iterable[str]) -> dict[str, str]:
    """Return the values of labels by their names. Each of `pairs` is a text of the form key:value."""
    return {name: text for name, _, text in (pair.partition(":") for pair in pairs)}


def _check_job_labels(value: tuple[str, ...]) -> tuple[str, ...]:
    for pair in check_labels(value):
        if pair.startswith(_OWN_LABELS):
            raise ValueError(
                f"{pair!r} begins with {_OWN_LABELS}, as labels of this sink do by which it finds its jobs"
            )
    return value


def _check_account(value: str) -> str:
    if value and not _ACCOUNT.fullmatch(value):
        raise ValueError("Give the address of a service account, as loader@my-project.iam.gserviceaccount.com")
    return value


def _check_project(value: str) -> str:
    return project_name(value) if value else value


def _check_reservation(value: str) -> str:
    if value and not _RESERVATION.fullmatch(value):
        raise ValueError("Give projects/PROJECT/locations/LOCATION/reservations/NAME, or none for on-demand prices")
    return value


def _check_kms_key(value: str) -> str:
    if value and not _KMS_KEY.fullmatch(value):
        raise ValueError("Give projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY")
    return value


def _check_location(value: str) -> str:
    if not _LOCATION.fullmatch(value):
        raise ValueError("Give a location of BigQuery, as EU or europe-west3")
    return value


class GoogleSettings(DedupSettings):
    """Declares the account, its key, the addresses of Google's services, and the settings of all jobs."""

    keyfile: Password = key(
        "keyfile",
        SecretStr(""),
        reach=Reach.FILE,
        bounds="with keySource=FILE as any file, and so is the token's file of workload identity; a key that runs a "
        "command, or asks another host than Google's, is refused; its path and text are in no answer",
        doc="Path of a service account's key (JSON) on the worker, or with keySource=JSON the key itself. Workload "
        "identity (JSON of type external_account) counts as a key where its token is in a file below allowed.paths.",
        importance="high",
        group=GOOGLE,
    )
    key_source: Annotated[String, one_of("FILE", "JSON", "APPLICATION_DEFAULT", ignore_case=True)] = key(
        "keySource",
        "FILE",
        doc="What keyfile holds. APPLICATION_DEFAULT: nothing, credentials come from the worker's environment.",
        group=GOOGLE,
    )
    impersonated: Annotated[String, AfterValidator(_check_account)] = key(
        "bigquery.impersonate.service.account", "",
        harmless="an account of Google's, which it lets these credentials act as or not",
        doc="Service account as which all requests are sent; the credentials need Service Account Token Creator on it. "
        "Empty: as the credentials themselves.", group=GOOGLE,
    )  # fmt: skip
    use_credentials_project: Boolean = key(
        "useCredentialsProjectId", False,
        doc="Run and bill jobs in the project of the service account; else in that of the dataset.", group=GOOGLE,
    )  # fmt: skip
    jobs_project: Annotated[String, AfterValidator(_check_project)] = key(
        "bigquery.jobs.project", "",
        doc="Project in which jobs run and are billed, where the dataset is in another one. All connectors that merge "
        "into one table need the same. Empty: as useCredentialsProjectId says.", group=GOOGLE,
    )  # fmt: skip
    quota_project: Annotated[String, AfterValidator(_check_project)] = key(
        "bigquery.quota.project", "",
        doc="Project whose API quota requests count to (x-goog-user-project); the account needs Service Usage Consumer "
        "there. Empty: as Google has it.", group=GOOGLE,
    )  # fmt: skip
    job_labels: Annotated[ListOf, AfterValidator(_check_job_labels)] = key(
        "bigquery.jobs.labels", (), doc="Labels of every job, as key:value,…, by which bills are told apart.",
        group=GOOGLE,
    )  # fmt: skip
    reservation: Annotated[String, AfterValidator(_check_reservation)] = key(
        "bigquery.jobs.reservation", "",
        harmless="a reservation of Google's, which it lets the account use or not",
        doc="Reservation whose slots jobs use, as projects/PROJECT/locations/LOCATION/reservations/NAME; none: "
        "on-demand. Empty: as the project's assignments say.", group=GOOGLE,
    )  # fmt: skip
    location: Annotated[String, AfterValidator(_check_location)] = key(
        "bigquery.location", "", harmless="a region of Google's, compared with the dataset's",
        doc="Where jobs must run, as EU: a dataset elsewhere is refused. Empty: where the dataset is.", group=GOOGLE,
    )  # fmt: skip
    kms_key: Annotated[String, AfterValidator(_check_kms_key)] = key(
        "bigquery.kms.key", "",
        harmless="a key of Google's Cloud KMS, which it lets BigQuery use or not",
        doc="Key of Cloud KMS that encrypts new tables, staging tables and the answers of queries, as projects/PROJECT/"
        "locations/LOCATION/keyRings/RING/cryptoKeys/KEY. A table that is there keeps its own. Empty: the dataset's.",
        group=GOOGLE,
    )  # fmt: skip
    request_timeout_ms: Annotated[Long, at_least(1)] = key(
        "bigquery.request.timeout.ms", 60_000, doc="Limit of one request to BigQuery, uploads included.",
        importance="low", group=GOOGLE,
    )  # fmt: skip
    endpoint: String = key(
        "bigquery.endpoint", "",
        reach=Reach.URL, bounds="HTTP alone; the worker's own credentials go to addresses of Google's alone",
        doc="Address of BigQuery's REST API, as https://bigquery-NAME.p.googleapis.com of Private Service Connect; "
        "empty: Google's.", importance="low", group=GOOGLE,
    )  # fmt: skip
    storage_endpoint: String = key(
        "bigquery.storage.endpoint", "",
        reach=Reach.HOST, bounds="spoken to in gRPC; the worker's own credentials go to addresses of Google's alone",
        doc="host:port of BigQuery's Storage API, as bigquerystorage-NAME.p.googleapis.com:443 of Private Service "
        "Connect; empty: Google's.", importance="low", group=GOOGLE,
    )  # fmt: skip
    insecure: Boolean = key(
        "bigquery.insecure", False, doc="Send no credentials and encrypt nothing, for an emulator.", importance="low",
        group=GOOGLE, internal=True,
    )  # fmt: skip

    @property
    def job_terms(self) -> JobTerms:
        """Return the labels, reservation, encryption key and location that all jobs have."""
        return JobTerms(labels_of(self.job_labels), self.reservation, self.kms_key, self.location)

    @property
    def key_text(self) -> AccountKey | None:
        """Return the account's key if the text of the configuration has one that can be read; else None."""
        if self.key_source.upper() != "JSON" or not self.keyfile.get_secret_value():
            return None
        try:
            return read_key(self.keyfile.get_secret_value())
        except ConfigError:
            return None

    def key_files(self) -> Iterable[tuple[str, str]]:
        """Yield each file that an account's key needs, as a pair of the setting's name and the path."""
        path = self.keyfile.get_secret_value()
        if path and self.key_source.upper() == "FILE":
            yield "keyfile", path
        given = self.key_text
        if given is not None and given.is_federated:
            yield "keyfile", given.token_file
