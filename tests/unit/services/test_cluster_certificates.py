"""A certificate that has ended is told as that, and not as a scheduler that does not answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from examples.cluster.certificates import DAYS, write_certificates
from policy.errors import UsageError
from policy.trusted import Cluster
from services.cluster import _check_dates, _connected

BEGAN = datetime(2024, 2, 1, 12, tzinfo=UTC)


def cluster_of(folder: Path) -> Cluster:
    write_certificates(folder, ["127.0.0.1"], BEGAN)
    return Cluster("tls://127.0.0.1:1", *(folder / name for name in ("ca.pem", "node.pem", "node.key")))


def test_nobody_is_asked_with_a_certificate_that_has_ended(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught, _connected(cluster_of(tmp_path / "keys")):
        pass
    assert caught.value.message.endswith("ca.pem is valid from 2024-02-01 to 2025-01-31 only")
    assert caught.value.where == "engine"


@pytest.mark.parametrize("text", ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_file_without_a_certificate_that_can_be_read_is_told(text: str, tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path / "keys")
    cluster.ca.write_text(text)
    with pytest.raises(UsageError, match=r"no certificate can be read in .*ca\.pem"):
        _check_dates(cluster, BEGAN)


def test_it_is_valid_from_its_first_to_its_last_day(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path / "keys")
    for valid in (BEGAN, BEGAN + timedelta(days=DAYS)):
        _check_dates(cluster, valid)
    for day in (BEGAN - timedelta(hours=1), BEGAN + timedelta(days=DAYS, hours=1)):
        with pytest.raises(UsageError):
            _check_dates(cluster, day)
