"""Reads what clients push: metrics in OpenTelemetry's protobuf messages (OTLP 1.0, MetricsData).

The messages are those of the package opentelemetry-proto, which the extra `telemetry` installs. It
is imported at the first push: it takes 60 ms and 6 MB. Without it, pushes are taken and counted,
but not read.

Source: KIP-714, opentelemetry/proto/metrics/v1/metrics.proto.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from broker_lite.control.telemetry.series import Labels, Point, Pushed
from broker_lite.errors import InvalidRecord
from broker_lite.record.codecs.compression import decompress
from broker_lite.record.stopping import NEVER, Stop

HINT: Final = "pushes are counted, but not read: pip install 'broker-lite[telemetry]'"

_PARTS_MAX: Final = 65_536
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
        stop: checked while it is decompressed.

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
    return pushed_of(parse(bytes(read.data)))


def pushed_of(metrics_data: Any) -> Pushed:  # noqa: ANN401 - a message of protobuf has no type
    """Return what is in a MetricsData."""
    resource: dict[str, str] = {}
    points: list[Point] = []
    left_out = 0
    for of_resource in metrics_data.resource_metrics:
        resource.update(_texts(of_resource.resource.attributes))
        for scope in of_resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                if kind in {"gauge", "sum"}:
                    points += _points(metric, is_sum=kind == "sum")
                elif kind is not None:
                    left_out += len(getattr(metric, kind).data_points)
    return Pushed(resource, points, left_out)


def _points(metric: Any, *, is_sum: bool) -> Iterator[Point]:  # noqa: ANN401 - as above
    values = metric.sum if is_sum else metric.gauge
    is_delta = is_sum and values.aggregation_temporality == _DELTA
    is_counter = is_sum and values.is_monotonic
    for each in values.data_points:
        which = each.WhichOneof("value")
        if which is not None:
            yield Point(
                metric.name,
                _labels(each.attributes),
                getattr(each, which),
                metric.unit,
                is_counter,
                is_delta,
            )


def _labels(attributes: Iterable[Any]) -> Labels:
    return tuple(sorted(_texts(attributes).items())) if attributes else ()


def _texts(attributes: Iterable[Any]) -> Mapping[str, str]:
    """Return attributes as texts; those that are lists and the like as protobuf shows them."""
    found: dict[str, str] = {}
    for each in attributes:
        which = each.value.WhichOneof("value")
        if which is None:
            continue
        value = getattr(each.value, which)
        if isinstance(value, bool):
            value = "true" if value else "false"
        found[each.key] = str(value)
    return found


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
