"""Signed tokens of OAUTHBEARER with a real Kafka and with broker-lite: the same are accepted."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from broker_lite.testing import Broker
from tests.differential.compare_sasl import Step, outcome
from tests.differential.signed_token_cases import (
    STRICT,
    algorithm_tokens,
    claim_tokens,
    exchange,
    key_set,
    more_exchanges,
    settings,
    strict_tokens,
)
from tests.support.reference_kafka import ReferenceKafka, free_port
from tests.support.toolchain import require

PROTOCOLS = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SIGNED:SASL_PLAINTEXT,STRICT:SASL_PLAINTEXT"
AT_ONCE = 24
"""Most of an exchange is waiting: for a close that does not come."""
Case = tuple[str, Callable[[int], list[Step]]]


def cases() -> list[Case]:
    """The name of a listener, and the steps of an exchange at a time in seconds."""
    plain = [*algorithm_tokens(), *claim_tokens()]
    more = len(list(more_exchanges(0)))
    return [
        *(("SIGNED", lambda now, token=token: exchange(token, now)) for token in plain),
        *(("STRICT", lambda now, token=token: exchange(token, now)) for token in strict_tokens()),
        *(("SIGNED", lambda now, n=n: list(more_exchanges(now))[n]) for n in range(more)),
    ]


@pytest.mark.kafka
@pytest.mark.slow
def test_x29_as_kafka(tmp_path: Path) -> None:
    require("java", "mvn")
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(key_set()))
    url = path.as_uri()
    common = {
        "listener.security.protocol.map": PROTOCOLS,
        **settings("SIGNED", url),
        **settings("STRICT", url, **STRICT),
    }
    theirs = {"SIGNED": free_port(), "STRICT": free_port()}
    kafka = ReferenceKafka(
        tmp_path / "kafka",
        settings=common,
        more_listeners="".join(f",{name}://127.0.0.1:{port}" for name, port in theirs.items()),
        is_short_lived=True,
        java_options=[f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}"],
    )
    ours = {"PLAINTEXT": free_port(), "SIGNED": free_port(), "STRICT": free_port()}
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ours.items())

    def compare(case: Case) -> tuple[object, object, object]:
        name, make = case
        steps = make(int(time.time()))
        return steps, outcome(theirs[name], steps), outcome(ours[name], steps)

    broker = Broker({**common, "listeners": listeners}, port=ours["PLAINTEXT"])
    with kafka, broker, ThreadPoolExecutor(AT_ONCE) as pool:
        told = list(pool.map(compare, cases()))
    assert [one for one in told if one[1] != one[2]] == []
    assert len(told) > 140
