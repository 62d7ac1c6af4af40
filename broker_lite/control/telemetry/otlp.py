"""Reads what clients push: metrics in OpenTelemetry's protobuf messages (OTLP 1.0, MetricsData).

The messages are those of the package opentelemetry-proto, which the extra `telemetry` installs. It
is imported at the first push: it takes 60 ms and 6 MB. Without it, pushes are taken and counted,
but not read.

Source: KIP-714, opentelemetry/proto/metrics/v1/metrics.proto.
"""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import Any, Final

from broker_lite.control.telemetry.series import Labels, Point, Pushed
from broker_lite.errors import InvalidRecord
from broker_lite.record.codecs.compression import decompress
from broker_lite.record.stopping import NEVER, Stop

HINT: Final = "pushes are counted, but not read: pip install 'broker-lite[telemetry]'"

POINTS_MAX: Final = 20_000
"""Values of one push: so many are taken within some 50 ms, and a Java client has some 100."""
ATTRIBUTES_MAX: Final = 32
"""Of what the client says of itself, and of each value."""
NAME_CHARACTERS_MAX: Final = 100
VALUE_CHARACTERS_MAX: Final = 250
"""Of an attribute, a metric's name and its unit; names of topics have up to 249."""

_PARTS_MAX: Final = 65_536
_PLAIN: Final = frozenset({"string_value", "int_value", "double_value"})
_NESTED: Final = "…"
_DELTA: Final = 1
_NOTHING: Final = Pushed({}, (), 0)


def is_imported() -> bool:
    """Whether the package has been looked for, so that a short push can be read in passing."""
    return _parser.cache_info().currsize > 0


def is_readable() -> bool:
    """Whether the package that reads metrics is installed; imports it."""
    return _parser() is not None


def read_push(
    codec: int, data: bytes | memoryview, *, bytes_max: int, stop: Stop = NEVER
) -> Pushed:
    """Return what is in a push.

    Args:
        codec: by which it is compressed.
        data: as it came.
        bytes_max: how large it may be when it is decompressed; more is never in memory.
        stop: checked while it is decompressed, and before it is decoded.

    Raises:
        InvalidRecord: it cannot be decompressed or decoded, or is too large.
        WorkStopped: `stop` was set.

    Rule: P-156 (ClientTelemetryUtils.decompress).
    """
    read = decompress(codec, data, output_bytes_max=bytes_max, parts_max=_PARTS_MAX, stop=stop)
    if read.failed or read.limit_exceeded:
        raise InvalidRecord("the metrics cannot be decompressed, or are too large")
    parse = _parser()
    if parse is None:
        return _NOTHING
    stop.check()
    return pushed_of(parse(bytes(read.data)))


def pushed_of(metrics_data: Any) -> Pushed:  # noqa: ANN401 - a message of protobuf has no type
    """Return what is in a MetricsData, within the bounds; what is beyond them is counted."""
    resource: dict[str, str] = {}
    points: list[Point] = []
    left_out = 0
    for of_resource in metrics_data.resource_metrics:
        told, beyond = _texts(of_resource.resource.attributes, ATTRIBUTES_MAX - len(resource))
        resource.update(told)
        left_out += beyond
        for scope in of_resource.scope_metrics:
            for metric in scope.metrics:
                found, beyond = _points(metric, POINTS_MAX - len(points))
                points += found
                left_out += beyond
    return Pushed(resource, points, left_out)


def _points(metric: Any, points_max: int) -> tuple[list[Point], int]:  # noqa: ANN401 - as above
    """Return the values of a metric, and how many are left out.

    A value is left out whole if one of its attributes is beyond the bounds: without that one, it
    could not be told from another.
    """
    kind = metric.WhichOneof("data")
    if kind is None:
        return [], 0
    values = getattr(metric, kind)
    # each access makes a new text, which all points are to share
    name, unit = metric.name, metric.unit
    if kind not in {"gauge", "sum"} or max(len(name), len(unit)) > VALUE_CHARACTERS_MAX:
        return [], len(values.data_points)
    is_sum = kind == "sum"
    is_delta = is_sum and values.aggregation_temporality == _DELTA
    is_counter = is_sum and values.is_monotonic
    left_out = max(0, len(values.data_points) - points_max)
    points: list[Point] = []
    for each in islice(values.data_points, points_max):
        which = each.WhichOneof("value")
        if which is None:
            continue
        labels = _labels(each.attributes)
        if labels is None:
            left_out += 1
        else:
            points.append(Point(name, labels, getattr(each, which), unit, is_counter, is_delta))
    return points, left_out


def _labels(attributes: Any) -> Labels | None:  # noqa: ANN401 - as above
    """Return the attributes of a value; None if they are beyond the bounds."""
    if not attributes:
        return ()
    found, beyond = _texts(attributes, ATTRIBUTES_MAX)
    return None if beyond else tuple(sorted(found.items()))


def _texts(
    attributes: Any,  # noqa: ANN401 - as above
    count_max: int,
) -> tuple[Mapping[str, str], int]:
    """Return attributes as texts, and how many of them are beyond the bounds."""
    beyond = max(0, len(attributes) - count_max)
    found: dict[str, str] = {}
    for each in islice(attributes, count_max):
        name, value = each.key, _text(each.value)
        if value is None:
            continue
        if len(name) > NAME_CHARACTERS_MAX or len(value) > VALUE_CHARACTERS_MAX:
            beyond += 1
        else:
            found[name] = value
    return found, beyond


def _text(value: Any) -> str | None:  # noqa: ANN401 - as above
    """Return the text of an AnyValue; None if it has none.

    Lists, maps and bytes are told by one sign: the text of nested values is hundreds of times
    their size.
    """
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "bool_value":
        return "true" if value.bool_value else "false"
    return str(getattr(value, which)) if which in _PLAIN else _NESTED


@cache
def _parser() -> Callable[[bytes], Any] | None:
    """Return what decodes a MetricsData, raising InvalidRecord; None without the package."""
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
    except ImportError:
        return None

    def parse(data: bytes) -> Any:  # noqa: ANN401 - as above
        try:
            return MetricsData.FromString(data)
        except DecodeError as error:
            raise InvalidRecord(f"the metrics cannot be decoded: {error}") from None

    return parse
