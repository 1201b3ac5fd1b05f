"""Declares the worker's settings of who may do what by REST: tokens of an OpenID Connect issuer, and roles.

Parsing is elsewhere; no I/O here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import AfterValidator

from connect.api.config import Config, ListOf, String, key, non_empty
from connect.api.errors import ConfigProblem
from connect.runtime.settings.issuer_url import check_issuer_url
from connect.runtime.settings.role_grants import CERTIFICATE, Grant

ISSUER: Final = "rest.oidc.issuer"
AUDIENCE: Final = "rest.oidc.audience"
AUDIT_FILE: Final = "rest.audit.log.file"
AUDIT_TOPIC: Final = "rest.audit.topic"
ROLES: Final = "rest.roles."
_FORM: Final = (
    "Users, oidc:USER, group:NAME, certificate:NAME or * for everyone who logs in, each for all connectors or "
    "`on PATTERN`"
)


def _check_grants(value: tuple[str, ...]) -> tuple[str, ...]:
    for text in value:
        Grant.parse(text)
    return value


_issuer: Final = AfterValidator(check_issuer_url)
_grants: Final = AfterValidator(_check_grants)


class AccessKeys(Config):
    """Holds the worker's settings of tokens and roles."""

    rest_oidc_issuer: Annotated[String, _issuer] = key(
        ISSUER,
        None,
        doc="Issuer (OpenID Connect) of the bearer tokens that REST takes, as its tokens name it; its keys are read "
        "from there, and new ones when it has them.",
        importance="low",
    )
    rest_oidc_audience: ListOf = key(
        AUDIENCE, (), doc="Audiences, one of which a token has to be made for.", importance="low"
    )
    rest_oidc_user_claim: Annotated[String, non_empty] = key(
        "rest.oidc.user.claim", "sub", doc="Claim with the user's name, as preferred_username.", importance="low"
    )
    rest_oidc_groups_claim: Annotated[String, non_empty] = key(
        "rest.oidc.groups.claim",
        "groups",
        doc="Claim with the user's groups; dots lead into objects, as realm_access.roles.",
        importance="low",
    )
    rest_roles_viewer: Annotated[ListOf, _grants] = key(
        f"{ROLES}viewer", (), doc=f"{_FORM}: they may read.", importance="low"
    )
    rest_roles_operator: Annotated[ListOf, _grants] = key(
        f"{ROLES}operator",
        (),
        doc=f"{_FORM}: they may pause, resume, stop and restart, and set offsets, too.",
        importance="low",
    )
    rest_roles_editor: Annotated[ListOf, _grants] = key(
        f"{ROLES}editor",
        (),
        doc=f"{_FORM}: they may change configurations, evaluate them and run backfills, too.",
        importance="low",
    )
    rest_roles_admin: Annotated[ListOf, _grants] = key(
        f"{ROLES}admin", (), doc=f"{_FORM}: they may do everything, loggers included.", importance="low"
    )

    rest_audit_log_file: String = key(
        AUDIT_FILE,
        None,
        doc="File to which a JSON line is appended for each request that changes something or is refused: who, what, "
        "from where, which connectors, what came of it, and how their configurations changed.",
        importance="low",
    )
    rest_audit_topic: String = key(
        AUDIT_TOPIC,
        None,
        doc="Topic that gets the same lines, each once, by the worker that carried the request out. It is made where "
        "it is missing.",
        importance="low",
    )

    def access_problems(self, *, has_users: bool) -> Iterable[ConfigProblem]:
        """Yield the problems of settings that do not fit together. `has_users` says that there is a file of users."""
        given = [
            f"{ROLES}{role}"
            for role in ("viewer", "operator", "editor", "admin")
            if getattr(self, f"rest_roles_{role}")
        ]
        grants = [*self.rest_roles_viewer, *self.rest_roles_operator, *self.rest_roles_editor, *self.rest_roles_admin]
        by_certificate = any(text.strip().startswith(CERTIFICATE) for text in grants)
        if given and not has_users and not by_certificate and not self.rest_oidc_issuer:
            yield ConfigProblem(
                given[0],
                f"{', '.join(given)} give roles, but nobody can log in: set {ISSUER} or rest.basic.auth.file, or name "
                f"users of client certificates as {CERTIFICATE}NAME.",
            )
        if not self.rest_oidc_issuer:
            if self.rest_oidc_audience:
                yield ConfigProblem(AUDIENCE, f"{AUDIENCE} is set without {ISSUER}, so that no token is taken.")
            return
        if not self.rest_oidc_audience:
            yield ConfigProblem(
                AUDIENCE, f"{ISSUER} needs {AUDIENCE}: without it tokens for other services would be taken, too."
            )
        if not given:
            yield ConfigProblem(
                f"{ROLES}admin",
                f"{ISSUER} needs roles: set {ROLES}viewer, .operator, .editor or .admin. `*` is every user of the "
                "issuer.",
            )
