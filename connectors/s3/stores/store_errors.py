"""Translates the errors of a store: tells if a request is to be tried again, and which setting to change."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.s3.settings.credentials import BRINGS_BOTOCORE, Keys
from connectors.s3.stores.access_errors import RefusedAccessError, WrongKeysError

_CODE: Final = re.compile(r"<Code>([^<]{1,60})</Code>")
_STATUS: Final = re.compile(r"status code: (\d{3}[ A-Za-z]*)")
_HTTP: Final = re.compile(r"HTTP error: ([^\n]{1,200})")
_NO_BUCKET: Final = frozenset({"NoSuchBucket", "ContainerNotFound"})
_WRONG_KEYS: Final = {
    "InvalidAccessKeyId": "no account has this access key ID",
    "SignatureDoesNotMatch": "the secret key is not that of the access key ID",
}
# The last place where the client looks for keys is the machine's own service.
_NO_KEYS: Final = re.compile(r"/latest/(api/token|meta-data/)")
_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidToken"})
_RETRIABLE_CODES: Final = frozenset(
    {
        "SlowDown",
        "RequestTimeout",
        "InternalError",
        "ServiceUnavailable",
        "OperationAborted",
        "ExpiredToken",
        "ExpiredTokenException",
    }
)


@dataclass(frozen=True, slots=True)
class StoreErrors:
    """Translates the errors of the client of one bucket.

    `where` is the name of the bucket and its store in messages. `credentials` names the keys of the configuration that
    hold the credentials. `keys` is the provider that can give new access keys, or None if the keys are fixed.
    """

    where: str
    credentials: Sequence[str]
    keys: Keys | None
    _has_answered: threading.Event = field(default_factory=threading.Event, compare=False)

    def answered(self) -> None:
        """Note that the store answered a request, so that the client has found access keys if it looks for them."""
        self._has_answered.set()

    def translated(self, error: Exception) -> ConnectError:
        """Return RetriableError if the same request may succeed later, ConfigError if it needs other settings.

        Any other ConnectError means that the store refuses the request.
        """
        from obstore.exceptions import InvalidPathError

        if self.keys is not None and self.keys.failure is not None:
            return self.keys.failure
        if isinstance(error, InvalidPathError):
            return ConnectError(f"{self.where}: the object key is not valid: {error}", key="topics.dir")
        text = str(error)
        if self.keys is None and _NO_KEYS.search(text):
            if self._has_answered.is_set():
                return RetriableError(f"{self.where}: the machine's service gives no access keys now.")
            return ConfigError(
                f"{self.where}: no access keys were found on this worker.",
                key="s3.credentials.provider.class",
                fix="Give the worker's environment, container or instance keys, or set aws.access.key.id and "
                f"aws.secret.access.key. A profile file needs botocore. {BRINGS_BOTOCORE}",
            )
        code, status, http = (_first(pattern, text) for pattern in (_CODE, _STATUS, _HTTP))
        what = " ".join(part for part in (status, code) if part) or http or type(error).__name__
        return self._answered(status, code, what)

    def _answered(self, status: str, code: str, what: str) -> ConnectError:
        where = self.where
        if code in _NO_BUCKET or (status.startswith("404") and not code):
            return ConfigError(f"{where} does not exist.", key="s3.bucket.name", fix="Create it, or name another one.")
        if code in _EXPIRED and self.keys is not None:
            self.keys.forget()
            return RetriableError(f"{where} says that the access keys have expired ({what}); they are looked for anew.")
        if code.startswith("ExpiredToken"):
            return RetriableError(
                f"{where} says that the access keys have expired ({what}).",
                fix="Keys of the worker's environment are not looked for anew: give new ones, and restart the worker.",
            )
        if code in _WRONG_KEYS:
            fix = f"Check {' and '.join(self.credentials)}."
            reason = f"{where} refused access: {_WRONG_KEYS[code]} ({what})."
            return WrongKeysError(reason, key=self.credentials[0], fix=fix)
        if status.startswith(("401", "403")):
            return RefusedAccessError(
                f"{where} refused access ({what}).",
                key=self.credentials[0],
                fix=f"Check {' and '.join(self.credentials)}, and that they may list, get and put objects below "
                "topics.dir.",
            )
        is_client_fault = status.startswith("4") and not status.startswith(("408", "429"))
        if is_client_fault and code not in _RETRIABLE_CODES:
            return ConnectError(f"{where} refused a request ({what}).", fix="See the store's log for the reason.")
        return RetriableError(f"{where} is not reachable or has a fault of its own ({what}).")


def _first(pattern: re.Pattern[str], text: str) -> str:
    """Return the first group of the first match, or an empty text if there is no match."""
    found = pattern.search(text)
    return "" if found is None else found[1].strip()
