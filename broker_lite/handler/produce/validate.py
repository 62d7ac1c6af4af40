"""Where a batch of a Produce request is validated: in the event loop, or in a thread beside it.

What takes a few milliseconds at most is done at once. Everything else goes to a worker thread,
which is stopped when the broker stops, or when the client has been gone for a second.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from anyio import CancelScope, to_thread

from broker_lite.errors import BrokerError
from broker_lite.handler.context import CloseConnection
from broker_lite.log.validate.old_messages import validate_old_records
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.validated import TakesLong, ValidatedRecords, ValidationConfig
from broker_lite.record.batch import ATTRIBUTES_OFFSET, CODEC_MASK, CURRENT_MAGIC, MAGIC_OFFSET
from broker_lite.record.legacy.messages import ATTRIBUTES_OFFSET as LEGACY_ATTRIBUTES_OFFSET
from broker_lite.record.stopping import Stop, WorkStopped

INLINE_BYTES_MAX: Final = 64 * 1024
"""More bytes than these are not decompressed, nor compressed, in the event loop."""
INLINE_PLAIN_BYTES_MAX: Final = 4 * 1024 * 1024
"""More bytes than these are not even walked there: 10 ms where records are small."""
INLINE_OLD_BYTES_MAX: Final = 16 * 1024
_NO_CODEC: Final = 0


def validate_at_once(
    records: memoryview, config: ValidationConfig, now_ms: int, index: int, *, is_old: bool
) -> ValidatedRecords | None:
    """Validate in the event loop, unless that takes long: None for what is, or becomes, large.

    Raises:
        BrokerError: as validate_records, or validate_old_records.
    """
    if is_old:
        # these are converted one by one
        if len(records) > INLINE_OLD_BYTES_MAX or _is_compressed(records):
            return None
        return validate_old_records(records, config, now_ms=now_ms, partition=index)
    if len(records) > INLINE_BYTES_MAX and _is_costly(records, config):
        return None
    try:
        return validate_records(records, config, now_ms=now_ms, partition=index, at_once=True)
    except TakesLong:
        return None


def _is_costly(records: memoryview, config: ValidationConfig) -> bool:
    codec = records[ATTRIBUTES_OFFSET + 1] & CODEC_MASK
    return (
        codec != _NO_CODEC
        or config.codec not in (None, _NO_CODEC)
        or len(records) > INLINE_PLAIN_BYTES_MAX
    )


def _is_compressed(records: memoryview) -> bool:
    if len(records) <= ATTRIBUTES_OFFSET + 1:
        return False
    is_new = records[MAGIC_OFFSET] == CURRENT_MAGIC
    attributes = records[ATTRIBUTES_OFFSET + 1 if is_new else LEGACY_ATTRIBUTES_OFFSET]
    return attributes & CODEC_MASK != _NO_CODEC


async def validate_in_thread(
    records: memoryview,
    config: ValidationConfig,
    now_ms: int,
    index: int,
    stop: Stop,
    *,
    is_old: bool,
) -> ValidatedRecords:
    """Validate in a worker thread; this connection's next request waits (P-04).

    The thread is always waited for, so the records may stay in the receive buffer, and what a
    client sent before it closed is appended.

    Raises:
        BrokerError: as validate_records, or validate_old_records.
        CloseConnection: it was stopped.
    """
    validate = validate_old_records if is_old else validate_records
    work = partial(validate, records, config, now_ms=now_ms, partition=index, stop=stop)
    with CancelScope(shield=True):
        outcome = await to_thread.run_sync(_outcome, work)
    if isinstance(outcome, WorkStopped):
        raise CloseConnection("the validation of a batch was stopped")
    if isinstance(outcome, BrokerError):
        raise outcome
    return outcome


def _outcome(
    work: Callable[[], ValidatedRecords],
) -> ValidatedRecords | BrokerError | WorkStopped:
    """Call a function and give back its error instead of raising it.

    The thread keeps what was raised, and its traceback all that was decompressed, until the next
    full collection: a gigabyte after a few bad batches.
    """
    try:
        return work()
    except (BrokerError, WorkStopped) as error:
        return error.with_traceback(None)
