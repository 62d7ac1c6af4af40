"""Where a share group begins to read a partition that it has never read from.

See: K-20 (ShareGroupAutoOffsetResetStrategy, SharePartition.startOffsetDuringInitialization).
"""

import re
from datetime import timedelta
from typing import Final

from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.log_offsets.heavy_search import NOT_YET, search_heavy
from broker_lite.log.log import Log
from broker_lite.log.timestamps import HeavyBatch, offset_for_timestamp

_EARLIEST: Final = "earliest"
_BY_DURATION: Final = "by_duration:"
_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+(?:\.\d{1,9})?)S)?)?"
)
_MS: Final = timedelta(milliseconds=1)


async def start_offset_of(log: Log, settings: ShareSettings, context: HandlerContext) -> int:
    """Return the first offset that the group gets.

    Raises:
        KafkaStorageError: the log cannot be read.
    """
    if settings.offset_reset == _EARLIEST:
        return log.log_start_offset
    if settings.offset_reset.startswith(_BY_DURATION):
        age_ms = duration_ms(settings.offset_reset.removeprefix(_BY_DURATION))
        return await _offset_at(log, max(context.clock.now_ms() - age_ms, 0), context)
    return log.high_watermark


def duration_ms(text: str) -> int:
    """Return the milliseconds of a duration as Java writes it: PnDTnHnMn.nS."""
    match = _DURATION.fullmatch(text)
    assert match is not None  # the config was checked when it was set
    parts = {name: float(value) for name, value in match.groupdict("0").items()}
    return timedelta(**parts) // _MS


async def _offset_at(log: Log, timestamp_ms: int, context: HandlerContext) -> int:
    """Return the first record that is not older; the end if there is none."""
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
            return log.high_watermark if found is None else found.offset
    return searched.found.offset
