"""Finds out who sends a request: a user with a password, with a token of the issuer, or with a client certificate.

The calls that workers sign themselves need no login, as in Kafka Connect: they have rules of their own.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from connect.api.errors import ConfigError
from connect.rest.access.certificate_users import CertificateUsers
from connect.rest.access.failed_logins import FailedLogins
from connect.rest.access.identity import NOBODY, UNASKED, Grants, Identity
from connect.rest.access.login_errors import LoginError, TooManyLoginsError
from connect.rest.access.password_users import REFUSED, PasswordUsers
from connect.rest.server.author import USER, certified_user, is_passed_on, origin_of
from connect.rest.server.errors import error_answer
from connect.rest.server.rights import DENIED, IDENTITY
from connect.rest.server.routing import Answer
from connect.rest.tls.contexts import asks_for_certificates
from connect.runtime.settings.role_grants import CERTIFICATE, EVERYONE, GROUP, OIDC
from connect.runtime.settings.worker_access_keys import ISSUER
from connect.runtime.settings.worker_config import WorkerConfig

if TYPE_CHECKING:
    from connect.rest.access.token_users import TokenUsers

log = logging.getLogger(__name__)
_EXEMPT: Final = re.compile(r"POST /connectors/[^/]+/tasks/?|PUT /connectors/[^/]+/fence/?|GET /ui/figures/?")
_PROBED: Final = re.compile(r"(?:GET|HEAD) /health(?:/ready)?/?")
"""Probes of containers are requests for these paths. They have no password, and are told only if the worker is well."""
UNKNOWN: Final = web.RequestKey("unknown", bool)
"""It is set for a request that is answered without credentials; such an answer tells no more than is needed."""
_BASIC: Final = 'Basic realm="KafkaConnect"'
_BEARER: Final = 'Bearer realm="KafkaConnect"'


class Login:
    """Knows the ways to log in that the worker's file allows."""

    def __init__(self, worker: WorkerConfig) -> None:
        """Read the settings. ConfigError: the file of users, or a key for tokens, cannot be used."""
        grants = Grants(worker)
        file, issuer = worker.rest_basic_auth_file, worker.rest_oidc_issuer
        self._passwords = PasswordUsers(Path(file), grants) if file else None
        self._tokens = _token_users(worker, issuer, grants) if issuer else None
        has_certificates = any(who.startswith(CERTIFICATE) for who in grants.users())
        self._certificates = CertificateUsers(grants) if has_certificates else None
        self._failed = FailedLogins()
        self._note_unknown(worker, grants)

    @property
    def is_asked_for(self) -> bool:
        """Return True when requests need credentials."""
        return any(users is not None for users in (self._passwords, self._tokens, self._certificates))

    async def identity(self, request: web.Request) -> Identity:
        """Return the user that the Authorization header or else the certificate names.

        LoginError: neither names a known user, or the address has sent too many wrong passwords.
        """
        header, address = request.headers.get(hdrs.AUTHORIZATION), origin_of(request)
        if header is None and self._certificates is not None:
            return self._certified(request, self._certificates)
        scheme, _, credentials = (header or "").partition(" ")
        if scheme.lower() == "bearer" and self._tokens is not None:
            return await self._tokens.identity(credentials.strip())
        if header is None or self._passwords is None:
            raise LoginError(REFUSED)
        self._failed.check(address)
        try:
            return self._passwords.identity(header)
        except LoginError:
            self._failed.count(address)
            raise

    def _certified(self, request: web.Request, users: CertificateUsers) -> Identity:
        # A worker that forwards a request shows its own certificate, and names the user whose certificate it saw.
        if is_passed_on(request):
            name = certified_user(request)
            found = None if name is None else users.named(name)
        else:
            found = users.identity(request)
        if found is None:
            raise LoginError(REFUSED)
        return found

    def challenges(self, header: str | None, why: LoginError) -> list[str]:
        """Return the WWW-Authenticate headers: the ways to log in, and for a token the reason why it was refused."""
        said = _BEARER
        if (header or "").lower().startswith("bearer ") and why.status == 401:
            said += f', error="invalid_token", error_description="{_quotable(why.message)}"'
        return [*([_BASIC] if self._passwords else []), *([said] if self._tokens else [])]

    def _note_unknown(self, worker: WorkerConfig, grants: Grants) -> None:
        names = self._passwords.names() if self._passwords is not None else ()
        for who in grants.users():
            by_token = who.startswith((GROUP, OIDC))
            if who.startswith(CERTIFICATE) and not asks_for_certificates(worker.originals):
                log.warning(
                    "%s has a role in the worker's file, but no https listener asks for certificates: set "
                    "listeners.https.ssl.client.auth=requested.",
                    who,
                )
            if by_token and self._tokens is None:
                log.warning("%s has a role in the worker's file, but without %s nobody logs in so.", who, ISSUER)
            if not by_token and not who.startswith(CERTIFICATE) and who != EVERYONE and who not in names:
                log.warning("%s has a role in the worker's file, but is no user of rest.basic.auth.file.", who)


def authentication(worker: WorkerConfig) -> Middleware:
    """Return the middleware that finds the user, and refuses requests without a needed login. ConfigError: a file or
    key for logins cannot be used.
    """
    login = Login(worker)

    @web.middleware
    async def authenticate(request: web.Request, handler: Answer) -> web.StreamResponse:
        if not login.is_asked_for:
            request[IDENTITY] = UNASKED
            return await handler(request)
        header = request.headers.get(hdrs.AUTHORIZATION)
        try:
            identity = await login.identity(request)
        except LoginError as error:
            if not _is_open(request):
                return _refusal(login, header, error)
            request[IDENTITY] = NOBODY
        else:
            request[IDENTITY], request[USER] = identity, identity.name
        answer = await handler(request)
        if DENIED in request and not answer.prepared:
            answer.headers[hdrs.WWW_AUTHENTICATE] = f'{_BEARER}, error="insufficient_scope"'
        return answer

    return authenticate


def _is_open(request: web.Request) -> bool:
    """Return True if a request is answered without credentials, and mark it if its answer has to tell less."""
    asked = f"{request.method} {request.rel_url.raw_path}"
    if _PROBED.fullmatch(asked):
        request[UNKNOWN] = True
        return True
    # A browser sends a preflight request before it sends a name and a password.
    is_preflight = request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
    return is_preflight or _EXEMPT.fullmatch(asked) is not None


def _refusal(login: Login, header: str | None, why: LoginError) -> web.Response:
    answer = error_answer(why.status, why.message)
    if isinstance(why, TooManyLoginsError):
        answer.headers[hdrs.RETRY_AFTER] = str(int(why.wait_s) + 1)
    if why.status == 401:
        for challenge in login.challenges(header, why):
            answer.headers.add(hdrs.WWW_AUTHENTICATE, challenge)
    return answer


def _quotable(text: str) -> str:
    """Return a text without the characters that a quoted value of a header may not hold."""
    return re.sub(r"[^ !#-\[\]-~]", "'", text)


def _token_users(worker: WorkerConfig, issuer: str, grants: Grants) -> TokenUsers:
    try:
        from connect.rest.access.token_users import TokenUsers
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{ISSUER} needs the package {error.name}.", key=ISSUER, fix="Run: pip install 'connect-for-kafka[oidc]'."
        ) from error
    return TokenUsers(worker, issuer, grants)
