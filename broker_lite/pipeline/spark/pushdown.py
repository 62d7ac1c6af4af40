"""Turns the filters that Spark pushes down into a Pruning.

Supported are `=`, `<=>` and `IN` of topic, partition and offset; `<`, `<=`, `>` and `>=` of offset;
and `=`, `>` and `>=` of timestamp. Timestamps need not rise with the offset, so an upper limit of
the timestamp does not limit the offsets.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from broker_lite.pipeline.read.options import View
from broker_lite.pipeline.read.pruning import Pruning

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_EVERYWHERE: Final = Pruning()


def pruning_of(filters: Iterable[Filter], view: View) -> Pruning:
    """Combine filters into a Pruning; an unsupported filter is ignored.

    Args:
        filters: a row has to pass all of them.
        view: of the query; only the record view has the columns offset and timestamp.
    """
    found = _EVERYWHERE
    for one in filters:
        column, values = _equals(one)
        if column is not None:
            found &= _pruning_of_values(column, values, view)
        elif view is View.RECORDS:
            found &= _pruning_of_bound(one)
    return found


def _equals(one: Filter) -> tuple[str | None, tuple[Any, ...]]:
    """Return a column and its allowed values; None for another kind of filter."""
    match one:
        case EqualTo((column,), value) | EqualNullSafe((column,), value):
            return column, (value,)
        case In((column,), values):
            return column, tuple(value for value in values if value is not None)
    return None, ()


def _pruning_of_values(column: str, values: tuple[Any, ...], view: View) -> Pruning:
    match column:
        case "topic" if _all_are(str, values):
            return Pruning(topics=frozenset(values))
        case "partition" if _all_are(int, values):
            return Pruning(partitions=frozenset(values))
        case "offset" if view is View.RECORDS and _all_are(int, values):
            return Pruning(first_offset=min(values), end_offset=max(values) + 1)
        case "timestamp" if view is View.RECORDS and _all_are(datetime, values):
            return Pruning(timestamp_ms=min(map(_timestamp_ms, values)))
    return _EVERYWHERE


def _all_are(kind: type, values: tuple[Any, ...]) -> bool:
    return bool(values) and all(isinstance(value, kind) for value in values)


def _pruning_of_bound(one: Filter) -> Pruning:
    match one:
        case GreaterThan(("offset",), int(offset)):
            return Pruning(first_offset=offset + 1)
        case GreaterThanOrEqual(("offset",), int(offset)):
            return Pruning(first_offset=offset)
        case LessThan(("offset",), int(offset)):
            return Pruning(end_offset=offset)
        case LessThanOrEqual(("offset",), int(offset)):
            return Pruning(end_offset=offset + 1)
        case GreaterThan(("timestamp",), datetime() as moment):
            return Pruning(timestamp_ms=_timestamp_ms(moment))
        case GreaterThanOrEqual(("timestamp",), datetime() as moment):
            return Pruning(timestamp_ms=_timestamp_ms(moment))
    return _EVERYWHERE


def _timestamp_ms(moment: datetime) -> int:
    """Round down to milliseconds since 1970, so that a record of the same millisecond counts."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)
