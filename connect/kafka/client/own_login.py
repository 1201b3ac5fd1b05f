"""Protects the worker's own login at brokers and token issuers from a connector's overrides. Pure.

An override may name other addresses, or weaken the connection so that others on the way could read the login.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from connect.api.errors import ConfigProblem

LOGIN_ADDRESSES: Final = "connector.client.config.login.addresses"
_BROKERS: Final = "bootstrap.servers"
_LEADS: Final = (_BROKERS, "sasl.oauthbearer.token.endpoint.url")
_KERBEROS: Final = "GSSAPI"
_MECHANISM: Final = "sasl.mechanism"
_PROTOCOL: Final = "security.protocol"
_CHECKS: Final = MappingProxyType({
    "ssl.endpoint.identification.algorithm": ("", "none"), "enable.ssl.certificate.verification": ("false", "f", "0"),
})  # fmt: skip
"""Maps the settings that check a broker's certificate to the values that switch the check off."""
_CERTIFICATES: Final = (
    "ssl.truststore.certificates", "ssl.truststore.location", "ssl.ca.pem", "ssl.ca.location", "https.ca.location",
    "https.ca.pem",
)  # fmt: skip
_NO_LOGIN: Final = frozenset({_MECHANISM, "sasl.kerberos.service.name", *_LEADS})


def without_login(own: Mapping[str, str], overrides: Mapping[str, str], allowed: str) -> dict[str, str]:
    """Return the worker's settings of a client, without its login where a connector's `overrides` would expose it.

    `allowed` is the value of LOGIN_ADDRESSES in the worker's own file.
    """
    if _exposing(own, overrides, allowed) is None:
        return dict(own)
    return {key: value for key, value in own.items() if not _is_login(key)}


def login_problems(
    own: Mapping[str, str], overrides: Mapping[str, str], prefix: str, allowed: str
) -> Iterator[ConfigProblem]:
    """Yield the override by which others would get the worker's login, if the client has no login of its own.

    `prefix` is the beginning of the keys in the connector's configuration, such as `producer.override.`.
    """
    key = _exposing(own, overrides, allowed)
    if key is None or not _protocol({**own, **overrides}).startswith("SASL") or any(map(_is_login, overrides)):
        return
    if any(map(_is_login, own)):
        name, leads = prefix + key, key in _LEADS
        where = overrides[key] if leads else overrides.get(_BROKERS, own.get(_BROKERS, ""))
        shown = "" if key in _CERTIFICATES else f" {overrides[key]}"
        yield ConfigProblem(
            name,
            f"Invalid value{shown} for configuration {name}: the worker's own login is not sent "
            f"{'there' if leads else 'so, as others could read it, which the settings of the worker rule out'}. "
            f"Set {prefix}sasl.jaas.config, or, where it may be sent, add to the worker's own file: "
            f"{LOGIN_ADDRESSES}=…,{where}",
        )


def _exposing(own: Mapping[str, str], overrides: Mapping[str, str], allowed: str) -> str | None:
    """Return the override by which others could get the worker's login, or None."""
    return _elsewhere(own, overrides, allowed) or _weakening(own, overrides, allowed)


def _weakening(own: Mapping[str, str], overrides: Mapping[str, str], allowed: str) -> str | None:
    """Return an override that makes connections to the worker's own brokers or issuer less safe, or None.

    Kerberos is left out, as no server on the way gets anything that it could use elsewhere.
    """
    merged = {**own, **overrides}
    mechanism = merged.get(_MECHANISM, _KERBEROS).strip().upper()
    if mechanism == _KERBEROS or _addresses(merged.get(_BROKERS, "")) <= _addresses(allowed):
        return None
    protocol = _protocol(merged)
    if protocol == "SASL_PLAINTEXT" != _protocol(own):
        return _PROTOCOL
    if mechanism == "PLAIN" != own.get(_MECHANISM, "PLAIN").strip().upper():
        return _MECHANISM
    if protocol != "SASL_SSL":
        return None
    for key, off in _CHECKS.items():
        if _is_off(overrides, key, off) and not _is_off(own, key, off):
            return key
    return next((key for key in _CERTIFICATES if key in overrides and overrides[key] != own.get(key)), None)


def _protocol(settings: Mapping[str, str]) -> str:
    return settings.get(_PROTOCOL, "PLAINTEXT").strip().upper()


def _is_off(settings: Mapping[str, str], key: str, off: Collection[str]) -> bool:
    return key in settings and settings[key].strip().lower() in off


def _elsewhere(own: Mapping[str, str], overrides: Mapping[str, str], allowed: str) -> str | None:
    """Return an override with an address that the worker does not use and its file does not allow, or None."""
    known = _addresses(allowed)
    leads = (key for key in _LEADS if _addresses(overrides.get(key, "")) - _addresses(own.get(key, "")) - known)
    return next(leads, None)


def _addresses(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _is_login(key: str) -> bool:
    return key.startswith("sasl.") and key not in _NO_LOGIN
