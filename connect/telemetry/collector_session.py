"""Opens sessions to OpenTelemetry's collectors, with limits on answers and without redirects."""

from __future__ import annotations

from typing import Final

from requests import ConnectionError as NoConnectionError
from requests import Response, Session

from connect.lib.bounded_http import Limits
from connect.lib.bounded_requests import BoundedAdapter

_ANSWER_BYTES: Final = 1 << 20
_ANSWER_S: Final = 10.0


class CollectorSession(Session):
    """Sends spans and metrics to the collector that the environment names, and nowhere else."""

    def __init__(self) -> None:
        super().__init__()
        for scheme in ("http://", "https://"):
            self.mount(scheme, BoundedAdapter(Limits(whole_s=_ANSWER_S, answer_bytes=_ANSWER_BYTES)))

    def get_redirect_target(self, resp: Response) -> str | None:
        """Return None for an answer that is no redirect. Raise ConnectionError for one that is.

        Headers of the environment may hold a login, which only the collector may see. The exporter would take a
        redirect that is not followed for a success.
        """
        if not resp.is_redirect:
            return None
        raise NoConnectionError(f"The collector answers HTTP {resp.status_code}, a redirect, which is not followed.")
