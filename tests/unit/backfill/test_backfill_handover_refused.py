"""A handover that is refused says what to do, by commands and by requests that are allowed."""

from types import SimpleNamespace

import pytest

from connect.backfill.handover import require_stopped
from connect.backfill.job.job import Job
from connect.backfill.job.states import JobState, JobStateError


@pytest.mark.parametrize(
    ("state", "standing", "fix"),
    [
        (JobState.PAUSED, None, "PUT /backfills/orders/resume"),
        (JobState.CANCELLED, None, "Begin again under another name"),
        (JobState.COPIED, ("RUNNING", 1), "PUT /connectors/shop/stop"),
        (JobState.COPIED, None, 'POST /connectors with "initial_state": "STOPPED"'),
    ],
)
def test_a_job_or_connector_in_another_state_is_told_with_what_to_do(state, standing, fix):
    spec = {"apiVersion": "backfill/v1", "name": "orders", "source": {"connector": "shop"}}
    job = Job(spec, state, "", 1, 1, 1, (), (), (), 0, 0)
    connectors = SimpleNamespace(source=object())
    ownership = SimpleNamespace(require_known=lambda: job)
    driver = SimpleNamespace(ownership=ownership, settings=SimpleNamespace(name="shop"), connectors=connectors)
    with pytest.raises(JobStateError) as refused:
        require_stopped(SimpleNamespace(standing=lambda _name: standing), driver)
    assert fix in str(refused.value)
    assert ("`connect backfill run`" in str(refused.value)) is False
