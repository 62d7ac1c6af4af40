"""Speed of the wire room: python -m tests.bench.wire_codec [rounds].

Prints microseconds a message (best of many rounds, process time), milliseconds a generated codec.
"""

import platform
import sys
import time
from collections.abc import Callable
from typing import Any

from broker_lite.protocol.framing import decode_header
from broker_lite.wire import fetch, messages, produce
from broker_lite.wire.schema import catalog


def best_us(run: Callable[[], object], rounds: int) -> float:
    """Return the least time of one call, in microseconds."""
    start = time.process_time()
    run()
    once = max(time.process_time() - start, 1e-6)
    calls = max(1, int(0.002 / once))
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            run()
        best = min(best, (time.process_time() - start) / calls)
    return best * 1e6


def metadata_response() -> Any:
    message = messages.MetadataResponse
    topics = [
        message.MetadataResponseTopic(
            name=f"topic-{t:04d}",
            topic_id=t.to_bytes(16, "big"),
            partitions=[
                message.MetadataResponsePartition(
                    partition_index=p,
                    leader_id=1,
                    leader_epoch=0,
                    replica_nodes=[1],
                    isr_nodes=[1],
                )
                for p in range(3)
            ],
        )
        for t in range(100)
    ]
    broker = message.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=9092)
    return message(
        brokers=[broker], cluster_id="4L6g3nShT-eMCtK--X86sw", controller_id=1, topics=topics
    )


def produce_request(version: int, partitions: int) -> Any:
    message = messages.ProduceRequest
    data = [message.PartitionProduceData(index=i, records=bytes(16384)) for i in range(partitions)]
    topic = message.TopicProduceData(partition_data=data)
    if version < 13:
        topic.name = "topic-0001"
    else:
        topic.topic_id = bytes(range(16))
    return message(acks=-1, timeout_ms=30000, topic_data=[topic])


def produce_response(version: int) -> Any:
    message = messages.ProduceResponse
    partition = message.PartitionProduceResponse(
        index=0, base_offset=1234, log_append_time_ms=-1, log_start_offset=0
    )
    topic = message.TopicProduceResponse(partition_responses=[partition])
    if version < 13:
        topic.name = "topic-0001"
    else:
        topic.topic_id = bytes(range(16))
    return message(responses=[topic])


def fetch_request(version: int, partitions: int) -> Any:
    message = messages.FetchRequest
    topic = message.FetchTopic(
        partitions=[
            message.FetchPartition(
                partition=i, current_leader_epoch=0, fetch_offset=99, partition_max_bytes=1 << 20
            )
            for i in range(partitions)
        ]
    )
    if version < 13:
        topic.topic = "topic-0001"
    else:
        topic.topic_id = bytes(range(16))
    return message(max_wait_ms=500, min_bytes=1, max_bytes=1 << 26, session_epoch=0, topics=[topic])


def fetched_partitions(version: int, count: int) -> list[fetch.FetchedPartition]:
    return [
        fetch.FetchedPartition(
            "topic-0001" if version < 13 else bytes(range(16)),
            i,
            high_watermark=10,
            last_stable_offset=10,
            log_start_offset=0,
            records=bytes(100),
        )
        for i in range(count)
    ]


def join_group_request() -> Any:
    message = messages.JoinGroupRequest
    protocols = [
        message.JoinGroupRequestProtocol(name=name, metadata=bytes(60))
        for name in ("range", "cooperative-sticky")
    ]
    return message(
        group_id="group-1",
        session_timeout_ms=45000,
        rebalance_timeout_ms=300000,
        protocol_type="consumer",
        protocols=protocols,
    )


def print_row(name: str, size_bytes: int, *times_us: float) -> None:
    columns = "".join(f"{time_us:12.2f}" for time_us in times_us)
    sys.stdout.write(f"{name:48}{size_bytes:9}{columns}\n")


def generated(name: str, value: Any, message: Any, version: int, rounds: int) -> None:
    body = message.encode(value, version)
    view = memoryview(body)
    print_row(
        name,
        len(body),
        best_us(lambda: message.decode(view, version), rounds),
        best_us(lambda: message.encode(value, version), rounds),
    )


def by_hand(rounds: int) -> None:
    for version in (7, 11, 13):
        view = memoryview(messages.ProduceRequest.encode(produce_request(version, 1), version))
        time_us = best_us(lambda: produce.decode_produce_request(view, version), rounds)  # noqa: B023
        print_row(f"by hand: Produce v{version} request, 1 x 16 KiB", len(view), time_us)
    for version, partitions in ((11, 1), (16, 1), (16, 50)):
        answers = fetched_partitions(version, partitions)
        time_us = best_us(lambda: fetch.encode_fetch_response(version, answers), rounds)  # noqa: B023
        print_row(f"by hand: Fetch v{version} response, {partitions} partitions", 0, 0, time_us)
    frame = memoryview(bytes.fromhex("0003000c0000004d0004746573740000"))
    time_us = best_us(lambda: decode_header(frame, {3: 9}), rounds)
    print_row("by hand: request header v2", len(frame), time_us)


def generation() -> None:
    times_ms = []
    for name in catalog():
        message = messages.message(name)
        for version in range(message.min_version, message.max_version + 1):
            start = time.process_time()
            message.decode(message.encode(message(), version), version)
            times_ms.append((time.process_time() - start) * 1e3)
    times_ms.sort()
    mean_ms = sum(times_ms) / len(times_ms)
    sys.stdout.write(
        f"generation (decode + encode): {len(times_ms)} versions, mean {mean_ms:.2f} ms, "
        f"median {times_ms[len(times_ms) // 2]:.2f} ms, largest {times_ms[-1]:.2f} ms\n"
    )


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    sys.stdout.write(f"{platform.platform()}, Python {platform.python_version()}\n")
    generation()
    sys.stdout.write(f"{'message':48}{'bytes':>9}{'decode us':>12}{'encode us':>12}\n")
    cases = (
        ("Metadata v12 response, 100 x 3", metadata_response(), messages.MetadataResponse, 12),
        ("Produce v11 request, 1 x 16 KiB", produce_request(11, 1), messages.ProduceRequest, 11),
        ("Produce v11 request, 10 x 16 KiB", produce_request(11, 10), messages.ProduceRequest, 11),
        ("Produce v11 response", produce_response(11), messages.ProduceResponse, 11),
        ("Produce v7 response", produce_response(7), messages.ProduceResponse, 7),
        ("Fetch v11 request, 1 partition", fetch_request(11, 1), messages.FetchRequest, 11),
        ("Fetch v16 request, 1 partition", fetch_request(16, 1), messages.FetchRequest, 16),
        ("Fetch v16 request, 50 partitions", fetch_request(16, 50), messages.FetchRequest, 16),
        ("JoinGroup v9 request", join_group_request(), messages.JoinGroupRequest, 9),
        ("Heartbeat v4 response", messages.HeartbeatResponse(), messages.HeartbeatResponse, 4),
    )
    for name, value, message, version in cases:
        generated(name, value, message, version, rounds)
    by_hand(rounds)
    build_us = best_us(lambda: messages.ProduceResponse.encode(produce_response(11), 11), rounds)
    print_row("Produce v11 response, built and encoded", 0, 0, build_us)


if __name__ == "__main__":
    main()
