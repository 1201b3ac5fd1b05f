"""Defines the types of settings whose text is a URL that may hold credentials.

The credentials are treated as passwords are: answers mask them, messages never have them, and if a client sends the
mask back, the stored credentials are kept. The rest of the URL is shown.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from connect.api.allowed import ConfigType
from connect.lib.secrets import Credentials, masked_setting
from connect.lib.setting_text import parse_list, parse_text


class UrlText(str):
    """Holds a URL that may have credentials. Its repr has none, and messages use `shown`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self.shown)

    @property
    def shown(self) -> str:
        """Return the URL with its secrets masked."""
        return masked_setting(str(self))


def _parse_url(value: object) -> object:
    text = parse_text(value)
    return UrlText(text) if isinstance(text, str) else text


def _parse_urls(value: object) -> object:
    found = parse_list(value)
    return tuple(UrlText(url) for url in found) if isinstance(found, tuple | list) else found


Url = Annotated[UrlText, ConfigType.STRING, Credentials(), BeforeValidator(_parse_url)]
"""This is the type of a setting that holds a URL. A default is an UrlText, too."""
Urls = Annotated[tuple[UrlText, ...], ConfigType.LIST, Credentials(), BeforeValidator(_parse_urls)]
"""This is the type of a setting that lists URLs."""
