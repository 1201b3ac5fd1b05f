"""A target state that was left behind by a deleted connector does not hold up a new one of its name."""

import pytest
from cluster_fakes import eventually
from cluster_herders import SOURCE, create, is_running, states

from connect.cluster.model.config_records import TargetRecord, encode
from connect.cluster.model.connector_values import TargetState


@pytest.mark.parametrize("left", [TargetState.PAUSED, TargetState.STOPPED])
@pytest.mark.parametrize("how", ["create", "save"])
def test_a_new_connector_runs_whatever_was_said_of_a_deleted_one_of_its_name(world, herder, left, how):
    """A worker that has not read of the deletion yet may pause it."""
    create(herder)
    eventually(is_running(herder))
    herder.connectors.delete("s").result(60)
    world.configs.append(*encode(TargetRecord("s", left)))
    if how == "create":
        create(herder)
    else:
        herder.connectors.save("s", SOURCE).result(60)
    eventually(is_running(herder))


def test_a_change_of_a_connector_leaves_it_paused(herder):
    create(herder, initial=TargetState.PAUSED)
    eventually(lambda: states(herder) == ("PAUSED", []))
    herder.connectors.save("s", {**SOURCE, "x": "1"}).result(60)
    assert herder._parts.configs.snapshot.target("s") is TargetState.PAUSED
