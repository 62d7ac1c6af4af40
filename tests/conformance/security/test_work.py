"""Clients that log in, each by all mechanisms that it has, over TLS and without; also TLS alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.clients import RUST_TIMEOUT_S, TIMEOUT_S, Builds
from tests.conformance.security.programs import run_cases
from tests.conformance.security.secured import (
    CLIENTS,
    MECHANISMS,
    SHORT,
    Secured,
    broker_lite,
    working_cases,
)

pytestmark = [
    pytest.mark.client,
    pytest.mark.slow,
    pytest.mark.timeout(RUST_TIMEOUT_S + TIMEOUT_S),
]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with broker_lite(tmp_path_factory.mktemp("secured") / "broker") as found:
        yield found


@pytest.mark.parametrize("client", CLIENTS)
def test_x01_x10_x22_x33_x38_clients_work(
    client: str, broker: Secured, builds: Builds, tmp_path: Path
) -> None:
    lines = [*working_cases(client, broker)]
    told, complaints = run_cases(client, builds, lines, tmp_path)
    all_well = {line.split()[0]: dict.fromkeys(CLIENTS[client].steps, "ok") for line in lines}
    for case in all_well:
        if case.endswith(SHORT):
            all_well[case].pop("transaction", None)
    assert told == all_well, complaints
    log = broker.log.read_text()
    renewed = {
        each
        for each in MECHANISMS
        if f"has authenticated again as User:{client} by {each}\n" in log
    }
    assert renewed == ({*MECHANISMS} if CLIENTS[client].renews else set())
    if not CLIENTS[client].renews:
        assert f"the session of User:{client} has ended" in log
