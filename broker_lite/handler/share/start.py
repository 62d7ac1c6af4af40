"""Where a share group begins to read a partition that it has never read from.

See: K-20 (ShareGroupAutoOffsetResetStrategy, SharePartition.startOffsetDuringInitialization).
"""

from typing import Final

from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.errors import OffsetNotAvailable, UnknownServerError
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.log_offsets.heavy_search import NOT_YET, search_heavy
from broker_lite.log.log import Log
from broker_lite.log.timestamps import HeavyBatch, offset_for_timestamp
from broker_lite.settings.configs.group_config import BY_DURATION
from broker_lite.settings.configs.java_duration import InvalidDuration, duration_ns, ms_before

_EARLIEST: Final = "earliest"


async def start_offset_of(log: Log, settings: ShareSettings, context: HandlerContext) -> int:
    """Return the first offset that the group gets.

    Raises:
        KafkaStorageError: the log cannot be read.
        OffsetNotAvailable: no record is as new as the group's duration wants.
        UnknownServerError: the group begins so long ago that no timestamp says it.
    """
    if settings.offset_reset == _EARLIEST:
        return log.log_start_offset
    if settings.offset_reset.startswith(BY_DURATION):
        try:
            age_ns = duration_ns(settings.offset_reset.removeprefix(BY_DURATION))
            timestamp_ms = ms_before(context.clock.now_ms(), age_ns)
        except InvalidDuration:
            # Kafka accepts the config, too, and then answers each fetch so.
            raise UnknownServerError from None
        return await _offset_at(log, timestamp_ms, context)
    return log.high_watermark


async def _offset_at(log: Log, timestamp_ms: int, context: HandlerContext) -> int:
    """Return the offset of the first record that is not older.

    Raises:
        OffsetNotAvailable: there is none yet.
    """
    searched = NOT_YET
    while searched.found is None:
        try:
            found = offset_for_timestamp(
                log, timestamp_ms, from_offset=searched.from_offset, at_once=True
            )
        except HeavyBatch as heavy:
            searched = await search_heavy(heavy, context.stop)
            if searched.error is not None:
                raise searched.error from None
        else:
            if found is None:
                raise OffsetNotAvailable
            return found.offset
    return searched.found.offset
