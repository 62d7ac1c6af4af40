"""Is what the clients were promised what the broker has?"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from broker_lite.record.records import iterate_records
from broker_lite.wire import messages
from tests.crash.users import (
    GROUP,
    PLAIN,
    TRANSACTIONS,
    GroupReader,
    IdempotentProducer,
    TopicMaker,
    TransactionalProducer,
    number_of,
)
from tests.fuzz.full_disk import batches
from tests.fuzz.read_committed import read_committed
from tests.support.raw_client import RawClient

_BYTES_MAX = 8_000_000


def broken_of_producers(
    client: RawClient, producers: Iterable[IdempotentProducer], first: Mapping[int, int]
) -> Iterator[str]:
    """Each number once, in order, at the offset that was acknowledged; none is missing.

    Args:
        client: to read by.
        producers: they may be at work.
        first: what is looked at, by partition: the records from this offset on.
    """
    for producer in producers:
        acknowledged = dict(producer.acknowledged)
        begin = first.get(producer.partition, 0)
        stored = stored_numbers(client, PLAIN, producer.partition, begin)
        where, end = f"{PLAIN}-{producer.partition}", begin + len(stored)
        if stored != list(range(begin, end)):
            yield f"{where}: not each number once and in order: {_around_fault(stored)}"
        for number, offset in acknowledged.items():
            if offset != number or offset >= end:
                yield f"{where}: {number} was acknowledged at {offset}, the end is {end}"
                break


def broken_of_transactions(
    client: RawClient, producers: Iterable[TransactionalProducer], *, is_over: bool
) -> Iterator[str]:
    """What was committed is visible, in order; what was aborted is not; of the rest all or nothing.

    Args:
        client: to read by.
        producers: they may be at work.
        is_over: they are not, so that no transaction is open.
    """
    for producer in producers:
        committed, aborted = list(producer.committed), list(producer.aborted)
        seen = read_committed(client, TRANSACTIONS, producer.partition)
        numbers = [number_of(value) for value in seen.values]
        where, visible = f"{TRANSACTIONS}-{producer.partition}", set(numbers)
        if numbers != sorted(visible):
            yield f"{where}: not each number once and in order: {_around_fault(numbers)}"
        if lost := [each for each in committed if not visible.issuperset(each)]:
            yield f"{where}: committed and not there: {lost[:3]}"
        if wrong := [each for each in aborted if not visible.isdisjoint(each)]:
            yield f"{where}: aborted and visible: {wrong[:3]}"
        for each in list(producer.unknown):
            if len(visible.intersection(each)) not in (0, len(each)):
                yield f"{where}: half of a transaction is visible: {each}"
        if is_over and seen.last_stable_offset != seen.high_watermark:
            yield f"{where}: a transaction is open from {seen.last_stable_offset} on"


def broken_of_readers(client: RawClient, readers: Sequence[GroupReader]) -> Iterator[str]:
    """No committed position goes back."""
    promised: dict[int, int] = {}
    for reader in readers:
        for partition, offset in list(reader.committed.items()):
            promised[partition] = max(promised.get(partition, 0), offset)
    kind = messages.OffsetFetchRequest
    wanted = kind.OffsetFetchRequestTopic(name=PLAIN, partition_indexes=sorted(promised))
    answer = client.call("OffsetFetch", 5, group_id=GROUP, topics=[wanted])
    assert answer.error_code == 0, answer
    for each in answer.topics[0].partitions if promised else ():
        if each.committed_offset < promised[each.partition_index]:
            yield (
                f"{GROUP}: position {promised[each.partition_index]} of {PLAIN}-"
                f"{each.partition_index} was committed, now it is {each.committed_offset}"
            )


def broken_of_topics(client: RawClient, maker: TopicMaker) -> Iterator[str]:
    """What was made is there, what was deleted is not."""
    there, gone = set(maker.there), set(maker.gone)
    known = {each.name for each in client.call("Metadata", 9, topics=None).topics}
    there -= maker.gone  # since we have looked
    there &= maker.there
    if lost := there - known:
        yield f"topics that were made are gone: {sorted(lost)}"
    if back := gone & known:
        yield f"topics that were deleted are back: {sorted(back)}"


def stored_numbers(client: RawClient, topic: str, partition: int, first: int) -> list[int]:
    """The numbers of the records of a partition from an offset on, which must be contiguous.

    Those that come while this reads may be left out.
    """
    kind = messages.FetchRequest
    numbers: list[int] = []
    end = -1
    while True:
        asked = kind.FetchPartition(
            partition=partition, fetch_offset=first + len(numbers), partition_max_bytes=_BYTES_MAX
        )
        topics = [kind.FetchTopic(topic=topic, partitions=[asked])]
        answer: Any = client.call("Fetch", 12, max_wait_ms=0, max_bytes=_BYTES_MAX, topics=topics)
        read = answer.responses[0].partitions[0]
        assert read.error_code == 0, read
        end = read.high_watermark if end < 0 else end
        found = batches(bytes(read.records or b""))
        for batch in found:
            for record in iterate_records(batch):
                if record.offset < first:
                    continue
                assert record.offset == first + len(numbers), (
                    f"{topic}-{partition}: {record.offset}"
                )
                numbers.append(number_of(bytes(record.value or b"")))
        if not found:
            assert first + len(numbers) == read.high_watermark, f"{topic}-{partition}: {read}"
        if first + len(numbers) >= end:
            return numbers


def _around_fault(numbers: Sequence[int]) -> str:
    place = next(
        (i for i in range(1, len(numbers)) if numbers[i] <= numbers[i - 1]), len(numbers) - 1
    )
    return f"at {place} of {len(numbers)}: {numbers[max(place - 3, 0) : place + 3]}"
