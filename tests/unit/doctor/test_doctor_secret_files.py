"""The doctor tells of files with secrets that others than the worker's user may read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from doctor_faults import KEYS, SOUND

from connect.doctor.examination import examined
from connect.doctor.gathering.secret_file_facts import secret_file_facts
from connect.doctor.model.facts import SecretFile
from connect.runtime.settings.worker_config import WorkerConfig


@pytest.mark.parametrize(
    "key",
    ["rest.basic.auth.file", "listeners.https.ssl.keystore.location", "ssl.keystore.location",
     "producer.sasl.oauthbearer.assertion.private.key.file", "sasl.kerberos.keytab"],
)  # fmt: skip
def test_who_may_read_a_file_with_secrets_is_known(tmp_path: Path, key: str) -> None:
    path = tmp_path / "users"
    path.write_text("ada: secret", encoding="utf-8")
    worker = WorkerConfig.parse(KEYS | {key: str(path), "ssl.truststore.location": str(path)})
    for mode in (0o644, 0o600):
        path.chmod(mode)
        assert secret_file_facts(worker) == [SecretFile(key, str(path), mode, is_own=True, is_read_only=False)]
    path.unlink()
    assert secret_file_facts(worker) == []


def _found(mode: int, *, is_own: bool = True, is_read_only: bool = False) -> list[tuple[str, str]]:
    file = SecretFile("rest.basic.auth.file", "/etc/a b", mode, is_own, is_read_only)
    return [(one.severity.value, one.fix) for one in examined(replace(SOUND, secret_files=[file]))]


@pytest.mark.quick
def test_a_file_is_judged_by_who_else_may_read_it_and_who_can_change_that() -> None:
    mended = [("warning", "chmod 600 '/etc/a b'")]
    assert _found(0o644) == _found(0o640) == mended
    assert _found(0o600) == []
    # The group is that of the worker, as in packages of distributions.
    assert _found(0o640, is_own=False) == []
    [(severity, fix)] = _found(0o644, is_own=False)
    assert severity == "warning"
    assert fix.startswith("chown USER '/etc/a b' && chmod 600 '/etc/a b'")
    # Kubernetes mounts a secret so, and nobody else is in the container.
    assert _found(0o440, is_read_only=True) == []
    assert [severity for severity, _ in _found(0o644, is_own=False, is_read_only=True)] == ["note"]


def test_a_file_system_that_takes_no_change_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("ada: secret", encoding="utf-8")
    whole = os.statvfs(path)
    told = os.statvfs_result((*whole[:8], whole.f_flag | os.ST_RDONLY, *whole[9:]))
    monkeypatch.setattr(os, "statvfs", lambda _: told)
    [found] = secret_file_facts(WorkerConfig.parse(KEYS | {"rest.basic.auth.file": str(path)}))
    assert found.is_read_only
