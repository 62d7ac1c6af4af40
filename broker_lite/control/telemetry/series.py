"""What a client has pushed: the last value of each of its metrics.

Clients are asked for deltas: a push tells by how much a counter has grown since the one before.
They are added up here, so that a counter is what it would be in the client.
"""

from collections.abc import Iterable, Mapping
from sys import getsizeof
from typing import Final, NamedTuple, TypeAlias

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values, sorted by name."""

# What a series takes in memory beside its texts, about.
_SERIES_BYTES: Final = 400
_LABEL_BYTES: Final = 72


class Point(NamedTuple):
    """One value in a push.

    Attributes:
        name: of the metric, such as org.apache.kafka.producer.record.send.total.
        labels: of this value.
        value: the number.
        unit: as the client tells it; mostly empty.
        is_counter: whether it only grows.
        is_delta: whether it is the difference to the push before.
    """

    name: str
    labels: Labels
    value: float
    unit: str = ""
    is_counter: bool = False
    is_delta: bool = False


class Pushed(NamedTuple):
    """What is in a push.

    Attributes:
        resource: what the client says of itself, such as its group_id.
        points: the values.
        left_out: how many values are of a kind that is not shown (histograms, summaries), and how
            many values and attributes of the client are beyond the bounds.
    """

    resource: Mapping[str, str]
    points: Iterable[Point]
    left_out: int


class Series(NamedTuple):
    """The last value of a metric with its labels.

    Attributes:
        value: of a counter, what all pushes have told together.
        unit: as the client tells it.
        is_counter: whether it only grows.
        updated_ms: when it was pushed, in milliseconds since the epoch.
    """

    value: float
    unit: str
    is_counter: bool
    updated_ms: int


class SeriesTable:
    """The series of one client, as many as fit into some memory.

    Attributes:
        size_bytes: about how much memory they take.
        left_out: how many values were not kept, because there was no room or by their kind, and
            how many attributes of the client.
    """

    __slots__ = ("_room_bytes", "_series", "left_out", "size_bytes")

    def __init__(self, room_bytes: int) -> None:
        """Begin with none.

        Args:
            room_bytes: beyond this, no further series are kept.
        """
        self._room_bytes = room_bytes
        self._series: dict[tuple[str, Labels], Series] = {}
        self.size_bytes = 0
        self.left_out = 0

    def __len__(self) -> int:
        return len(self._series)

    def items(self) -> Iterable[tuple[tuple[str, Labels], Series]]:
        """Return name and labels of each series with its last value; a live view."""
        return self._series.items()

    def add(self, pushed: Pushed, now_ms: int) -> None:
        """Take the values of a push."""
        self.left_out += pushed.left_out
        for point in pushed.points:
            key = (point.name, point.labels)
            before = self._series.get(key)
            grown_bytes = _grown_bytes(point, before)
            unit = point.unit
            if self.size_bytes + grown_bytes > self._room_bytes:
                if before is None:
                    self.left_out += 1
                    continue
                grown_bytes, unit = 0, before.unit
            self.size_bytes += grown_bytes
            value = point.value
            if point.is_delta and before is not None:
                value += before.value
            self._series[key] = Series(value, unit, point.is_counter, now_ms)


def labels_bytes(labels: Iterable[tuple[str, str]]) -> int:
    """Return about how much memory names and values take."""
    return sum(getsizeof(name) + getsizeof(value) + _LABEL_BYTES for name, value in labels)


def _grown_bytes(point: Point, before: Series | None) -> int:
    """Return about how much more memory a series takes with a further value."""
    if before is None:
        texts = getsizeof(point.name) + getsizeof(point.unit) + labels_bytes(point.labels)
        return _SERIES_BYTES + texts
    if point.unit == before.unit:
        return 0
    return getsizeof(point.unit) - getsizeof(before.unit)
