"""Records with keys in compacted topics: who writes them, and what must be left of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from broker_lite.record.records import iterate_records
from broker_lite.wire import messages
from tests.crash.users import (
    KEYED,
    KEYED_TRANSACTIONS,
    IdempotentProducer,
    TransactionalProducer,
    key_of,
    number_of,
    value_of,
)
from tests.fuzz.full_disk import batches
from tests.fuzz.read_committed import read_committed
from tests.support.raw_client import RawClient

_BYTES_MAX: Final = 8_000_000
_RARE: Final = 50


class _Stored(NamedTuple):
    offset: int
    key: bytes
    value: bytes | None


class KeyedProducer(IdempotentProducer):
    """Writes numbers under few keys; some keys it writes once, and deletes every other of these."""

    topic = KEYED

    def key(self, number: int) -> bytes:
        """The key of a number."""
        return _key(number)

    def value(self, number: int) -> bytes | None:
        """The value of a number, None of a tombstone."""
        return _value(number)


def broken_of_keyed(client: RawClient, producers: Iterable[KeyedProducer]) -> Iterator[str]:
    """Each record that is there is the one of its offset, and the last of each key is there."""
    for producer in producers:
        acknowledged = list(producer.acknowledged.items())
        stored = _stored(client, KEYED, producer.partition)
        where = f"{KEYED}-{producer.partition}"
        offsets = [each.offset for each in stored]
        if offsets != sorted(set(offsets)):
            yield f"{where}: the offsets do not rise"
        wrong = [each for each in stored if each[1:] != (_key(each.offset), _value(each.offset))]
        if wrong:
            yield f"{where}: another record at {[each.offset for each in wrong[:5]]}"
        if moved := [pair for pair in acknowledged if pair[0] != pair[1]]:
            yield f"{where}: acknowledged elsewhere: {moved[:5]}"
        newest = {each.key: each.offset for each in stored}
        yield from _older(where, newest, ((_key(n), n) for n, _ in acknowledged))


def broken_of_keyed_transactions(
    client: RawClient, producers: Iterable[TransactionalProducer]
) -> Iterator[str]:
    """What was aborted is invisible, and of each key the last that was committed is there."""
    for producer in producers:
        committed, aborted = list(producer.committed), list(producer.aborted)
        seen = read_committed(client, KEYED_TRANSACTIONS, producer.partition)
        numbers = [number_of(value) for value in seen.values]
        where = f"{KEYED_TRANSACTIONS}-{producer.partition}"
        if numbers != sorted(set(numbers)):
            yield f"{where}: not each number once and in order"
        if wrong := [each for each in aborted if not set(numbers).isdisjoint(each)]:
            yield f"{where}: aborted and visible: {wrong[:3]}"
        newest = {key_of(number): number for number in numbers}
        yield from _older(where, newest, ((key_of(n), n) for each in committed for n in each))


def _older(
    where: str, newest: dict[bytes, int], promised: Iterable[tuple[bytes, int]]
) -> Iterator[str]:
    last: dict[bytes, int] = {}
    for key, number in promised:
        last[key] = max(number, last.get(key, -1))
    lost = {key: number for key, number in last.items() if newest.get(key, -1) < number}
    if lost:
        yield f"{where}: not the last of their keys: {list(lost.items())[:5]} of {len(last)}"


def _key(number: int) -> bytes:
    if number % _RARE == 0:
        return b"rare-%d" % number
    if number % (2 * _RARE) == 1:
        return b"rare-%d" % (number - 1)
    return key_of(number)


def _value(number: int) -> bytes | None:
    return None if number % (2 * _RARE) == 1 else value_of(number)


def _stored(client: RawClient, topic: str, partition: int) -> Sequence[_Stored]:
    kind = messages.FetchRequest
    found: list[_Stored] = []
    offset, end = 0, 1
    while offset < end:
        asked = kind.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=_BYTES_MAX
        )
        topics = [kind.FetchTopic(topic=topic, partitions=[asked])]
        answer = client.call("Fetch", 12, max_wait_ms=0, max_bytes=_BYTES_MAX, topics=topics)
        read = answer.responses[0].partitions[0]
        assert read.error_code == 0, read
        fetched = batches(bytes(read.records or b""))
        end = read.high_watermark if offset == 0 else end
        for batch in fetched:
            found += [
                _Stored(one.offset, bytes(one.key or b""), _bytes(one.value))
                for one in iterate_records(batch)
                if one.offset >= offset
            ]
        offset = fetched[-1].next_offset if fetched else end
    return found


def _bytes(value: bytes | memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)
