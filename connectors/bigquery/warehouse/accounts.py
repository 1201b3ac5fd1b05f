"""Makes Google's credentials from a configuration. Nothing is sent before the first request needs a token."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError
from connectors.bigquery.settings.account_key import AccountKey, read_key
from connectors.bigquery.settings.config import BigQuerySinkConfig

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"


def credentials_of(config: BigQuerySinkConfig) -> Credentials:
    """Return the credentials of the sink's requests. Raise ConfigError if there are none."""
    from google.auth.credentials import AnonymousCredentials

    if config.insecure:
        return AnonymousCredentials()  # type: ignore[no-untyped-call]  # google-auth has no types
    found: Any = _own(config)
    if config.impersonated:
        from google.auth import impersonated_credentials

        found = impersonated_credentials.Credentials(  # type: ignore[no-untyped-call]  # google-auth has no types
            source_credentials=found, target_principal=config.impersonated, target_scopes=[_SCOPE]
        )
    if config.quota_project:
        found = found.with_quota_project(config.quota_project)
    credentials: Credentials = found
    return credentials


def _own(config: BigQuerySinkConfig) -> Credentials:
    """Return the credentials of the configuration, or of the worker, before another account is impersonated."""
    keyfile = config.keyfile.get_secret_value()
    if config.key_source.upper() == "JSON":
        return _from_key(read_key(keyfile), config.allowed)
    if keyfile and config.key_source.upper() == "FILE":
        return _from_key(read_key(_text_of(keyfile, config.allowed)), config.allowed)
    return _from_environment()


def _text_of(path: str, allowed: AllowedPaths) -> str:
    try:
        # The path is a secret, too.
        return allowed.read_bytes("keyfile", path, shown=False).decode("utf-8")
    except (OSError, ValueError):
        raise ConfigError(
            "The file that keyfile names cannot be read on this worker.",
            key="keyfile",
            fix="Put the service account's key there, readable for the worker, or set keySource=JSON.",
        ) from None


def _from_key(key: AccountKey, allowed: AllowedPaths) -> Credentials:
    from google.oauth2 import service_account

    if key.is_federated:
        allowed.require("keyfile", key.token_file, shown=False)
    try:
        if key.is_federated:
            return _federated(key, allowed)
        make: Any = service_account.Credentials.from_service_account_info
        credentials: Credentials = make(key.fields, scopes=[_SCOPE])
    except Exception:  # noqa: BLE001 - whatever is wrong with it, the text of the error may hold parts of the key
        raise ConfigError(
            f"The key in keyfile is no whole key of type {key.fields['type']}.",
            key="keyfile",
            fix="Take the JSON file that Google Cloud gives for a service account's key, or for workload identity.",
        ) from None
    return credentials


def _federated(key: AccountKey, allowed: AllowedPaths) -> Credentials:
    """Return credentials whose token's file is read anew, below allowed.paths, whenever Google's library asks."""
    from google.auth import identity_pool
    from google.auth.exceptions import RefreshError

    class TokenFile(identity_pool.SubjectTokenSupplier):
        """The file of the token that the worker's platform gives, and renews."""

        def get_subject_token(self, context: Any, request: Any) -> str:
            """Return the token of now."""
            del context, request
            try:
                text = allowed.read_bytes("keyfile", key.token_file, shown=False).decode("utf-8")
                return str(json.loads(text)[key.token_field]) if key.token_field else text
            except (OSError, ValueError, KeyError, TypeError):
                problem = "The file of credential_source.file in keyfile holds no token that can be read."
                raise RefreshError(problem) from None  # type: ignore[no-untyped-call]  # google-auth has no types

    fields = key.fields
    given = {n: fields[n] for n in ("token_info_url", "service_account_impersonation_url") if n in fields}
    make: Any = identity_pool.Credentials
    credentials: Credentials = make(
        audience=fields["audience"], subject_token_type=fields["subject_token_type"], token_url=fields["token_url"],
        subject_token_supplier=TokenFile(), scopes=[_SCOPE], **given,
    )  # fmt: skip
    return credentials


def _from_environment() -> Credentials:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except DefaultCredentialsError as error:
        raise ConfigError(
            "The worker's environment has no Google credentials.",
            key="keyfile",
            fix="Give a service account's key in keyfile, or set GOOGLE_APPLICATION_CREDENTIALS for the worker.",
        ) from error
    found: Credentials = credentials
    return found
