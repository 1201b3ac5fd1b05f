"""Gets tokens from an OAuth issuer for requests to a schema registry.

Source of the settings: io.confluent.kafka.schemaregistry.client.SchemaRegistryClientConfig 8.3.
"""

from __future__ import annotations

from typing import Final

from connect.api.errors import RetriableError
from connect.convert.registry.config import RegistryConfig
from connect.lib.http_client import HttpClient
from connect.lib.oauth.client_credentials import ClientCredentials, NoTokenError, TokenCache

_ISSUER: Final = "bearer.auth.issuer.endpoint.url"


class TokenRefusedError(RetriableError):
    """Says that the issuer gives this worker no token. It is retriable, as it is never the fault of rows."""


class OAuthTokens:
    """Keeps the token in use, and asks for another one before it ends. Owned by one task thread."""

    def __init__(self, config: RegistryConfig, client: HttpClient) -> None:
        assert config.bearer_client_secret is not None, "checked by RegistryConfig"
        credentials = ClientCredentials(
            config.bearer_issuer,
            config.bearer_issuer.shown,
            config.bearer_client_id,
            config.bearer_client_secret.get_secret_value(),
            config.bearer_scope,
            spare_s=config.bearer_expiry_buffer_s,
        )
        self._cache = TokenCache(credentials, client)

    def token(self) -> str:
        """Return a token that is good for a while. RetriableError when the issuer gives none."""
        try:
            return self._cache.token()
        except NoTokenError as error:
            if error.is_refusal:
                raise TokenRefusedError(
                    f"The OAuth issuer {error}", key=_ISSUER,
                    fix="Check bearer.auth.client.id, bearer.auth.client.secret and bearer.auth.scope.",
                ) from None  # fmt: skip
            raise RetriableError(
                f"The OAuth issuer {str(error).replace(' does not answer', ' of the schema registry does not answer')}",
                key=_ISSUER, fix="Check the address and that the issuer runs.",
            ) from None  # fmt: skip

    def forget(self) -> None:
        """Forget the token, as the registry refused it; the next request asks for another one."""
        self._cache.forget()
