"""Start a real Kafka on a directory of damaged partitions, and compare what it and we make of it.

    python -m tests.differential.corruption_start --seed 1 --damages 320

Half of the damages meet a clean start and half one after a kill; each is a partition of one topic.
With some damages Kafka does not start at all: its own loader tells which, and they are left out.
Compared are the first and the last offset, all that can be fetched, and the files.

Rule: S-40 to S-47.
"""

import logging
import random
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.corruption import Case, Findings, cases_of, judge
from tests.differential.damaged_log import (
    INDEX_BYTES_MAX,
    INDEX_INTERVAL_BYTES,
    Sample,
    make_sample,
    write_files,
)
from tests.differential.loaded_log import (
    SAMPLE_SETTINGS,
    Loaded,
    kafka_loader,
    load_ours,
    next_offset,
    split,
    stored_files,
)
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka

TOPIC: Final = "sample"
METADATA_FILE: Final = "partition.metadata"
EPOCH_FILE: Final = "leader-epoch-checkpoint"
CLEAN_MARK: Final = ".kafka_cleanshutdown"
RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
EARLIEST: Final = -2
LATEST: Final = -1
FETCH_BYTES: Final = 1 << 20
SETTINGS: Final[Mapping[str, str]] = {
    "log.index.size.max.bytes": str(INDEX_BYTES_MAX),
    "log.index.interval.bytes": str(INDEX_INTERVAL_BYTES),
    "log.retention.ms": "-1",
    "num.recovery.threads.per.data.dir": "2",
}


def run(seed: int, count: int, folder: Path, *, kinds: Sequence[bool] = (True, False)) -> Findings:
    """Start Kafka on `count` damaged partitions in all.

    Args:
        seed: of the sample, and of the order.
        count: of the partitions.
        folder: for the files.
        kinds: of the starts, clean or not.
    """
    findings = Findings(seed)
    source = random.Random(seed)
    sample = make_sample(folder / "sample-0", seed)
    cases = cases_of(sample, source)
    for is_clean in kinds:
        wanted = [case for case in cases if case.start.is_clean == is_clean]
        chosen = survivable(sample, wanted, count // len(kinds), folder / "probe-0", findings)
        start_kafka(sample, chosen, folder / f"kafka-{is_clean}", findings)
    return findings


def survivable(
    sample: Sample, cases: Sequence[Case], count: int, directory: Path, findings: Findings
) -> list[Case]:
    """Choose cases with which Kafka starts, and see that broker-lite loads the others, too."""
    chosen: list[Case] = []
    with kafka_loader(*SAMPLE_SETTINGS) as kafka:
        for case in cases:
            if len(chosen) == count:
                break
            write_files(directory, case.damage.apply(sample.files))
            theirs = kafka.load({directory: case.start}, content=False)[directory]
            if not theirs.failure:
                chosen.append(case)
                continue
            write_files(directory, case.damage.apply(sample.files))
            ours, _ = load_ours(directory, case.start, _now_ms())
            judge(sample, case, ours, theirs, findings)
    return chosen


def start_kafka(sample: Sample, cases: Sequence[Case], folder: Path, findings: Findings) -> None:
    """Have Kafka make the partitions, damage them, start it again and compare."""
    kafka = ReferenceKafka(folder, settings=SETTINGS)
    with kafka:
        _create_topic(kafka, len(cases))
    for number, case in enumerate(cases):
        _replace(kafka.log_dir / f"{TOPIC}-{number}", case.damage.apply(sample.files))
    _set_start(kafka.log_dir, cases)
    with kafka, _client(kafka) as client:
        seen = [_look(client, number) for number in range(len(cases))]
        kafka.kill()
    for number, case in enumerate(cases):
        directory = kafka.log_dir / f"{TOPIC}-{number}"
        theirs = seen[number]
        theirs.files = _comparable(stored_files(directory))
        write_files(directory, case.damage.apply(sample.files))
        ours, _ = load_ours(directory, case.start, _now_ms())
        ours.offsets, ours.lookups = ours.offsets[:2], ""
        ours.files = _comparable(ours.files)
        judge(sample, case, ours, theirs, findings)
    kafka.remove()


def _comparable(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Without the epochs, to which Kafka adds that of its start."""
    return {name: data for name, data in files.items() if name != EPOCH_FILE}


def _replace(directory: Path, files: Mapping[str, bytes]) -> None:
    metadata = (directory / METADATA_FILE).read_bytes()
    write_files(directory, {**files, METADATA_FILE: metadata})


def _set_start(log_dir: Path, cases: Sequence[Case]) -> None:
    """Leave the mark of a clean stop or take it away, and write the recovery points."""
    if not cases[0].start.is_clean:
        (log_dir / CLEAN_MARK).unlink()
    lines = [f"{TOPIC} {i} {case.start.recovery_point}" for i, case in enumerate(cases)]
    text = "\n".join(["0", str(len(lines)), *lines]) + "\n"
    (log_dir / RECOVERY_POINT_FILE).write_text(text)


def _client(kafka: ReferenceKafka) -> RawClient:
    return RawClient("127.0.0.1", kafka.port, timeout_s=60)


def _create_topic(kafka: ReferenceKafka, partitions: int) -> None:
    topic = messages.CreateTopicsRequest.CreatableTopic(
        name=TOPIC, num_partitions=partitions, replication_factor=1
    )
    with _client(kafka) as client:
        answer = client.call("CreateTopics", 5, topics=[topic], timeout_ms=60_000)
        assert answer.topics[0].error_code == 0, answer
        for number in range(partitions):
            _offset(client, number, LATEST)


def _offset(client: RawClient, number: int, timestamp: int) -> int:
    """Ask for the first or the last offset, until the partition has a leader."""
    kind = messages.ListOffsetsRequest
    partition = kind.ListOffsetsPartition(partition_index=number, timestamp=timestamp)
    topics = [kind.ListOffsetsTopic(name=TOPIC, partitions=[partition])]
    deadline = time.monotonic() + 60
    while True:
        answer: Any = client.call("ListOffsets", 5, topics=topics)
        found = answer.topics[0].partitions[0]
        if found.error_code == 0:
            return int(found.offset)
        assert time.monotonic() < deadline, answer


def _look(client: RawClient, number: int) -> Loaded:
    """Fetch everything from the first offset on, as read_all does."""
    first, end = _offset(client, number, EARLIEST), _offset(client, number, LATEST)
    offset, checksum, size, how = first, 0, 0, "end"
    while offset < end:
        data, error_code = _fetch(client, number, offset)
        if error_code:
            how = f"error {error_code}"
            break
        batches, is_readable = split(data)
        if not is_readable:
            how = "unreadable"
            break
        size += len(data)
        checksum = zlib.crc32(data, checksum)
        following = max((next_offset(batch) for batch in batches), default=offset)
        if following <= offset:
            how = "stuck"
            break
        offset = following
    return Loaded(offsets=(first, end), content=f"{size}:{checksum}:{how}")


def _fetch(client: RawClient, number: int, offset: int) -> tuple[bytes, int]:
    kind = messages.FetchRequest
    partition = kind.FetchPartition(
        partition=number, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
    )
    topics = [kind.FetchTopic(topic=TOPIC, partitions=[partition])]
    answer: Any = client.call("Fetch", 12, max_wait_ms=0, max_bytes=FETCH_BYTES, topics=topics)
    found = answer.responses[0].partitions[0]
    return bytes(found.records or b""), int(found.error_code)


def _now_ms() -> int:
    return int(time.time() * 1000)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(seeded_main(run, __doc__, count="damages", default=320))
