"""Finds access keys in the places that the names of Amazon's and Confluent's Java classes stand for.

It uses botocore, which looks where Amazon's SDKs look: environment variables, the profile file, tokens, the container,
the instance. Keys that expire are renewed. Where botocore is not installed, the store's client looks in the same places
but the profile file.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.s3.settings.classes import simple_name

if TYPE_CHECKING:
    from connectors.s3.settings.bucket_config import BucketConfig

BRINGS_BOTOCORE: Final = "Run: pip install 'connect-for-kafka[s3-aws]'."
_GOOD_FOR: Final = timedelta(seconds=60)
"""The store's client asks for the keys again after this time. botocore renews keys before they expire."""
DEFAULT: Final = "DefaultCredentialsProvider"
_PROVIDERS: Final[Mapping[str, tuple[str, ...]]] = {
    DEFAULT: (),
    "EnvironmentVariableCredentialsProvider": ("env",),
    "ProfileCredentialsProvider": ("shared-credentials-file", "config-file"),
    "WebIdentityTokenFileCredentialsProvider": ("assume-role-with-web-identity",),
    "ContainerCredentialsProvider": ("container-role",),
    "InstanceProfileCredentialsProvider": ("iam-role",),
}
"""Maps simple names of classes to botocore's providers; an empty tuple means all providers in botocore's order."""
_OTHER_NAMES: Final = {
    "DefaultAWSCredentialsProviderChain": DEFAULT,
    "WebIdentityTokenCredentialsProvider": "WebIdentityTokenFileCredentialsProvider",
    "EC2ContainerCredentialsProviderWrapper": "ContainerCredentialsProvider",
}
"""Maps class names of version 1 of Amazon's SDK to those of version 2."""
ROLE: Final = "AwsAssumeRoleCredentialsProvider"
STATIC: Final = ("BasicAWSCredentialsProvider", "AWSStaticCredentialsProvider", "StaticCredentialsProvider")
ANONYMOUS: Final = "AnonymousCredentialsProvider"
KNOWN: Final = frozenset({*_PROVIDERS, *_OTHER_NAMES, *STATIC, ROLE, ANONYMOUS})
"""Holds the simple names of all known classes of credentials providers."""


def has_botocore() -> bool:
    """Return True if botocore is installed, without which a few settings are refused."""
    return importlib.util.find_spec("botocore") is not None


def beyond_the_client(config: BucketConfig) -> Iterator[str]:
    """Yield the settings that the store's client has nothing for, so that they need botocore."""
    name = _provider_name(config)
    if name == ROLE or (not config.access_key_id and name not in {*STATIC, ANONYMOUS, DEFAULT}):
        yield "s3.credentials.provider.class"
    if config.acl_canned:
        yield "s3.acl.canned"


def is_anonymous(config: BucketConfig) -> bool:
    """Return True if requests are not signed."""
    return not config.access_key_id and _provider_name(config) in {*STATIC, ANONYMOUS}


def provider_of(config: BucketConfig) -> Keys | None:
    """Return the source of access keys.

    It is None if the configuration has the keys, requests are not signed, or the store's client looks for keys itself.
    """
    name = _provider_name(config)
    if name == ROLE:
        return Keys(lambda: _role(config))
    if config.access_key_id or name in {*STATIC, ANONYMOUS} or (name == DEFAULT and not has_botocore()):
        return None
    return Keys(lambda: _found(name, _PROVIDERS[name]))


def _provider_name(config: BucketConfig) -> str:
    name = simple_name(config.credentials_provider)
    return _OTHER_NAMES.get(name, name)


@dataclass(slots=True)
class Keys:
    """Finds access keys by botocore, at the first request. It is called by one thread at a time.

    `failure` is the error of the last call, or None if it found keys. It is kept here, as the store's client only tells
    that there was an exception.
    """

    find: Callable[[], Any]
    failure: ConnectError | None = None
    _credentials: Any = None

    def forget(self) -> None:
        """Forget the keys, as the store says that they have expired. The next call looks for them again."""
        self._credentials = None

    def __call__(self) -> Any:
        """Return the present keys as obstore takes them: access_key_id, secret_access_key, token, expires_at."""
        from botocore.exceptions import BotoCoreError, ClientError

        self.failure = None
        try:
            if self._credentials is None:
                self._credentials = self.find()
            keys = self._credentials.get_frozen_credentials()
        except ConfigError as error:
            self.failure = error
            raise
        except (BotoCoreError, ClientError) as error:
            self.failure = _failure(error)
            raise self.failure from error
        return {
            "access_key_id": keys.access_key,
            "secret_access_key": keys.secret_key,
            "token": keys.token,
            "expires_at": datetime.now(UTC) + _GOOD_FOR,
        }


def _failure(error: Exception) -> ConnectError:
    from botocore import exceptions
    from botocore.exceptions import ClientError

    if isinstance(error, exceptions.ConnectionError | exceptions.HTTPClientError):
        return RetriableError(f"Access keys could not be asked for ({type(error).__name__}).")
    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else type(error).__name__
    return ConfigError(
        f"Access keys were refused ({code}).",
        key="s3.credentials.provider.class",
        fix="Check the role, its external id and who may assume it.",
    )


def _found(name: str, methods: tuple[str, ...]) -> Any:
    session = _session()
    if methods:
        resolver = session.get_component("credential_provider")
        found = next((keys for m in methods if (keys := resolver.get_provider(m).load()) is not None), None)
    else:
        found = session.get_credentials()
    if found is None:
        raise ConfigError(
            f"{name} found no access keys on this worker.",
            key="s3.credentials.provider.class",
            fix="Provide what it reads, or set aws.access.key.id and aws.secret.access.key.",
        )
    return found


def _role(config: BucketConfig) -> Any:
    from functools import partial

    from botocore.credentials import AssumeRoleCredentialFetcher, Credentials, DeferredRefreshableCredentials

    session = _session()
    if config.access_key_id:
        source = Credentials(config.access_key_id, config.secret_access_key.get_secret_value())
    else:
        source = _found(DEFAULT, ())
    asked = {
        "RoleSessionName": config.role_session_name,
        "ExternalId": config.role_external_id,
        "DurationSeconds": config.role_session_s,
    }
    fetcher = AssumeRoleCredentialFetcher(
        partial(
            session.create_client,
            region_name=config.sts_region or config.region,
            endpoint_url=config.sts_endpoint or None,
        ),
        source,
        config.role_arn,
        extra_args={name: value for name, value in asked.items() if value},
    )
    return DeferredRefreshableCredentials(method="assume-role", refresh_using=fetcher.fetch_credentials)


def _session() -> Any:
    try:
        from botocore.session import Session
    except ImportError as error:
        raise ConfigError(
            "Access keys of this class are looked up by botocore, which is not installed.",
            key="s3.credentials.provider.class",
            fix=BRINGS_BOTOCORE,
        ) from error
    return Session()
