"""HTTP basic authentication with the users of a properties file, as Kafka Connect's BasicAuthSecurityRestExtension.

The calls that workers sign themselves are exempt, as there: they are let in or refused by their own rules.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aiohttp import BasicAuth, hdrs, web
from aiohttp.typedefs import Middleware

from connect.api.errors import ConfigError
from connect.rest.server.answers import json_answer
from connect.rest.server.author import USER
from connect.rest.server.routing import Answer
from connect.runtime.settings.java_properties import parse_properties
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.settings.worker_rest_keys import BASIC_AUTH_FILE

_EXEMPT: Final = re.compile(r"POST /connectors/[^/]+/tasks/?|PUT /connectors/[^/]+/fence/?|GET /ui/figures/?")
_PROBED: Final = re.compile(r"(?:GET|HEAD) /health/?")
"""What asks whether a container lives has no password, and is told nothing else."""
UNKNOWN: Final = web.RequestKey("unknown", bool)
"""Set for a request without credentials that is answered all the same: it is told no more than it needs."""
REFUSED: Final = "User cannot access the resource."


def basic_auth(worker: WorkerConfig) -> Middleware | None:
    """None where no file of users is configured. ConfigError: the file cannot be used."""
    if not worker.rest_basic_auth_file:
        return None
    users = _users(Path(worker.rest_basic_auth_file))

    @web.middleware
    async def authenticate(request: web.Request, handler: Answer) -> web.StreamResponse:
        exempt = _EXEMPT.fullmatch(f"{request.method} {request.rel_url.raw_path}")
        # A browser asks before it sends a name and a password.
        preflight = request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
        user = _user(request.headers.get(hdrs.AUTHORIZATION), users)
        if user is not None:
            request[USER] = user
        elif _PROBED.fullmatch(f"{request.method} {request.rel_url.raw_path}"):
            request[UNKNOWN] = True
        if user is not None or exempt or preflight or UNKNOWN in request:
            return await handler(request)
        answer = json_answer({"error_code": 401, "message": REFUSED}, 401)
        answer.headers[hdrs.WWW_AUTHENTICATE] = 'Basic realm="KafkaConnect"'
        return answer

    return authenticate


def _user(header: str | None, users: Mapping[str, str]) -> str | None:
    if header is None:
        return None
    try:
        given = BasicAuth.decode(header, "utf-8")
    except ValueError:
        return None
    # Compared also for an unknown user, so that the time taken does not tell who exists.
    same = hmac.compare_digest(given.password.encode(), users.get(given.login, "").encode())
    return given.login if same and given.login in users else None


def _users(path: Path) -> Mapping[str, str]:
    try:
        users = parse_properties(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"File {path} of {BASIC_AUTH_FILE} does not exist.",
            key=BASIC_AUTH_FILE,
            fix="Write one `user=password` per line.",
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no properties file in UTF-8"
        raise ConfigError(f"File {path} of {BASIC_AUTH_FILE} cannot be read: {reason}.", key=BASIC_AUTH_FILE) from None
    if not users or not all(users.values()):
        raise ConfigError(
            f"File {path} of {BASIC_AUTH_FILE} has no users, or one without a password.",
            key=BASIC_AUTH_FILE,
            fix="Write one `user=password` per line; to let everybody in, leave the key out.",
        )
    return users
