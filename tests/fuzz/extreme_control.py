"""The largest requests of the control API, at a live broker.

    python -m tests.fuzz.extreme_control --mb 60

Each request is sent alone and has to be answered, also by a refusal; meanwhile another client of
the broker pings. A row has the request, its answer, how long it took, and the longest wait of the
other client, also as processor time of the broker's loop, which has a bound of 50 ms.
"""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from broker_lite.record.builder import encode_record
from broker_lite.testbench.http.client import ControlClient
from tests.log.batches import batch
from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient
from tests.support.stall_watch import STALL_MS_MAX, StallWatch, until_calm

_MB: Final = 1_000_000
_TIMEOUT_S: Final = 300
_RULE: Final = {"keys": ["Fetch"], "topic": "x", "error": "NOT_LEADER_OR_FOLLOWER", "count": 5}
_RULES: Final = 1000
_REQUESTS_PER_MB: Final = 1000


class Case(NamedTuple):
    """One request: what it is, method and path, and its body."""

    label: str
    method: str
    path: str
    body: object = None


# how long others waited, by request, in ms of the broker's processor time
Stalls: TypeAlias = dict[str, float]


@dataclass(slots=True)
class Findings:
    """What the run saw."""

    requests: int = 0
    worst_ms: float = 0.0
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures."""
        worst = f"the longest stall {self.worst_ms:.0f} ms"
        return f"{self.requests} requests, {worst}, {len(self.faults)} faults"


def run(_seed: int, size_mb: int, folder: Path) -> Findings:
    """Send all requests to a broker of its own; again if others wait for too long.

    Args:
        size_mb: of the large bodies, in MB; the journal gets 1,000 entries for each.
        folder: an empty one.
    """

    def worst_ms(tries: Sequence[Stalls]) -> float:
        return max(min(stalls) for stalls in zip(*(each.values() for each in tries), strict=True))

    tries = until_calm(lambda number: _send_all(size_mb, folder / f"data-{number}"), worst_ms)
    least = {label: min(each[label] for each in tries) for label in tries[0]}
    faults = [f"{label}: {ms:.0f} ms each time" for label, ms in least.items() if ms > STALL_MS_MAX]
    return Findings(len(least), worst_ms(tries), faults)


def _send_all(size_mb: int, data: Path) -> Stalls:
    stalls: Stalls = {}
    arguments = ("--topic", "t:2", "--control", "127.0.0.1:0")
    with (
        BrokerProcess(data, arguments=arguments) as broker,
        StallWatch(broker.port, broker.pid) as watch,
    ):
        client = ControlClient(broker.control_url)
        # one after the other: the journal is filled between two requests
        for case in chain(_large_bodies(size_mb * _MB), _large_answers(broker.port, size_mb)):
            watch.lap()
            began = time.monotonic()
            answer = client.request(case.method, case.path, case.body, _TIMEOUT_S)
            seconds = time.monotonic() - began
            stall = watch.lap()
            assert case.label not in stalls
            stalls[case.label] = stall.cpu_ms
            print(f"{case.label:40} {answer.status} {seconds:7.2f} s, others waited {stall}")
    return stalls


def _large_bodies(size_bytes: int) -> Iterator[Case]:
    """Yield requests that say much: JSON, lines, and octets."""
    rules = json.dumps({"rules": [_RULE] * _RULES}).encode()
    yield Case("1,000 rules", "POST", "/v1/faults", rules)
    yield Case("their list", "GET", "/v1/faults")
    yield Case("their end", "DELETE", "/v1/faults")
    text = json.dumps({"topic": "x" * size_bytes}).encode()
    yield Case("JSON, one text", "POST", "/v1/faults", text)
    numbers = b'{"hold":true,"partitions":[' + b"1," * (size_bytes // 2) + b"1]}"
    yield Case("JSON, many numbers", "POST", "/v1/faults", numbers)
    deep = b'{"x":' + b"[" * (size_bytes // 2) + b"]" * (size_bytes // 2) + b"}"
    yield Case("JSON, deep", "POST", "/v1/scripts", deep)
    names = b",".join(b'"k%d":1' % number for number in range(size_bytes // 11))
    yield Case("JSON, many names", "POST", "/v1/requests/find", b'{"match":{"where":{%b}}}' % names)
    line = b'{"value":"%b"}' % (b"v" * 100)
    lines = b"\n".join([line] * (size_bytes * 2 // 3 // len(line)))
    yield Case("many records", "POST", "/v1/topics/t/records", lines)
    yield Case("their lines", "GET", "/v1/topics/t/records?limit=100000")
    yield Case("explain zeros", "POST", "/v1/explain", bytes(size_bytes))
    count = size_bytes // 150
    records = b"".join(encode_record(0, number, b"k", b"v") for number in range(count))
    yield Case("explain many records", "POST", "/v1/explain", batch(records, count=count))


def _large_answers(port: int, size_mb: int) -> Iterator[Case]:
    """Yield requests that look at a long journal."""
    recording = json.dumps({"recording": "bodies", "keep": 1_000_000}).encode()
    yield Case("record bodies", "PUT", "/v1/requests/recording", recording)
    with RawClient("127.0.0.1", port) as client:
        for _ in range(size_mb * _REQUESTS_PER_MB):
            client.call("ApiVersions", 0)
    nothing = json.dumps({"match": {"keys": ["ApiVersions"], "client_id": "nobody"}}).encode()
    yield Case("find nothing in the journal", "POST", "/v1/requests/find", nothing)
    yield Case("list the journal", "GET", "/v1/requests?limit=10000")
    yield Case("its lines", "GET", "/v1/requests/lines?count=10000")
    yield Case("its habits", "GET", "/v1/requests/lint")
    yield Case("its script", "GET", "/v1/requests/script")
    expected = json.dumps({"requests": [{"keys": ["ApiVersions"]}] * 1000}).encode()
    yield Case("match it", "POST", "/v1/requests/match", expected)
    yield Case("metrics", "GET", "/metrics")
    yield Case("a snapshot", "PUT", "/v1/snapshots/large")
    yield Case("forget the journal", "DELETE", "/v1/requests")


if __name__ == "__main__":
    sys.exit(seeded_main(run, __doc__, count="mb", default=60))
