"""What Helm makes of the chart: objects that Kubernetes takes, and files that a worker and `connect` take.

Helm and the validator of Kubernetes' own schemas are built from their Go modules when they are not on the PATH, which
takes minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from connect.client.manifests import read_manifests
from connect.cluster.worker_file import read_worker_file, worker_config
from connect.plugins.catalog import Catalog

CHART = Path(__file__).parents[3] / "docker" / "helm"
VERSIONS = ("1.31", "1.32", "1.33")
"""The newest versions of Kubernetes whose schemas the validator holds."""
BROKERS = "bootstrapServers=kafka-0:9092,kafka-1:9092"
MORE = {
    "secret": {"name": "database", "asEnvironment": True},
    "connectors": {
        "orders/source": {"connector.class": "FileStreamSource", "tasks.max": 2, "batch.size": 1_000_000, "is": True},
        "lake": {"connector.class": "FileStreamSink", "password": "${file:/etc/connect/secret/d.properties:p}"},
    },
    "apply": {"prune": True, "tokenSecret": "editor"},
    "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"team": "data"}}}]},
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "data", "operator": "Exists"}],
    "podAnnotations": {"team": "data"},
}

pytestmark = pytest.mark.chaos


def tool(name: str, module: str) -> str:
    """The path of a Go program, which is built where it is missing."""
    if found := shutil.which(name):
        return found
    folder = Path.home() / ".cache" / "connect-for-kafka" / "go"
    if not (folder / name).exists():
        go = shutil.which("go") or "/usr/local/go/bin/go"
        subprocess.run([go, "install", module], env={**os.environ, "GOBIN": str(folder)}, check=True, timeout=3000)
    return str(folder / name)


@pytest.fixture(scope="session")
def helm() -> str:
    return tool("helm", "helm.sh/helm/v3/cmd/helm@v3.19.2")


@pytest.fixture(scope="session")
def validator() -> str:
    return tool("kubectl-validate", "sigs.k8s.io/kubectl-validate@v0.0.4")


def run(*argv: str, code: int = 0) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, (argv, done.stdout, done.stderr)
    return done.stdout + done.stderr


def rendered(helm: str, folder: Path, values: dict) -> Path:
    (folder / "more.yaml").write_text(yaml.safe_dump(values))
    out = folder / "objects.yaml"
    out.write_text(run(helm, "template", "shop", str(CHART), "--kube-version", "1.33.0", "--set-string",
                       BROKERS.replace(",", "\\,"), "-f", str(folder / "more.yaml")))  # fmt: skip
    return out


def objects(file: Path) -> dict[tuple[str, str], dict]:
    found = [one for one in yaml.safe_load_all(file.read_text()) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


def test_the_chart_has_no_fault_of_helms(helm):
    run(helm, "lint", "--strict", str(CHART), "--set-string", BROKERS.replace(",", "\\,"))


@pytest.mark.parametrize("values", [{}, MORE], ids=["default", "everything"])
def test_kubernetes_takes_the_objects(helm, validator, tmp_path, values):
    file = rendered(helm, tmp_path, values)
    for version in VERSIONS:
        run(validator, str(file), "--version", version)


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
        ({"bootstrapServers": "kafka:9092", "connectors": {"a": {"tasks.max": 1}}}, "connector.class"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_installed(helm, tmp_path, values, said):
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(values))
    told = run(
        helm, "template", "shop", str(CHART), "--kube-version", "1.33.0", "-f", str(tmp_path / "wrong.yaml"), code=1
    )
    assert said in told
