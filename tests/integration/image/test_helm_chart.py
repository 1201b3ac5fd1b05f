"""Checks what Helm makes of the chart: objects that Kubernetes takes, and files that a worker and `connect` take.

Helm and the validator of Kubernetes' own schemas are built from their Go modules when they are not on the PATH, which
takes minutes. The schemas of Kubernetes, and those of the Prometheus operator, come from their Go modules too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from go_modules import module_folder, tool

from connect.cli.agent import agent, read_agent_file
from connect.client.manifests import read_manifests
from connect.cluster.worker_file import read_worker_file, worker_config
from connect.plugins.catalog import Catalog

CHART = Path(__file__).parents[3] / "docker" / "helm"
VERSIONS = ("v1.35.4", "v1.36.3", "v1.37.2")
"""The newest versions of Kubernetes."""
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
HELD = "1.30"
"""The newest version whose schemas the validator holds: of others it asks GitHub, although it is given them."""
BROKERS = "bootstrapServers=kafka-0:9092,kafka-1:9092"
MORE = {
    "secret": {"name": "database", "asEnvironment": True},
    "connectors": {
        "orders/source": {"connector.class": "FileStreamSource", "tasks.max": 2, "batch.size": 1_000_000, "is": True},
        "lake": {"connector.class": "FileStreamSink", "password": "${file:/etc/connect/secret/d.properties:p}"},
    },
    "apply": {"prune": True, "tokenSecret": "editor"},
    "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"team": "data"}}}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "dashboards": {"enabled": True},
    "cassandraAgent": {
        "enabled": True,
        "config": {"topic.prefix": "changes.", "batch.max.rows": 1_000_000, "password": "${env:CASSANDRA_PASSWORD}"},
    },
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "data", "operator": "Exists"}],
    "podAnnotations": {"team": "data"},
}

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="session")
def schemas(tmp_path_factory) -> dict[str, Path]:
    """Folders of the schemas of each version of Kubernetes, laid out as the validator wants them."""
    folders = {version: tmp_path_factory.mktemp(version) for version in VERSIONS}
    for version, folder in folders.items():
        held = module_folder(f"k8s.io/kubernetes@{version}") / "api/openapi-spec/v3"
        for file in (*held.glob("api__*.json"), *held.glob("apis__*__*.json")):
            path = folder / (file.name.removesuffix("_openapi.json").replace("__", "/") + ".json")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, path)
    return folders


@pytest.fixture(scope="session")
def definitions() -> Path:
    """The folder of the Prometheus operator's own kinds."""
    return module_folder(OPERATOR) / "example/prometheus-operator-crd"


@pytest.fixture(scope="session")
def helm() -> str:
    return tool("helm", "helm.sh/helm/v3/cmd/helm@v3.22.0")


@pytest.fixture(scope="session")
def validator() -> str:
    return tool("kubectl-validate", "sigs.k8s.io/kubectl-validate@v0.0.4")


def run(*argv: str, code: int = 0) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, (argv, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stdout + done.stderr


def rendered(helm: str, folder: Path, values: dict, release: str = "shop") -> Path:
    (folder / "more.yaml").write_text(yaml.safe_dump(values))
    out = folder / "objects.yaml"
    out.write_text(run(helm, "template", release, str(CHART), "--kube-version", "1.33.0", "--set-string",
                       BROKERS.replace(",", "\\,"), "-f", str(folder / "more.yaml")))  # fmt: skip
    return out


def objects(file: Path) -> dict[tuple[str, str], dict]:
    found = [one for one in yaml.safe_load_all(file.read_text()) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


def test_the_chart_has_no_fault_of_helms(helm):
    run(helm, "lint", "--strict", str(CHART), "--set-string", BROKERS.replace(",", "\\,"))


@pytest.mark.parametrize("values", [{}, MORE], ids=["default", "everything"])
def test_kubernetes_takes_the_objects(helm, validator, schemas, definitions, tmp_path, values):
    file = rendered(helm, tmp_path, values)
    if values:
        with file.open("a") as more:
            more.write("---\n" + yaml.safe_dump(with_sidecar(objects(file))))
    given = ("--version", HELD, "--local-crds", str(definitions))
    for folder in schemas.values():
        run(validator, str(file), *given, "--local-schemas", str(folder))
        (tmp_path / "wrong.yaml").write_text(file.read_text().replace("resources:", "resource:"))
        assert "resource" in run(
            validator, str(tmp_path / "wrong.yaml"), *given, "--local-schemas", str(folder), code=1
        )  # fmt: skip


def with_sidecar(found: dict[tuple[str, str], dict]) -> dict:
    """A StatefulSet of Cassandra with the agent as `kubectl patch` merges it."""
    patch = yaml.safe_load(found["ConfigMap", "shop-connect-for-kafka-cassandra-agent"]["data"]["sidecar.yaml"])
    pod = patch["spec"]["template"]["spec"]
    node = {"name": "cassandra", "image": "cassandra:5.0"}
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "config", "configMap": {"name": "cassandra"}}]
    labels = {"app": "cassandra"}
    return {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "cassandra"},
        "spec": {"serviceName": "cassandra", "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [node, *pod["containers"]], "volumes": [*volumes, *pod["volumes"]]},
        }},
    }  # fmt: skip


def test_the_sidecar_starts_an_agent_with_the_files_that_it_mounts(helm, tmp_path, monkeypatch):
    found = objects(rendered(helm, tmp_path, MORE))
    data = found["ConfigMap", "shop-connect-for-kafka-cassandra-agent"]["data"]
    (container,) = yaml.safe_load(data["sidecar.yaml"])["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"]["runAsUser"] == 999
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["resources"]["limits"] == {"cpu": "1", "memory": "512Mi"}
    assert container["command"] == ["connect", "agent", "cassandra"]
    started: list[dict] = []
    monkeypatch.setattr(agent, "callback", lambda **given: started.append(given))
    assert CliRunner().invoke(agent, ["cassandra", *container["args"]]).output == ""
    (given,) = started
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {str(given["file"].parent), str(given["worker_file"].parent)} <= mounts
    (tmp_path / "agent.json").write_text(data["agent.json"])
    settings = read_agent_file(tmp_path / "agent.json", "cassandra")
    assert settings["batch.max.rows"] == "1000000"
    assert str(Path(settings["cassandra.yaml"]).parent) in mounts
    (monitor,) = (one for (kind, _), one in found.items() if kind == "PodMonitor")
    assert monitor["spec"]["podMetricsEndpoints"][0]["port"] == container["ports"][0]["name"]


def test_dashboards_are_those_of_the_repository(helm, tmp_path):
    found = objects(rendered(helm, tmp_path, MORE))
    held = {name: text for one in found.values() if "grafana_dashboard" in one["metadata"]["labels"]
            for name, text in one["data"].items()}  # fmt: skip
    folder = CHART.parent / "observability/grafana/dashboards"
    assert held == {file.name: file.read_text() for file in folder.glob("*.json")}


def test_a_worker_and_the_command_take_the_files(helm, tmp_path):
    found = objects(rendered(helm, tmp_path, MORE))
    file = tmp_path / "worker.properties"
    file.write_text(found["ConfigMap", "shop-connect-for-kafka-worker"]["data"]["worker.properties"])
    given = read_worker_file(file, {"rest.advertised.host.name": "10.0.0.1"})
    assert not given.notes
    assert list(worker_config(given.properties, Catalog.installed()).bootstrap_servers) == [
        "kafka-0:9092", "kafka-1:9092",
    ]  # fmt: skip

    folder = tmp_path / "connectors"
    folder.mkdir()
    for name, text in found["ConfigMap", "shop-connect-for-kafka-connectors"]["data"].items():
        (folder / name).write_text(text)
    assert {manifest.name: dict(manifest.config) for manifest in read_manifests([folder])} == {
        "orders/source": {
            "connector.class": "FileStreamSource", "tasks.max": "2", "batch.size": "1000000", "is": "true"
        },
        "lake": MORE["connectors"]["lake"],
    }  # fmt: skip


def test_workers_with_tls_are_asked_by_https(helm, tmp_path):
    monitor = {"enabled": True, "caSecret": "authority"}
    values = MORE | {"worker": {"listeners": "https://0.0.0.0:8443"}, "apply": {"caSecret": "authority"},
                     "serviceMonitor": monitor}  # fmt: skip
    found = objects(rendered(helm, tmp_path, values))
    name = "shop-connect-for-kafka"
    (worker,) = found["Deployment", name]["spec"]["template"]["spec"]["containers"]
    probes = [worker[kind]["httpGet"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert {(probe["scheme"], probe["port"]) for probe in probes} == {("HTTPS", "rest")}
    assert worker["ports"] == [{"name": "rest", "containerPort": 8443}]
    assert found["NetworkPolicy", name]["spec"]["ingress"][0]["ports"] == [{"port": 8443}]
    (endpoint,) = found["ServiceMonitor", name]["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    # Prometheus and other workers reach a pod by its address, and the certificate is for the Service.
    assert endpoint["tlsConfig"] == {"serverName": name, "ca": {"secret": {"name": "authority", "key": "ca.crt"}}}
    file = found["ConfigMap", f"{name}-worker"]["data"]["worker.properties"]
    assert f"rest.advertised.certificate.name={name}\n" in file
    (apply,) = found["Deployment", f"{name}-apply"]["spec"]["template"]["spec"]["containers"]
    given = {one["name"]: one["value"] for one in apply["env"]}
    assert given["CONNECT_URL"] == f"https://{name}:8083"
    mounts = [one["mountPath"] for one in apply["volumeMounts"]]
    assert str(Path(given["SSL_CERT_FILE"]).parent) in mounts


def test_whoever_asks_the_workers_may_log_in(helm, tmp_path):
    """A token ends, so the pod has it as a file, into which Kubernetes writes a Secret's new one."""
    name = "shop-connect-for-kafka"
    values = MORE | {"serviceMonitor": {"enabled": True, "tokenSecret": "viewer"}}
    found = objects(rendered(helm, tmp_path, values))
    pod = found["Deployment", f"{name}-apply"]["spec"]["template"]["spec"]
    (apply,) = pod["containers"]
    file = next(Path(one["value"]) for one in apply["env"] if one["name"] == "CONNECT_TOKEN_FILE")
    assert {"name": "login", "mountPath": str(file.parent), "readOnly": True} in apply["volumeMounts"]
    assert {"name": "login", "secret": {"secretName": "editor"}} in pod["volumes"]
    (endpoint,) = found["ServiceMonitor", name]["spec"]["endpoints"]
    assert endpoint["authorization"] == {"credentials": {"name": "viewer", "key": file.name}}

    values = MORE | {"apply": {"loginSecret": "ada"}, "serviceMonitor": {"enabled": True, "loginSecret": "bob"}}
    found = objects(rendered(helm, tmp_path, values))
    (apply,) = found["Deployment", f"{name}-apply"]["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one["valueFrom"]["secretKeyRef"] for one in apply["env"] if "valueFrom" in one} == {
        "CONNECT_USER": {"name": "ada", "key": "username"}, "CONNECT_PASSWORD": {"name": "ada", "key": "password"},
    }  # fmt: skip
    (endpoint,) = found["ServiceMonitor", name]["spec"]["endpoints"]
    assert endpoint["basicAuth"] == {
        "username": {"name": "bob", "key": "username"}, "password": {"name": "bob", "key": "password"},
    }  # fmt: skip


def test_a_workers_file_holds_values_as_they_are_given(helm, tmp_path):
    odd = {
        "a.lead": "  two spaces",
        "b.tab": "\tx\ty",
        "c.lines": "1\r\n2\n",
        "d.slash": "\\w+\\",
        "e.end": "x ",
        "f": "",
    }
    found = objects(rendered(helm, tmp_path, {"worker": odd, "env": {"HTTPS_PROXY": "http://proxy:3128"}}))
    file = tmp_path / "worker.properties"
    file.write_text(found["ConfigMap", "shop-connect-for-kafka-worker"]["data"]["worker.properties"])
    given = read_worker_file(file, {}).properties
    assert {key: given[key] for key in odd} == odd
    (worker,) = found["Deployment", "shop-connect-for-kafka"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "HTTPS_PROXY", "value": "http://proxy:3128"} in worker["env"]


@pytest.mark.parametrize("secret", [{}, {"name": "database"}])
def test_variables_that_the_pods_have_need_no_secret(helm, tmp_path, secret):
    keys = {"client.id": "${env:HOSTNAME}", "producer.client.rack": "${env:ZONE}"}
    found = objects(rendered(helm, tmp_path, {"worker": keys, "env": {"ZONE": "b"}, "secret": secret}))
    file = found["ConfigMap", "shop-connect-for-kafka-worker"]["data"]["worker.properties"]
    assert "producer.client.rack=${env:ZONE}\n" in file


@pytest.mark.parametrize("release", ["shop.eu", "7", "a" * 53, "true", "0x1f", "1e5"])
def test_names_are_those_that_kubernetes_takes(helm, tmp_path, release):
    """A Service's name is a label of letters, digits and dashes that begins with a letter; no name is a number."""
    found = objects(rendered(helm, tmp_path, MORE | {"secret": {"name": "123", "asEnvironment": True}}, release))
    (service,) = (name for kind, name in found if kind == "Service")
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", service)
    for one in found.values():
        assert {type(value) for value in one["metadata"]["labels"].values()} == {str}
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == release
    pod = found["Deployment", service]["spec"]["template"]["spec"]
    assert pod["containers"][0]["envFrom"] == [{"secretRef": {"name": "123"}}]
    assert {"name": "secret", "secret": {"secretName": "123"}} in pod["volumes"]


def test_pods_have_no_rights_and_write_nothing(helm, tmp_path):
    found = objects(rendered(helm, tmp_path, MORE))
    pods = [one["spec"]["template"]["spec"] for (kind, _), one in found.items() if kind == "Deployment"]
    assert len(pods) == 2
    for pod in pods:
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"bootstrapServers": ""}, "bootstrapServers"),
        ({"bootstrapServers": "kafka:9092", "replica": 2}, "replica"),
        (
            {"bootstrapServers": "kafka:9092", "worker": {"a": "${file:/etc/connect/secret/d.properties:p}"}},
            "worker names ${file:/etc/connect/secret/d.properties:p}, and secret.name is empty",
        ),
        (
            {
                "bootstrapServers": "kafka:9092",
                "secret": {"name": "database"},
                "cassandraAgent": {"config": {"password": "${env:P}"}},
            },
            "${env:P} is named, and the Secret database gives no variables: set secret.asEnvironment=true",
        ),
        (
            {"bootstrapServers": "kafka:9092", "worker": {"rest.basic.auth.file": "/etc/connect/secret/users"}},
            "worker names /etc/connect/secret/users, and secret.name is empty",
        ),
        (
            {"bootstrapServers": "kafka:9092", "env": {"P": "x"}, "cassandraAgent": {"config": {"p": "${env:P}"}}},
            "cassandraAgent.config names ${env:P}, and secret.name is empty",
        ),
        ({"bootstrapServers": "kafka:9092", "connectors": {"a": {"tasks.max": 1}}}, "connector.class"),
        (
            {"bootstrapServers": "kafka:9092", "connectors": {"a": {"connector.class": "A", "ms": 2**63 - 1}}},
            "connectors.a.ms is a number with more digits than Helm keeps: write it in quotes",
        ),
        (
            {
                "bootstrapServers": "kafka:9092",
                "connectors": {"a": {"connector.class": "A"}},
                "apply": {"configMap": "theirs"},
            },
            "connectors and apply.configMap=theirs are both given",
        ),
        (
            {"bootstrapServers": "kafka:9092", "worker": {"listeners": "0.0.0.0"}},
            "worker.listeners begins with 0.0.0.0",
        ),
        (
            {
                "bootstrapServers": "kafka:9092",
                "worker": {"listeners": "https://:8443", "listeners.https.ssl.client.auth": "required"},
            },
            "the probes of Kubernetes have none: set listeners.https.ssl.client.auth=requested",
        ),
        ({"bootstrapServers": "kafka:9092", "worker": {"a:b": "c"}}, "a:b"),
        ({"bootstrapServers": "kafka:9092", "env": {"A-B": "c"}}, "A-B"),
        # A key whose members are all comments is null, which takes the chart's own values away.
        *(({"bootstrapServers": "kafka:9092", name: None}, name) for name in ("worker", "secret", "image", "apply")),
        ({"bootstrapServers": "kafka:9092", "groupId": None}, "groupId"),
        # A bare `on` or `y` is true to Helm, as a key, too.
        ({"bootstrapServers": "kafka:9092", "connectors": {"a": {"connector.class": "A", True: "x"}}}, "'true'"),
        ({"bootstrapServers": "kafka:9092", "cassandraAgent": {"config": {True: "x"}}}, "'true'"),
        ({"bootstrapServers": "kafka:9092", "nodeSelector": {"gpu": True}}, "nodeSelector/gpu"),
        ({"bootstrapServers": "kafka:9092", "imagePullSecrets": [{"name": 7}]}, "imagePullSecrets/0/name"),
        ({"bootstrapServers": "kafka:9092", "image": {"tag": "1 #2"}}, "image/tag"),
        ({"bootstrapServers": "kafka:9092", "podDisruptionBudget": {"maxUnavailable": "half"}}, "maxUnavailable"),
        ({"bootstrapServers": "kafka:9092", "podAnnotations": {"checksum/worker": "x"}}, "checksum/worker"),
        (
            {"bootstrapServers": "kafka:9092", "serviceMonitor": {"labels": {"helm.sh/chart": "x"}}},
            "helm.sh/chart",
        ),
        (
            {"bootstrapServers": "kafka:9092", "cassandraAgent": {"dataVolume": {"name": "d", "mountPath": "/a: b"}}},
            "dataVolume/mountPath",
        ),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_installed(helm, tmp_path, values, said):
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(values))
    told = run(
        helm, "template", "shop", str(CHART), "--kube-version", "1.33.0", "-f", str(tmp_path / "wrong.yaml"), code=1
    )
    assert said in told
    assert "nil pointer" not in told
