"""Declares how the HTTP sinks get OAuth tokens: by the keys of Confluent's connector, and by those of Aiven's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Final

from connect.api.config import ConnectorConfig, Password, String, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.url import Url, UrlText
from connect.lib.oauth.client_credentials import ClientCredentials

GROUP: Final = "OAuth"


class ConfluentOAuthKeys(ConnectorConfig):
    """Declares the keys of auth.type=OAUTH2."""

    token_url: Url = key("oauth2.token.url", UrlText(""), group=GROUP, doc="Where tokens are asked for.")
    client_id: String = key("oauth2.client.id", "", group=GROUP, doc="The client's id.")
    client_secret: Password | None = key("oauth2.client.secret", None, group=GROUP, doc="The client's secret.")
    client_scope: String = key("oauth2.client.scope", "any", group=GROUP, doc="The scope of tokens.")
    client_auth_mode: Annotated[String, one_of("header", "url", ignore_case=True)] = key(
        "oauth2.client.auth.mode", "header", group=GROUP,
        doc="Whether id and secret are sent in the header Authorization, or in the request's form (url).",
    )  # fmt: skip
    token_property: String = key(
        "oauth2.token.property", "access_token", group=GROUP, doc="The member of the answer that is the token.",
        harmless="the name of a member",
    )  # fmt: skip

    def credentials(self) -> ClientCredentials:
        """Return who asks for tokens, and where."""
        return _credentials(self)

    def oauth_problems(self) -> Iterator[ConfigProblem]:
        """Yield a problem for each key that tokens need and that is missing."""
        given = {
            "oauth2.token.url": self.token_url, "oauth2.client.id": self.client_id,
            "oauth2.client.secret": self.client_secret,
        }  # fmt: skip
        yield from _missing(given, "auth.type=OAUTH2")


class AivenOAuthKeys(ConnectorConfig):
    """Declares the keys of http.authorization.type=oauth2."""

    token_url: Url = key("oauth2.access.token.url", UrlText(""), group=GROUP, doc="Where tokens are asked for.")
    client_id: String = key("oauth2.client.id", "", group=GROUP, doc="The client's id.")
    client_secret: Password | None = key("oauth2.client.secret", None, group=GROUP, doc="The client's secret.")
    client_scope: String = key("oauth2.client.scope", "", group=GROUP, doc="The scope of tokens; empty: none.")
    client_auth_mode: Annotated[String, one_of("HEADER", "URL", ignore_case=True)] = key(
        "oauth2.client.authorization.mode", "HEADER", group=GROUP,
        doc="Whether id and secret are sent in the header Authorization, or in the request's form (URL).",
    )  # fmt: skip
    token_property: String = key(
        "oauth2.response.token.property", "access_token", group=GROUP, harmless="the name of a member",
        doc="The member of the answer that is the token.",
    )  # fmt: skip

    def credentials(self) -> ClientCredentials:
        """Return who asks for tokens, and where."""
        return _credentials(self)

    def oauth_problems(self) -> Iterator[ConfigProblem]:
        """Yield a problem for each key that tokens need and that is missing."""
        given = {
            "oauth2.access.token.url": self.token_url, "oauth2.client.id": self.client_id,
            "oauth2.client.secret": self.client_secret,
        }  # fmt: skip
        yield from _missing(given, "http.authorization.type=oauth2")


def _credentials(keys: ConfluentOAuthKeys | AivenOAuthKeys) -> ClientCredentials:
    secret = keys.client_secret.get_secret_value() if keys.client_secret is not None else ""
    return ClientCredentials(
        keys.token_url, keys.token_url.shown, keys.client_id, secret, keys.client_scope,
        in_header=keys.client_auth_mode.lower() == "header", property=keys.token_property,
    )  # fmt: skip


def _missing(given: Mapping[str, object], by: str) -> Iterator[ConfigProblem]:
    yield from (ConfigProblem(name, f"{by} needs {name}.") for name, value in given.items() if not value)
