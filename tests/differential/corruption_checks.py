"""What must hold for a damaged partition whatever Kafka does with it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from broker_lite.errors import BrokerError
from broker_lite.log import timestamps
from broker_lite.log.files.txn_index import ENTRY
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from tests.differential.damaged_log import Damage, Sample, write_files
from tests.differential.loaded_log import Start, load_ours, read_batches_of

COMMITTED = 1
# What the checksum does not cover, without it: offset, length, leader epoch and magic.
_STAMP_BYTES = 17
_LOOKUPS_MAX = 200
_UNSEEN_BYTES = {*range(10, 18), *range(26, 34)}


class Answers(NamedTuple):
    """What readers of a log are told."""

    batches: list[bytes]
    lookups: list[object]
    timestamps: list[object]
    aborted: list[object]

    @classmethod
    def of(cls, log: Log, times: range) -> Self:
        """Ask for everything."""
        end = min(log.log_end_offset, log.log_start_offset + _LOOKUPS_MAX)
        offsets = range(log.log_start_offset, end)
        return cls(
            list(read_batches_of(log)),
            [_or_error(lambda offset=offset: _found(log, offset)) for offset in offsets],
            [
                _or_error(lambda moment=moment: timestamps.offset_for_timestamp(log, moment))
                for moment in times
            ],
            [_or_error(lambda offset=offset: _aborted(log, offset)) for offset in offsets],
        )


def _or_error(ask: object) -> object:
    try:
        return ask()  # type: ignore[operator]
    except BrokerError as error:
        return type(error).__name__


def _found(log: Log, offset: int) -> object:
    part = read_log(log, offset, max_bytes=1).slice
    return (part.position, part.size_bytes) if part is not None else None


def _aborted(log: Log, offset: int) -> object:
    """Those which the record can be of; more are told where an index has fewer entries (F-14)."""
    aborted = read_log(log, offset, max_bytes=1, isolation_level=COMMITTED).aborted_transactions
    return [entry for entry in aborted or () if entry.first_offset <= offset]


class Truth(NamedTuple):
    """What readers of the undamaged partition are told, and which times they ask for."""

    answers: Answers
    times: range

    @classmethod
    def of(cls, sample: Sample, directory: Path) -> Self:
        """Load the sample as it is."""
        write_files(directory, sample.files)
        _, log = load_ours(directory, Start(True, sample.end_offset), int(time.time() * 1000))
        assert log is not None
        first = log.segments.active.max_timestamp_entry()[0]
        times = range(first - 150, first + 20, 7)
        return cls(Answers.of(log, times), times)


def wrong_with(
    sample: Sample, truth: Truth, damage: Damage, start: Start, directory: Path
) -> Iterator[str]:
    """Load a damaged partition and tell what must not be."""
    ours, log = load_ours(directory, start, int(time.time() * 1000))
    if log is None:
        yield f"not loaded: {ours.failure}"
        return
    answers = Answers.of(log, truth.times)
    if damage.name.endswith(".log"):
        yield from _wrong_batches(sample, truth, damage, start, answers)
        return
    for name, found, expected in zip(Answers._fields, answers, truth.answers, strict=True):
        if found != expected and not (name == "aborted" and _is_hidden(sample, damage, start)):
            yield f"{name} are not those of the undamaged log"


def _is_hidden(sample: Sample, damage: Damage, start: Start) -> bool:
    """Whether nobody can know of the damage without walking the segment (S-16).

    That is so where whole entries are missing, and where another batch of the same producer is
    named as the first one, or another stable offset that can be.
    """
    if not damage.name.endswith(".txnindex") or start == Start(False, 0):
        return False
    is_cut = not damage.mask and damage.position < len(sample.files[damage.name])
    return is_cut or damage.position % ENTRY.size in _UNSEEN_BYTES


def _wrong_batches(
    sample: Sample, truth: Truth, damage: Damage, start: Start, answers: Answers
) -> Iterator[str]:
    written = {batch[_STAMP_BYTES:] for batch in truth.answers.batches}
    strangers = [batch for batch in answers.batches if batch[_STAMP_BYTES:] not in written]
    if not strangers:
        return
    is_walked = not start.is_clean and (
        start.recovery_point == 0 or int(damage.name[:20]) >= sample.bases[len(sample.bases) // 2]
    )
    if is_walked:
        yield "batches that were not written"
    elif len(strangers) > 1 and any(_is_valid(batch) for batch in strangers[1:]):
        yield "more than the damaged batch differs, and no checksum tells"


def _is_valid(data: bytes) -> bool:
    if len(data) < RECORD_BATCH_OVERHEAD:
        return False
    return RecordBatch(memoryview(data), 0, len(data)).crc_is_valid()
