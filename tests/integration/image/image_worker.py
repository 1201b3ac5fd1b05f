"""Runs a worker in a container of an image, by the command of docker/compose.yaml with other addresses."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import requests
import yaml
from e2e_worker import WorkerProcess, wait_for
from image_build import ROOT, Image
from image_container import DATA, Container

SERVICE: Final = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]["worker-1"]


class ImageWorker(WorkerProcess):
    """Keeps one worker on a free port; `shared` is its folder /data."""

    def __init__(
        self, image: Image, folder: Path, shared: Path, bootstrap_servers: str, name: str, **more: str
    ) -> None:
        super().__init__(folder, bootstrap_servers, name, **{"allowed.paths": DATA, **more})
        self._image, self._shared = image, shared
        self.container: Container | None = None
        self.start_s = self.start_cpu_s = 0.0
        """What it took from the start of the container until REST answered."""

    def start(self, timeout_s: float = 120.0) -> None:
        """Start the worker, and return when it is healthy."""
        file, *options = SERVICE["command"]
        given = {key: f"--set={key}={value}" for key, value in self.properties.items()}
        replaced = {option.removeprefix("--set=").partition("=")[0] for option in options}
        assert replaced == {"bootstrap.servers", "rest.advertised.host.name"}
        arguments = [file, *given.values(), "--set=rest.advertised.host.name=127.0.0.1"]
        began_s = time.monotonic()
        with self.log_path.open("ab") as log:
            self.container = Container(self._image, self._shared, arguments, {"CONNECT_URL": self.url}, log)
        self._process = self.container  # type: ignore[assignment]  # it has the parts that are used of it
        wait_for(self._answers, timeout_s, "REST of the worker in a container")
        self.start_s, self.start_cpu_s = time.monotonic() - began_s, self.container.cpu_s()
        wait_for(self._begun, timeout_s, "the worker in a container")

    def is_healthy_by_the_image(self) -> bool:
        """Return the outcome of the image's HEALTHCHECK, run as an engine runs it."""
        assert self.container is not None
        kind, *command = self._image.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        return self.container.run(command).returncode == 0

    def _answers(self) -> bool:
        assert self.container is not None
        assert self.container.poll() is None, self.log_path.read_text()
        try:
            requests.get(f"{self.url}/health", timeout=60)
        except requests.ConnectionError:
            return False
        return True

    def _begun(self) -> bool:
        assert self.container is not None
        assert self.container.poll() is None, self.log_path.read_text()
        return self.healthy()


def shared_folder(path: Path) -> Path:
    """Make a folder that a container's user may write to."""
    path.mkdir(parents=True)
    path.chmod(0o777)
    return path
