"""Translates the errors of Google's client into those of the contract. None of them shows a credential."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.bounded_http import UnboundedAnswerError

OVER_LIMIT: Final = "bytesBilledLimitExceeded"
"""BigQuery gives this reason if it did not run a job, as the job needs more bytes than it may be billed for."""
_RETRIABLE_REASONS: Final = frozenset(
    {
        OVER_LIMIT, "backendError", "internalError", "jobBackendError", "jobInternalError", "jobRateLimitExceeded",
        "quotaExceeded", "rateLimitExceeded", "tableUnavailable", "timeout", "stopped",
    }
)  # fmt: skip
"""Errors for these reasons pass by themselves: they are faults of BigQuery's own, and quotas, which fill up again."""
_PASSING_CODES: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""Errors with these codes pass if no other rule applies: such a 403 is a quota, and a missing table is made again."""
_NO_DATASET: Final = re.compile(r"not found: (dataset|project)", re.IGNORECASE)
_RETRIABLE_TEXTS: Final = (
    "could not serialize access", "concurrent update", "transaction is aborted", "streaming buffer",
    "failed to commit", "conflict on update",
)  # fmt: skip
"""Errors have these texts if two clients change a table at once. The emulator has the last two if two create one."""
_PARTITION_QUOTA: Final = re.compile(r"exceeded quota for number of partition modifications", re.IGNORECASE)
_STREAMING_BUFFER: Final = re.compile(r"streaming buffer", re.IGNORECASE)
"""BigQuery changes no row that insertAll added until it has left the buffer, within 90 minutes."""
_ROW_ACCESS: Final = re.compile(r"row[- ](level[- ])?(access|security)", re.IGNORECASE)
"""If a table has row access policies, BigQuery changes it only for an account that sees all of its rows."""
_WRONG_CLOCK: Final = re.compile(r"reasonable timeframe|iat and exp", re.IGNORECASE)
"""Google's words for a token whose times are far from its own clock."""


class RefusedJobError(ConnectError):
    """BigQuery refuses this statement or these rows as they are; it may take fewer of the rows."""


class RefusedAccessError(ConfigError):
    """The account lacks a role that the request needs."""


@contextmanager
def translated(doing: str, *, project: str, dataset: str) -> Iterator[None]:
    """Translate the errors of Google's client in the body into those of `connect.api.errors`."""
    from google.api_core import exceptions as api
    from google.auth import exceptions as auth
    from requests.exceptions import RequestException

    where = f"BigQuery dataset {project}.{dataset}"
    try:
        yield
    except api.GoogleAPICallError as error:
        raise _api_error(where, doing, error) from error
    except api.RetryError as error:
        # Its text names the half second in which a request is sent again, as if that were the limit of the request.
        why = _lost(error.cause or error)
        raise RetriableError(f"{where} cannot be reached, {doing}: {why}, also when asked again.") from error
    except (RequestException, ConnectionError, auth.TransportError) as error:
        raise RetriableError(f"{where} cannot be reached, {doing}: {_lost(error)}") from error
    except auth.GoogleAuthError as error:
        raise _no_credentials(where, doing, error) from error
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ConnectError(
            f"{where}, {doing}: what answers is no BigQuery ({type(error).__name__}).", fix="Check bigquery.endpoint."
        ) from error


def _lost(error: BaseException) -> str:
    """Return the error's type. Return the whole text only for an answer without end, as that text has no address."""
    inner = error.args[0] if error.args else None
    return str(inner) if isinstance(inner, UnboundedAnswerError) else type(error).__name__


def _no_credentials(where: str, doing: str, error: Exception) -> ConfigError:
    """Return the error for missing credentials. It has only those parts of the client's text that hold no secret."""
    why = type(error).__name__
    if _WRONG_CLOCK.search(str(error)):
        return ConfigError(
            f"{where}: Google refuses the token for {doing}, as its times are not about now ({why}).",
            key="keyfile",
            fix="Set the clock of the worker's machine.",
        )
    return ConfigError(
        f"{where}: no credentials for {doing} ({why}).", key="keyfile", fix="Check keyfile and keySource."
    )


def _api_error(where: str, doing: str, error: Any) -> ConnectError:
    """Return the error of the contract for an error of BigQuery's API."""
    reasons = {str(part.get("reason", "")) for part in error.errors or () if isinstance(part, Mapping)}
    message = _in_one_line(error.message)
    match int(error.code or 0):
        case HTTPStatus.NOT_FOUND if _NO_DATASET.search(error.message):
            return ConfigError(
                f"{where} does not exist ({doing}: {message}).",
                key="defaultDataset",
                fix="Create the dataset, or name another one.",
            )
        case HTTPStatus.FORBIDDEN if reasons.isdisjoint(_RETRIABLE_REASONS):
            return _refused_access(where, doing, message)
        case HTTPStatus.UNAUTHORIZED:
            return ConfigError(
                f"{where} does not know the credentials, {doing}.", key="keyfile", fix="Check keyfile and keySource."
            )
        case HTTPStatus.CONFLICT | HTTPStatus.PRECONDITION_FAILED:
            return RetriableError(f"{where}, {doing}: somebody else changed it meanwhile: {message}.")
        case code if code in _PASSING_CODES or code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return _passing(where, doing, message)
    return _refused(where, doing, reasons, message)


def _refused_access(where: str, doing: str, message: str) -> RefusedAccessError:
    fix = "Give the account the roles BigQuery Data Editor on the dataset and BigQuery Job User on the project."
    if _ROW_ACCESS.search(message):
        fix = (
            "The table has row access policies, and rows are merged by an account that sees all of them: run CREATE "
            'ROW ACCESS POLICY connect_sink ON `PROJECT.DATASET.TABLE` GRANT TO ("serviceAccount:ACCOUNT") FILTER '
            "USING (TRUE)."
        )
    return RefusedAccessError(f"{where} refused access, {doing}: {message}.", key="keyfile", fix=fix)


def _passing(where: str, doing: str, message: str) -> RetriableError:
    fix = None
    if _PARTITION_QUOTA.search(message):
        fix = (
            "It passes within a day. Partition the table by longer times (timePartitioningType) or by another column "
            "(timestampPartitionFieldName), or write less often (dedup.merge.interval.ms)."
        )
    elif _STREAMING_BUFFER.search(message):
        fix = (
            "Rows that somebody streamed into the table cannot be changed yet: BigQuery takes them out of its "
            "streaming buffer within about 90 minutes, and it is tried until then."
        )
    return RetriableError(f"{where}, {doing}: {message}.", fix=fix)


def job_error(result: Mapping[str, Any], doing: str) -> ConnectError:
    """Return the error of `connect.api.errors` for a job that failed."""
    return _refused("BigQuery", doing, {str(result.get("reason", ""))}, _in_one_line(str(result.get("message", ""))))


def _refused(where: str, doing: str, reasons: AbstractSet[str], message: str) -> ConnectError:
    text = message.lower()
    if reasons & _RETRIABLE_REASONS or any(part in text for part in _RETRIABLE_TEXTS):
        return _passing(where, doing, message)
    if "notFound" in reasons:
        return RetriableError(f"{where}, {doing}: {message}. It is made again.")
    if "accessDenied" in reasons:
        return _refused_access(where, doing, message)
    return RefusedJobError(f"{where} refused {doing} ({', '.join(sorted(reasons)) or 'no reason given'}): {message}.")


def _in_one_line(message: str) -> str:
    """Return Google's message as part of a sentence, without the job's location and id, and without a full stop."""
    return " ".join(message.split()).rstrip(".")
