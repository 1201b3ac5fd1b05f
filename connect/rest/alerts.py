"""Runs the alerts of a worker whose file names a webhook, as long as its application is served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from connect.alerts.alerting import Alerting
from connect.alerts.changes import Event
from connect.alerts.facts import Thresholds
from connect.alerts.leader_delivery import while_leading
from connect.alerts.webhook import Origin, Webhook
from connect.rest.figures.peers import Peers, scheme
from connect.rest.jobs.alert_watch import ALERTING, AlertWatch, Sources
from connect.rest.jobs.leading_terms import LeadingTerms
from connect.rest.resources.backfills import BACKFILLS
from connect.rest.server.answers import status_json
from connect.rest.server.context import CONTEXT
from connect.rest.server.forward import CLIENT


async def alerts(app: web.Application) -> AsyncIterator[None]:
    """Send alerts while this worker leads; do nothing if no webhook is named."""
    context = app[CONTEXT]
    worker, operations = context.worker, context.operations
    if not worker.alerts_webhook_url:
        yield
        return
    has_pages = bool(context.worker_id) and worker.rest_ui != "off"
    origin = Origin(worker.group_id, f"{scheme(worker)}://{context.worker_id}" if has_pages else "")
    secret = worker.alerts_webhook_secret
    webhook = Webhook(
        worker.alerts_webhook_url.get_secret_value(),
        worker.alerts_webhook_format,
        secret.get_secret_value() if secret else None,
        origin,
    )
    thresholds = Thresholds(
        worker.alerts_lag_records, worker.alerts_stalled_ms, worker.alerts_dead_letters, worker.alerts_budget_percent
    )
    terms = LeadingTerms(operations, context.worker_id)

    def waits(event: Event) -> bool:
        return alerting.outbox.waits(event)

    deliver = while_leading(terms.goes_on, webhook.deliver, waits)
    alerting = app[ALERTING] = Alerting(thresholds, operations.history, deliver)
    peers = Peers(context, app[CLIENT], scheme(worker))
    watch = AlertWatch(operations, alerting, terms, Sources(peers.figures, app[BACKFILLS].jobs, status_json))
    watching = asyncio.create_task(watch.run())
    yield
    watching.cancel()
    await asyncio.wait([watching])
    await asyncio.to_thread(alerting.outbox.close)
    webhook.close()
