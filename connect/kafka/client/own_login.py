"""Keeps the worker's own login from brokers, and from issuers of tokens, that only a connector names. It is pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from connect.api.errors import ConfigProblem

LOGIN_ADDRESSES: Final = "connector.client.config.login.addresses"
_LEADS: Final = ("bootstrap.servers", "sasl.oauthbearer.token.endpoint.url")
_MECHANISM: Final = "sasl.mechanism"
_NO_LOGIN: Final = frozenset({_MECHANISM, *_LEADS})


def without_login(own: Mapping[str, str], overrides: Mapping[str, str], allowed: str) -> dict[str, str]:
    """Return the worker's settings of a client, without its login where a connector's `overrides` lead elsewhere.

    `allowed`: what the worker's own file has under LOGIN_ADDRESSES.
    """
    if _elsewhere(own, overrides, allowed) is None:
        return dict(own)
    return {key: value for key, value in own.items() if not _is_login(key)}


def login_problems(
    own: Mapping[str, str], overrides: Mapping[str, str], prefix: str, allowed: str
) -> Iterator[ConfigProblem]:
    """Yield the override by which a client would say the worker's login to others, and has none of its own to say.

    `prefix`: what the keys begin with in the connector's configuration, as `producer.override.`.
    """
    key = _elsewhere(own, overrides, allowed)
    protocol = overrides.get("security.protocol", own.get("security.protocol", ""))
    if key is None or not protocol.strip().upper().startswith("SASL") or any(map(_is_login, overrides)):
        return
    if any(map(_is_login, own)):
        name, value = prefix + key, overrides[key]
        yield ConfigProblem(
            name,
            f"Invalid value {value} for configuration {name}: the worker's own login is not sent there. "
            f"Set {prefix}sasl.jaas.config, or, where it may be sent, add to the worker's own file: "
            f"{LOGIN_ADDRESSES}=…,{value}",
        )


def _elsewhere(own: Mapping[str, str], overrides: Mapping[str, str], allowed: str) -> str | None:
    """Return the override that names an address which neither the worker uses nor its file allows; None: none does."""
    known = _addresses(allowed)
    leads = (key for key in _LEADS if _addresses(overrides.get(key, "")) - _addresses(own.get(key, "")) - known)
    return next(leads, None)


def _addresses(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _is_login(key: str) -> bool:
    return key.startswith("sasl.") and key not in _NO_LOGIN
