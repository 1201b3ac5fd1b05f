import json
import subprocess
import sys
from pathlib import Path

import pytest

from connect.tools.services import (
    KafkaEndpoint,
    KafkaService,
    S3Endpoint,
    SeaweedS3Service,
    Service,
    ServiceError,
    kafka,
    kafka_storage,
)
from connect.tools.services.login import Login


@pytest.mark.parametrize("service", [KafkaService(), SeaweedS3Service()], ids=lambda service: service.name)
def test_a_service_that_was_not_started_says_so_and_may_be_ended(service: Service[object]) -> None:
    for end in (service.stop, service.kill, service.close):
        end()
    assert not service.running
    with pytest.raises(ServiceError, match=r"was not started yet\. Call start\(\) first\."):
        _ = service.endpoint


def test_the_secret_is_not_in_the_repr() -> None:
    endpoint = S3Endpoint(url="http://127.0.0.1:1", access_key_id="id", secret_access_key="hidden")
    assert "hidden" not in repr(endpoint)


def test_a_node_with_a_login_asks_for_it_at_each_of_its_ports_and_tells_it_in_no_repr() -> None:
    login = Login("me", "hidden-1")
    asked = kafka.asking_for(login)
    own = kafka.server_properties({"broker": 1, "controller": 2}, data_folder=Path("/d"))
    names = [listener.partition(":")[0] for listener in own["listeners"].split(",")]
    assert names == ["PLAINTEXT", "CONTROLLER"]
    assert dict(pair.split(":") for pair in asked["listener.security.protocol.map"].split(",")) == dict.fromkeys(
        names, "SASL_PLAINTEXT"
    )
    for name in names:
        assert 'user_me="hidden-1"' in asked[f"listener.name.{name.lower()}.plain.sasl.jaas.config"]
    assert "hidden" not in repr(KafkaEndpoint("127.0.0.1:1", login))
    assert KafkaEndpoint("127.0.0.1:1").clients == {"bootstrap.servers": "127.0.0.1:1"}


def test_importing_the_services_imports_no_client_and_no_spark() -> None:
    program = "import json, sys, connect.tools.services; print(json.dumps(sorted(sys.modules)))"
    modules = json.loads(subprocess.check_output([sys.executable, "-c", program]))
    assert not {"confluent_kafka", "pyarrow", "pyspark", "boto3"} & set(modules)


def test_a_cluster_id_has_kafkas_form() -> None:
    ids = {kafka_storage.new_id() for _ in range(500)}
    assert {len(cluster_id) for cluster_id in ids} == {22}
    assert not any(cluster_id.startswith("-") for cluster_id in ids)


def test_three_nodes_can_be_told_of_each_other(tmp_path: Path) -> None:
    own = kafka.server_properties({"broker": 1, "controller": 2}, data_folder=tmp_path)
    overridden = {**own, "controller.quorum.voters": "1@127.0.0.1:2,2@127.0.0.1:3"}
    assert "controller.quorum.voters=1@127.0.0.1:2,2@127.0.0.1:3\n" in kafka_storage.as_properties(overridden)
    assert "auto.create.topics.enable" not in own
