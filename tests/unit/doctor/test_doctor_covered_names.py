"""The doctor finds a listener whose certificate is for another host than the one by which others reach it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from doctor_faults import KEYS

from connect.rest.certificates.covered_names import uncovered_names
from connect.runtime.settings.worker_config import WorkerConfig


def _found(folder: Path, names: list[str], *, not_after: datetime | None = None, **keys: str) -> list[tuple[str, ...]]:
    path = folder / "identity.pem"
    trustme.CA().issue_cert(*names, not_after=not_after).private_key_and_cert_chain_pem.write_to_path(str(path))
    given = {"listeners": "https://127.0.0.1:8443", "listeners.https.ssl.keystore.location": str(path),
             "listeners.https.ssl.keystore.type": "PEM"}  # fmt: skip
    given |= {key.replace("_", "."): value for key, value in keys.items()}
    return [
        (one.listener, one.key, one.host, *one.covered) for one in uncovered_names(WorkerConfig.parse(KEYS | given))
    ]


def test_a_certificate_for_another_host_is_found_with_its_names(tmp_path: Path) -> None:
    assert _found(tmp_path, ["elsewhere.example", "10.0.0.7"]) == [
        (
            "https://127.0.0.1:8443",
            "listeners.https.ssl.keystore.location",
            "127.0.0.1",
            "elsewhere.example",
            "10.0.0.7",
        )
    ]


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["127.0.0.1"], {}),
        (["*.example.com"], {"rest_advertised_host_name": "worker-1.example.com"}),
        (["elsewhere.example"], {"rest_advertised_host_name": "elsewhere.example"}),
        (["elsewhere.example"], {"rest_advertised_certificate_name": "elsewhere.example"}),
        (["elsewhere.example"], {"listeners": "http://127.0.0.1:8083"}),
        (["elsewhere.example"], {"listeners": "http://127.0.0.1:8083,https://0.0.0.0:8443"}),
        (["elsewhere.example"], {"listeners_https_ssl_endpoint_identification_algorithm": ""}),
        (["127.0.0.1"], {"listeners_https_ssl_client_auth": "required",
                         "listeners_https_ssl_enabled_protocols": "TLSv1.2"}),
        (["elsewhere.example"], {"listeners_https_ssl_keystore_location": "/nowhere.pem"}),
    ],
    ids=["fits", "below", "advertised", "by one name", "http", "people's", "names do not count", "clients show theirs",
         "broken"],
)  # fmt: skip
def test_what_fits_or_is_told_elsewhere_is_no_finding(tmp_path: Path, names: list[str], keys: dict[str, str]) -> None:
    assert _found(tmp_path, names, **keys) == []


@pytest.mark.parametrize(
    "keys",
    [
        {"rest_advertised_host_name": "a.b.example.com"},
        {"rest_advertised_host_name": "a.other.example", "rest_advertised_certificate_name": "shop-connect"},
        {"rest_advertised_host_name": "worker.example.com", "rest_advertised_listener": "https",
         "listeners": "http://127.0.0.1:8083,https://0.0.0.0:8443"},
        {"listeners_https_ssl_client_auth": "required", "listeners_https_ssl_enabled_protocols": "TLSv1.2"},
        {"listeners": "https://0.0.0.0:8443"},
    ],
    ids=["two below", "by one name", "advertised", "clients show theirs", "all addresses"],
)  # fmt: skip
def test_each_way_to_be_reached_is_judged(tmp_path: Path, keys: dict[str, str]) -> None:
    [found] = _found(tmp_path, ["*.other.example"], **keys)
    assert found[3:] == ("*.other.example",)


def test_a_certificate_that_has_ended_is_judged_by_its_names_too(tmp_path: Path) -> None:
    ended = datetime.now(UTC) - timedelta(days=1)
    assert _found(tmp_path, ["127.0.0.1"], not_after=ended) == []
    assert len(_found(tmp_path, ["elsewhere.example"], not_after=ended)) == 1
