"""`broker-lite bench produce`: write batches that were encoded before, at a rate."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from broker_lite.commands.bench.flags import Rate, add_load, count_up_to, size
from broker_lite.commands.bench.measuring import Measurement, open_cluster
from broker_lite.errors import ClientError
from broker_lite.load.content import Batch, file_values, make_batches, random_values
from broker_lite.load.produce import ProduceWork
from broker_lite.record.codecs.compression import Codec

_ACKS: Final[Mapping[str, int]] = {"all": -1, "-1": -1, "1": 1, "0": 0}
_RANDOM: Final = "random:"
_FILE: Final = "file:"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add_load(
        parser,
        rate_help="50MB/s of batches, 20000/s for records, or max [max]",
    )
    parser.add_argument(
        "--partitions",
        type=count_up_to(100_000),
        default=12,
        metavar="N",
        help="of the topic, if it does not exist [12]",
    )
    parser.add_argument(
        "--batch-bytes", type=size, default=16 << 10, metavar="SIZE",
        help="of a batch before compression; a request has one batch [16KiB]",
    )  # fmt: skip
    parser.add_argument(
        "--record-bytes", type=size, default=100, metavar="SIZE", help="of a value [100]"
    )
    parser.add_argument(
        "--codec", choices=[codec.name.lower() for codec in Codec], default="none", help="[none]"
    )
    parser.add_argument("--acks", choices=list(_ACKS), default="all", help="[all]")
    parser.add_argument(
        "--in-flight",
        type=count_up_to(1000),
        default=5,
        metavar="N",
        help="requests of a connection that may wait for their answers [5]",
    )
    parser.add_argument(
        "--payload",
        type=_payload,
        default=(_RANDOM, 0.3),
        metavar="random:SHARE|file:PATH",
        help="values with a share of random bytes, or the lines of a file [random:0.3]",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of random bytes [1]")


def run(options: argparse.Namespace) -> int:
    """Write, and print the figures."""
    batches = make_batches(
        _values(options),
        batch_bytes=options.batch_bytes,
        codec=Codec[options.codec.upper()],
        timestamp_ms=time.time_ns() // 1_000_000,
    )
    measurement = Measurement(options, requests_per_s(options.rate, batches))
    with open_cluster(options) as cluster:
        cluster.create_topic(options.partitions)
        partition_count = cluster.wait_for_leaders()
        before = cluster.offsets(earliest=False)
        work = ProduceWork(
            topic=options.topic,
            partition_count=partition_count,
            batches=batches,
            acks=_ACKS[options.acks],
            timeout_ms=int(cluster.timeout_s * 1000),
            client_id=cluster.client_id,
            schedule=measurement.schedule,
            recorder=measurement.recorder,
        )
        measurement.run(cluster, work, in_flight=options.in_flight)
        after = measurement.ends(cluster)
    delivered: int | str
    if isinstance(after, ClientError):
        delivered = f"delivered is not known: {after}"
    else:
        delivered = sum(end - before.get(number, 0) for number, end in after.items())
    settings = _settings(options, partition_count, batches)
    return measurement.tell("produce", settings, delivered=delivered)


def requests_per_s(rate: Rate, batches: Sequence[Batch]) -> float | None:
    """Return how many requests keep a rate of bytes or records."""
    if rate.per_second is None:
        return None
    sizes = [len(batch.data) if rate.is_bytes else batch.records for batch in batches]
    return rate.per_second * len(sizes) / sum(sizes)


def _settings(
    options: argparse.Namespace, partition_count: int, batches: Sequence[Batch]
) -> dict[str, object]:
    kind, payload = options.payload
    return {
        "bootstrap": options.bootstrap_server,
        "topic": options.topic,
        "partitions": partition_count,
        "rate": options.rate._asdict(),
        "connections": options.connections,
        "in_flight": options.in_flight,
        "acks": options.acks,
        "codec": options.codec,
        "batch_bytes": options.batch_bytes,
        "record_bytes": options.record_bytes,
        "payload": f"{kind}{payload}",
        "seed": options.seed,
        "warmup_s": options.warmup,
        "duration_s": options.duration,
        "mean_batch_bytes": sum(len(batch.data) for batch in batches) / len(batches),
        "mean_batch_records": sum(batch.records for batch in batches) / len(batches),
    }


def _values(options: argparse.Namespace) -> Iterator[bytes]:
    kind, payload = options.payload
    if kind == _FILE:
        return file_values(payload)
    return random_values(options.record_bytes, payload, options.seed)


def _payload(text: str) -> tuple[str, float | Path]:
    if text.startswith(_FILE) and len(text) > len(_FILE):
        return _FILE, Path(text.removeprefix(_FILE))
    try:
        share = float(text.removeprefix(_RANDOM)) if text.startswith(_RANDOM) else -1
    except ValueError:
        share = -1
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(
            f"{text} is no payload: random:SHARE with a share from 0 to 1, or file:PATH"
        )
    return _RANDOM, share
