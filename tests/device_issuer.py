"""Runs an OpenID Connect issuer with the device grant, `oidc-provider` of Node.js, and does what a person does in a
browser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

import requests
from npm_program import npm_program
from playwright.sync_api import Browser

from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.supervised import SupervisedService

CLIENT_ID: Final = "commands"
AUDIENCE: Final = "connect"
RESOURCE: Final = "urn:connect"
MACHINES_SECRET: Final = "secret+of/machines"
"""The clients machines-basic and machines-post have it."""
_VERSION: Final = "9.13.3"


class DeviceIssuer(SupervisedService[str]):
    """Keeps the issuer. Its endpoint is the issuer's address. Its tokens are JWTs that are valid for
    `token_lasts_s`.
    """

    name: ClassVar[str] = "device-issuer"
    port_names: ClassVar[tuple[str, ...]] = ("http",)

    def __init__(self, token_lasts_s: int = 3600) -> None:
        super().__init__()
        self._token_lasts_s = token_lasts_s

    def prepare(self) -> None:
        _library()

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del folder, deadline_s
        script = Path(__file__).with_suffix(".mjs")
        return ["node", str(script), str(_library()), str(ports["http"]), str(self._token_lasts_s)]

    def _environ(self) -> Mapping[str, str]:
        return {}

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> str:
        del folder
        return f"http://{LOOPBACK}:{ports['http']}"

    def _answers(self, endpoint: str, timeout_s: float) -> bool:
        try:
            return requests.get(f"{endpoint}/.well-known/openid-configuration", timeout=timeout_s).ok
        except requests.ConnectionError:
            return False


def log_in_by_browser(browser: Browser, url: str, code: str, user: str) -> None:
    """Do what a person does to log in: open the address, type the code, give the user's name, and agree."""
    page = browser.new_page()
    page.goto(url)
    page.fill('input[name="user_code"]', code)
    page.click('button[type="submit"]')
    page.click('button[type="submit"]:has-text("Continue")')
    page.fill('input[name="login"]', user)
    page.fill('input[name="password"]', "any")
    page.click('button[type="submit"]')
    page.click('button[type="submit"]:has-text("Continue")')
    page.get_by_text("Sign-in Success").wait_for()
    page.close()


def _library() -> Path:
    return npm_program("oidc-provider", _VERSION, "oidc-provider/lib/index.js")


def refuse_by_browser(browser: Browser, url: str, code: str) -> None:
    """Open the address, type the code, and refuse the login as not one's own."""
    page = browser.new_page()
    page.goto(url)
    page.fill('input[name="user_code"]', code)
    page.click('button[type="submit"]')
    page.click('button[name="abort"]')
    page.get_by_text("was interrupted").wait_for()
    page.close()
