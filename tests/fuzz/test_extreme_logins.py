"""A short share of tests.fuzz.extreme_logins: the APIs that took longest, and smaller frames."""

from pathlib import Path

import pytest

from tests.fuzz.extreme_logins import run

WRITE_TXN_MARKERS, ALTER_CLIENT_QUOTAS = 27, 49


@pytest.mark.slow
def test_p34_nobody_waits_for_a_large_request_during_a_login(tmp_path: Path) -> None:
    found = run(1, 300_000, tmp_path, [WRITE_TXN_MARKERS, ALTER_CLIENT_QUOTAS])
    assert found.faults == [], found.summary()
    assert found.outcomes
