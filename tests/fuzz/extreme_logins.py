"""The largest requests of each API in the midst of a login: how long other clients wait.

    python -m tests.fuzz.extreme_logins --bytes 524288

A client that has chosen its mechanism and has not logged in sends a request of another API. The
broker answers with an error that may name all that the request named, and closes the connection.
Each API gets its extreme requests in its first and its last version; see tests.fuzz.extremes.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from broker_lite.handler.offered import offered
from broker_lite.settings.declared.network_settings import DEFAULT_RELEASE
from tests.bench.group_frames import frame
from tests.fuzz.extreme_outcomes import Findings, Outcome, least, longest
from tests.fuzz.extreme_requests import Existing
from tests.fuzz.extremes import measure, of_api, send
from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main
from tests.support.reference_kafka import free_port
from tests.support.stall_watch import StallWatch, until_calm

_APIS: Final = offered(DEFAULT_RELEASE)
_HAND_SHAKE: Final = 17
_AUTHENTICATE: Final = 36
"""These two are the login itself; see tests.fuzz.secured_frames."""
_FIELDS: Final[Mapping[str, Any]] = {"acks": 1, "timeout_ms": 1000, "group_id": "g"}
_WHO: Final = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";'


def run(_seed: int, size: int, folder: Path, keys: Sequence[int] = ()) -> Findings:
    """Send all of them.

    Args:
        size: the most bytes of a frame; above sasl.server.max.receive.size nothing is read.
        folder: an empty one.
        keys: of the APIs; all if empty.
    """
    found = Findings()
    for key in keys or sorted(_APIS.keys() - {_HAND_SHAKE, _AUTHENTICATE}):
        tries = until_calm(
            lambda number: _send_all(folder / f"{key}-{number}", key, size),  # noqa: B023
            lambda tries: longest(least(tries)),
        )
        for outcome in least(tries):
            found.add(outcome)
    return found


def _send_all(data: Path, key: int, size: int) -> list[Outcome]:
    plain, secured = free_port(), free_port()
    settings = (
        f"listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{secured}",
        "sasl.enabled.mechanisms=PLAIN",
        f"listener.name.sasl_plaintext.plain.sasl.jaas.config={_WHO}",
        "connection.failed.authentication.delay.ms=1",
    )
    existing = Existing(_FIELDS, [f"topic-{each}" for each in range(100)], [bytes(15) + b"1"], 10)
    outcomes = []
    with (
        BrokerProcess(data, settings=settings, port=plain) as broker,
        StallWatch(broker.port, broker.pid) as watch,
    ):
        send_frame = partial(send, secured, first=frame("SaslHandshake", 1, mechanism="PLAIN"))
        api = _APIS[key]
        for version in sorted({api.min_version, api.max_version}):
            for extreme in of_api(key, version, existing, size):
                outcome = measure(broker, watch, key, version, extreme, send_frame)
                print(outcome.row(), flush=True)
                outcomes.append(outcome)
        assert "Traceback" not in broker.log, broker.log
    return outcomes


if __name__ == "__main__":
    sys.exit(seeded_main(run, __doc__, count="bytes", default=524_288))
