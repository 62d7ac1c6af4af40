"""The most that one request of each API and version can ask for, at a live broker.

    python -m tests.fuzz.extremes --seed 1 [--api 3] [--bytes 2097152] [--latest] [--kafka]

Each request of tests.fuzz.extreme_requests is sent alone, once to a broker that has a topic of many
partitions, many topics, groups and a transactional producer, and it has to be answered or its
connection closed. Meanwhile another client pings. The table has a line for each API and version,
with the worst of its requests: the longest wait of the others, and of it what the broker's loop was
at work; the broker's processor time; the most memory above what there was before, and what of it
stays. If a stall is too long, the requests of that version are sent again to a new broker, up to
three times in all, and the least stall of each request counts: a busy host only adds to it, and
what the request itself does happens each time. With --kafka a real Kafka gets the requests of each
version, too, after the broker; of its rows only what the others wait, the times and the end can be
compared.
"""

import argparse
import re
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from broker_lite.handler.table import APIS
from broker_lite.wire import DecodeError, messages
from tests.bench import group_frames as groups
from tests.bench.growth import resident_bytes
from tests.fuzz.extreme_outcomes import Findings, Outcome, least, longest
from tests.fuzz.extreme_requests import (
    LARGE,
    LARGE_TOPIC,
    Existing,
    Extreme,
    extreme_requests,
    small_requests,
)
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka
from tests.support.stall_watch import StallWatch, until_calm

CONTROL_BYTES_MAX: Final = 2_097_152
SECONDS_MAX: Final = 120.0
TOPICS: Final = 500
PARTITIONS: Final = 1000
GROUP: Final = "extreme"
SETTINGS: Final = (
    KEEP,
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=1",
    "transaction.state.log.num.partitions=1",
)
WIDE: Final = "wide"
CLASSIC: Final = "classic"
METADATA: Final = 3
DELETE_TOPICS: Final = 20
CREATE_PARTITIONS: Final = 37
UNSUPPORTED_VERSION: Final = 35
API_VERSIONS: Final = 18
_CLEAR_PEAK: Final = "5"


_FIELDS: Final[Mapping[str, Any]] = {
    "group_id": GROUP,
    "transactional_id": "extreme",
    "generation_id_or_member_epoch": -1,
    "protocol_type": "consumer",
    "session_timeout_ms": 6000,
    "rebalance_timeout_ms": 6000,
    "timeout_ms": 1000,
    "max_wait_ms": 50,
    "min_bytes": 1,
    "max_bytes": 1_000_000,
    "partition_max_bytes": 1000,
    "acks": 1,
    "replica_id": -1,
    "allow_auto_topic_creation": False,
    "num_partitions": 1,
    "replication_factor": 1,
    "resource_type": 2,
    "resource_name": WIDE,
    "client_software_name": "extreme",
    "client_software_version": "1",
    "response_partition_limit": 2000,
    "timestamp": -1,
    "count": PARTITIONS + 1,
}


def prepare(port: int, api_key: int | None = None) -> Existing:
    """Make what the requests may name, and what those of one API ask for besides."""
    with RawClient("127.0.0.1", port, timeout_s=60) as client:
        kind = messages.CreateTopicsRequest
        names = [WIDE, *(f"{WIDE}-{number:x}" for number in range(TOPICS))]
        counts = [PARTITIONS, *[1] * TOPICS]
        if api_key in (METADATA, CREATE_PARTITIONS, DELETE_TOPICS):
            make_large(client, is_used=api_key == DELETE_TOPICS)
        topics = [
            kind.CreatableTopic(name=name, num_partitions=count, replication_factor=1)
            for name, count in zip(names, counts, strict=True)
        ]
        created = client.call("CreateTopics", 7, topics=topics, timeout_ms=60_000).topics
        ids = {topic.name: topic.topic_id for topic in created if topic.error_code == 0}
        producer = client.call(
            "InitProducerId", 4, transactional_id="extreme", transaction_timeout_ms=60_000
        )
        member = groups.answer("JoinGroup", 3, _ask(client, groups.join(CLASSIC, "", b"")))
    fields = {
        **_FIELDS,
        "member_id": member.member_id,
        "generation_id": member.generation_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
    }
    return Existing(fields, names, [ids[name] for name in names], PARTITIONS)


def make_large(client: RawClient, *, is_used: bool) -> None:
    """Make a topic of very many partitions, and maybe have all of them in use."""
    topic = messages.CreateTopicsRequest.CreatableTopic
    large = topic(name=LARGE_TOPIC, num_partitions=LARGE, replication_factor=1)
    client.call("CreateTopics", 7, topics=[large], timeout_ms=60_000)
    if not is_used:
        return
    kind = messages.ListOffsetsRequest
    partitions = [
        kind.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(LARGE)
    ]
    asked = kind.ListOffsetsTopic(name=LARGE_TOPIC, partitions=partitions)
    client.call("ListOffsets", 1, replica_id=-1, topics=[asked])


def _ask(client: RawClient, frame: bytes) -> bytes:
    """Send a whole frame; give its answer without the size."""
    client.socket.sendall(frame)
    size = int.from_bytes(client.socket.recv(4, socket.MSG_WAITALL), "big")
    return client.socket.recv(size, socket.MSG_WAITALL)


def of_api(api_key: int, version: int, existing: Existing, size: int) -> Iterator[Extreme]:
    """The extreme requests of an API, with the variants that the schema does not tell."""
    fields = dict(existing.fields)
    if api_key in (11, 12, 13, 14):
        fields["group_id"] = CLASSIC
    if api_key in (8, 28, 47):
        fields["member_id"] = ""
        fields["generation_id"] = -1
    if api_key == 22:
        fields["producer_id"] = fields["producer_epoch"] = -1
    variants = [("", fields)]
    if api_key == METADATA:
        named = {**fields, "topic_id": bytes(16)}
        variants += [
            (", by name", named),
            (", to be created", {**named, "allow_auto_topic_creation": True}),
        ]
    if api_key in (19, 33, 37, 44):
        variants.append((", only validated", {**fields, "validate_only": True}))
    if api_key == 1:
        variants.append((", in a long poll", {**fields, "max_wait_ms": 500}))
    for note, given in variants:
        for extreme in extreme_requests(api_key, version, existing._replace(fields=given), size):
            yield extreme._replace(label=extreme.label + note)


def send(port: int, frame: bytes, first: bytes = b"") -> tuple[str, float]:
    """Send one request; give how it ended, and after how many seconds.

    Args:
        port: of the listener.
        frame: the request with its size.
        first: another one, which is answered before.
    """
    answer = bytearray()
    with socket.create_connection(("127.0.0.1", port), SECONDS_MAX) as sock:
        if first:
            sock.sendall(first)
            sock.recv(int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big"), socket.MSG_WAITALL)
        began = ended = time.monotonic()
        try:
            sock.sendall(frame)
            head = sock.recv(4, socket.MSG_WAITALL)
            missing = int.from_bytes(head, "big")
            while missing and (chunk := sock.recv(min(missing, 1 << 20))):
                missing -= len(chunk)
                answer += chunk
            ended = time.monotonic()
            end = "closed" if len(head) < 4 or missing else how_answered(frame, bytes(answer))
        except TimeoutError:
            end = "silent"
        except ConnectionError:
            end = "closed"
    return end, (time.monotonic() if ended == began else ended) - began


def how_answered(frame: bytes, answer: bytes) -> str:
    """Whether an answer can be read to its end, with what the schema of its version says."""
    api_key, version, correlation_id = struct.unpack_from(">hhi", frame, 4)
    request, response = messages.by_api(api_key)
    is_flexible = request.flexible_from is not None and version >= request.flexible_from
    position = 5 if is_flexible and api_key != API_VERSIONS else 4
    if int.from_bytes(answer[:4], "big") != correlation_id:
        return "garbled"
    if api_key == API_VERSIONS and int.from_bytes(answer[4:6], "big") == UNSUPPORTED_VERSION:
        version = 0  # P-10
    try:
        _, position = response.decode(answer, version, position)
    except DecodeError:
        return "garbled"
    return "answered" if position == len(answer) else "garbled"


def measure(
    broker: BrokerProcess | ReferenceKafka,
    watch: StallWatch,
    api_key: int,
    version: int,
    extreme: Extreme,
    send_frame: Callable[[bytes], tuple[str, float]] | None = None,
) -> Outcome:
    """Send one request beside the watch, to the broker's usual port or as `send_frame` does."""
    before = resident_bytes(broker.pid)
    Path(f"/proc/{broker.pid}/clear_refs").write_text(_CLEAR_PEAK)
    cpu_s = process_cpu_s(broker.pid)
    watch.lap()
    end, seconds = (send_frame or partial(send, broker.port))(extreme.frame)
    stall = watch.lap()
    return Outcome(
        APIS[api_key].name,
        version,
        extreme.label,
        end,
        seconds,
        stall.cpu_ms,
        stall.wall_ms,
        process_cpu_s(broker.pid) - cpu_s,
        (peak_bytes(broker.pid) - before) / 1e6,
        (resident_bytes(broker.pid) - before) / 1e6,
    )


def peak_bytes(pid: int) -> int:
    """The most memory that a process had since its peak was cleared."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(line) * 1024


def process_cpu_s(pid: int) -> float:
    """User and system time of a process."""
    return time.clock_gettime((~pid << 3) | 2)


def send_all(data: Path, key: int, version: int, size: int) -> tuple[list[Outcome], str]:
    """Send the requests of one version to a broker of its own; give the outcomes and its log."""
    outcomes = []
    with BrokerProcess(data, settings=SETTINGS) as broker:
        existing = prepare(broker.port, key)
        with StallWatch(broker.port, broker.pid) as watch:
            for extreme in (
                *of_api(key, version, existing, size),
                *small_requests(key, version),
            ):
                outcome = measure(broker, watch, key, version, extreme)
                print(outcome.row(), flush=True)
                outcomes.append(outcome)
    return outcomes, broker.log


def run(
    _seed: int, size: int, folder: Path, *, api: int | None = None, latest: bool = False
) -> Findings:
    """Send all of them.

    Args:
        _seed: nothing is random here.
        size: the most bytes of a frame.
        folder: empty.
        api: only of this key.
        latest: only the last version of each API.
    """
    found = Findings()
    for key, row in APIS.items():
        if api not in (None, key):
            continue
        for version in range(row.max_version if latest else row.min_version, row.max_version + 1):
            outcomes, logs = _send_until_calm(folder, key, version, size)
            for log in logs:
                if "Traceback" in log:
                    start = log.index("Traceback")
                    found.faults.append(f"{row.name} v{version}: {log[start:][:3000]}")
            for outcome in outcomes:
                found.add(outcome)
    return found


def _send_until_calm(
    folder: Path, key: int, version: int, size: int
) -> tuple[list[Outcome], list[str]]:
    """The outcomes of a version's requests, and the logs of all brokers that got them."""
    tries = until_calm(
        lambda number: send_all(folder / f"{key}-{version}-{number}", key, version, size),
        lambda tries: longest(least([outcomes for outcomes, _ in tries])),
    )
    return least([outcomes for outcomes, _ in tries]), [log for _, log in tries]


def run_kafka(size: int, folder: Path, api: int | None, rows: Iterable[Outcome]) -> list[Outcome]:
    """Send a real Kafka what was sent to the broker, in the versions of some rows."""
    versions = {(key, o.version) for o in rows for key in APIS if APIS[key].name == o.api}
    outcomes = []
    with ReferenceKafka(folder / "kafka", settings={"auto.create.topics.enable": "true"}) as kafka:
        existing = prepare(kafka.port)
        with StallWatch(kafka.port, kafka.pid) as watch:
            for key, version in sorted(versions):
                if api not in (None, key):
                    continue
                for extreme in of_api(key, version, existing, size):
                    outcome = measure(kafka, watch, key, version, extreme)
                    outcomes.append(outcome._replace(api=f"Kafka's {outcome.api}"))
                    print(outcomes[-1].row(), flush=True)
    return outcomes


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--api", type=int)
    parser.add_argument("--bytes", type=int, default=CONTROL_BYTES_MAX)
    parser.add_argument("--latest", action="store_true")
    parser.add_argument("--kafka", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="extremes-") as folder:
        found = run(
            options.seed, options.bytes, Path(folder), api=options.api, latest=options.latest
        )
        if options.kafka:
            run_kafka(options.bytes, Path(folder), options.api, found.outcomes)
    for fault in found.faults:
        print(fault)
    print(found.summary())
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
