"""What `bench produce` and `bench e2e` do alike: the flags of batches, and the work."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from broker_lite.commands.bench.flags import Rate, add_partitions, count_up_to, size
from broker_lite.errors import SettingsError
from broker_lite.load.cluster import Cluster
from broker_lite.load.content import file_values, make_batches, random_values
from broker_lite.load.part import Part
from broker_lite.load.produce import ProduceWork, Witness
from broker_lite.load.recorder import Recorder
from broker_lite.load.schedule import Schedule
from broker_lite.load.stamped import Batch
from broker_lite.record.codecs.compression import Codec

_ACKS: Final[Mapping[str, int]] = {"all": -1, "-1": -1, "1": 1, "0": 0}
_ALL: Final = -1
_IN_FLIGHT_MAX: Final = 5  # of which a broker knows the sequences again
_RANDOM: Final = "random:"
_FILE: Final = "file:"


def add_batches(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what is written."""
    add_partitions(parser)
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
        "--idempotence",
        action=argparse.BooleanOptionalAction,
        help="sequences, so that nothing is written twice after a lost connection [with acks=all,"
        " and --in-flight up to 5]",
    )
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


def batches_of(options: argparse.Namespace, *, is_stamped: bool = False) -> list[Batch]:
    """Encode the batches of the flags.

    Raises:
        SettingsError: a file cannot be read, or a value has no room for a stamp.
    """
    kind, payload = options.payload
    values: Iterator[bytes] = (
        file_values(payload)
        if kind == _FILE
        else random_values(options.record_bytes, payload, options.seed)
    )
    return make_batches(
        values,
        batch_bytes=options.batch_bytes,
        codec=Codec[options.codec.upper()],
        timestamp_ms=time.time_ns() // 1_000_000,
        is_stamped=is_stamped,
    )


def requests_per_s(rate: Rate, batches: Sequence[Batch]) -> float | None:
    """Return how many requests keep a rate of bytes or records."""
    if rate.per_second is None:
        return None
    sizes = [len(batch.data) if rate.is_bytes else batch.records for batch in batches]
    return rate.per_second * len(sizes) / sum(sizes)


def is_idempotent(options: argparse.Namespace) -> bool:
    """Tell whether batches carry sequences.

    Raises:
        SettingsError: they are asked for, and other flags do not allow them.
    """
    is_possible = _ACKS[options.acks] == _ALL and options.in_flight <= _IN_FLIGHT_MAX
    if options.idempotence and not is_possible:
        raise SettingsError("--idempotence needs --acks all, and --in-flight of 5 at most")
    return is_possible if options.idempotence is None else bool(options.idempotence)


def produce_work(
    options: argparse.Namespace,
    cluster: Cluster,
    part: Part,
    *,
    batches: Sequence[Batch],
    schedule: Schedule,
    recorder: Recorder,
    witness: Witness | None = None,
) -> ProduceWork:
    """Return the work of one process."""
    return ProduceWork(
        topic=options.topic,
        partitions=part.of(range(cluster.wait_for_leaders())),
        batches=batches,
        acks=_ACKS[options.acks],
        timeout_ms=int(cluster.timeout_s * 1000),
        client_id=cluster.client_id,
        schedule=schedule,
        recorder=recorder,
        producer=cluster.producer() if is_idempotent(options) else None,
        witness=witness,
    )


def batch_settings(options: argparse.Namespace, batches: Sequence[Batch]) -> dict[str, object]:
    """Return what a result tells of the flags."""
    kind, payload = options.payload
    return {
        "rate": options.rate._asdict(),
        "in_flight": options.in_flight,
        "acks": options.acks,
        "idempotence": is_idempotent(options),
        "codec": options.codec,
        "batch_bytes": options.batch_bytes,
        "record_bytes": options.record_bytes,
        "payload": f"{kind}{payload}",
        "seed": options.seed,
        "mean_batch_bytes": sum(len(batch.data) for batch in batches) / len(batches),
        "mean_batch_records": sum(batch.records for batch in batches) / len(batches),
    }


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
