"""SASL exchanges with a real Kafka and with broker-lite: same answers, same closes."""

import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from broker_lite.testing import Broker
from tests.differential.client_logins import login, logins, over_tls
from tests.differential.compare_sasl import (
    SASL_SETTINGS,
    Step,
    cases,
    outcome,
    ports_and_settings,
    upsertion,
)
from tests.differential.sasl_over_tls import tls_listener
from tests.support.certificates import write_certificates
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka, free_port
from tests.support.toolchain import require

SEED, RANDOM_CASES = 1, 60
AT_ONCE = 16
"""Most of an exchange is waiting: for a close that does not come."""
TLS_SHARE = 8  # so many exchanges have one over TLS


def make_carol(port: int) -> None:
    with RawClient("127.0.0.1", port) as client:
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            new = upsertion("carol", mechanism, "carol-secret")
            answer = client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[new])
            assert answer.results[0].error_code == 0


@pytest.mark.kafka
@pytest.mark.slow
def test_x02_to_x37_as_kafka(tmp_path: Path) -> None:
    require("java", "mvn")
    sasl_port = free_port()
    files = write_certificates(tmp_path)
    tls_address, tls_settings = tls_listener(files)
    tls = ssl.create_default_context(cafile=files.ca)
    kafka = ReferenceKafka(
        tmp_path / "kafka",
        settings={**SASL_SETTINGS, **tls_settings},
        more_listeners=f",SASL://127.0.0.1:{sasl_port},{tls_address}",
        is_short_lived=True,
    )
    plain_port, our_port, our_settings = ports_and_settings()
    our_tls_address, _ = tls_listener(files)
    for name in ("listeners", "advertised.listeners"):
        our_settings[name] += f",{our_tls_address}"
    our_settings.update(tls_settings)
    now = int(time.time())

    def compare(steps: list[Step]) -> tuple[list[Step], object, object]:
        return steps, outcome(sasl_port, steps), outcome(our_port, steps)

    def compare_tls(steps: list[Step]) -> tuple[list[Step], object, object]:
        theirs, ours = (int(each.rpartition(":")[2]) for each in (tls_address, our_tls_address))
        return steps, outcome(theirs, steps, tls), outcome(ours, steps, tls)

    def compare_clients(properties: dict[str, str]) -> list[str]:
        ports = (sasl_port, our_port)
        tls_ports = (int(each.rpartition(":")[2]) for each in (tls_address, our_tls_address))
        secured = over_tls(properties, files.ca)
        return [login(port, properties) for port in ports] + [
            login(port, secured) for port in tls_ports
        ]

    with kafka, Broker(our_settings, port=plain_port), ThreadPoolExecutor(AT_ONCE) as pool:
        make_carol(kafka.port)
        make_carol(plain_port)
        told = list(pool.map(compare, cases(now, SEED, RANDOM_CASES)))
        told += pool.map(compare_tls, [*cases(now, SEED, 0)][::TLS_SHARE])
        clients = [*map(compare_clients, logins())]
    assert [one for one in told if one[1] != one[2]] == []
    assert len(told) > 200 + 200 / TLS_SHARE
    assert [len({*one}) for one in clients] == [1] * len(clients)
    assert [one[0] == "in" for one in clients] == [True] * 4 + [False] * 4
