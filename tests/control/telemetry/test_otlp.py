"""Reading pushes; the messages are made by the package that reads them, and broken by hand."""

import gzip
import sys
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from broker_lite.control.telemetry import otlp
from broker_lite.control.telemetry.otlp import (
    ATTRIBUTES_MAX,
    NAME_CHARACTERS_MAX,
    POINTS_MAX,
    VALUE_CHARACTERS_MAX,
    is_imported,
    is_readable,
    pushed_of,
    read_push,
)
from broker_lite.control.telemetry.series import Point
from broker_lite.errors import InvalidRecord
from broker_lite.record.codecs.compression import Codec, compress
from broker_lite.record.stopping import Stop, WorkStopped

DELTA, CUMULATIVE = 1, 2
LIMIT = 1 << 20


def metrics(**resource: str) -> tuple[MetricsData, Any]:
    data = MetricsData()
    of_resource = data.resource_metrics.add()
    for key, value in resource.items():
        of_resource.resource.attributes.add(key=key).value.string_value = value
    return data, of_resource.scope_metrics.add().metrics


def pushed(points: int) -> bytes:
    data, scope = metrics(client_rack="r1")
    for number in range(points):
        scope.add(name=f"m{number}").gauge.data_points.add(as_double=number)
    return data.SerializeToString()


def unknown_field(size_bytes: int) -> bytes:
    """A message of just this size, whose only field is not known."""
    for length_bytes in range(1, 5):
        rest = size_bytes - 1 - length_bytes
        if rest < 1 << 7 * length_bytes:
            length = [rest >> 7 * n & 127 | 128 for n in range(length_bytes)]
            length[-1] &= 127
            return bytes([0x7A, *length]) + bytes(rest)
    raise AssertionError(size_bytes)


def test_gauges_and_sums() -> None:
    data, scope = metrics(group_id="g", client_rack="r")
    gauge = scope.add(name="g", unit="ms").gauge.data_points.add(as_double=1.5)
    gauge.attributes.add(key="topic").value.string_value = "t"
    gauge.attributes.add(key="partition").value.int_value = 3
    for temporality, is_monotonic in ((DELTA, True), (CUMULATIVE, True), (DELTA, False)):
        total = scope.add(name="s").sum
        total.aggregation_temporality, total.is_monotonic = temporality, is_monotonic
        total.data_points.add(as_int=7)
    read = pushed_of(data)
    assert read.resource == {"group_id": "g", "client_rack": "r"}
    assert read.left_out == 0
    assert [*read.points] == [
        Point("g", (("partition", "3"), ("topic", "t")), 1.5, "ms"),
        Point("s", (), 7, is_counter=True, is_delta=True),
        Point("s", (), 7, is_counter=True),
        Point("s", (), 7, is_delta=True),
    ]


def test_what_has_no_value_or_another_kind() -> None:
    data, scope = metrics()
    scope.add(name="empty")
    scope.add(name="g").gauge.data_points.add()
    scope.add(name="h").histogram.data_points.add()
    labels = scope.add(name="l").gauge.data_points.add(as_int=1).attributes
    labels.add(key="none")
    labels.add(key="flag").value.bool_value = True
    read = pushed_of(data)
    assert [*read.points] == [Point("l", (("flag", "true"),), 1)]
    assert read.left_out == 1


def test_what_a_client_says_of_itself_is_bounded() -> None:
    data = MetricsData()
    for first in (0, 20):
        attributes = data.resource_metrics.add().resource.attributes
        for number in range(first, first + 20):
            attributes.add(key=f"k{number}").value.int_value = number
    read = pushed_of(data)
    assert [*read.resource] == [f"k{number}" for number in range(ATTRIBUTES_MAX)]
    assert read.left_out == 40 - ATTRIBUTES_MAX


@pytest.mark.parametrize(
    ("name_characters", "value_characters", "is_kept"),
    [
        (NAME_CHARACTERS_MAX, VALUE_CHARACTERS_MAX, True),
        (NAME_CHARACTERS_MAX + 1, 1, False),
        (1, VALUE_CHARACTERS_MAX + 1, False),
    ],
)
def test_attributes_are_bounded(name_characters: int, value_characters: int, is_kept: bool) -> None:
    name, value = "é" * name_characters, "v" * value_characters
    data, scope = metrics(**{name: value, "group_id": "g"})
    point = scope.add(name="a").gauge.data_points.add(as_int=1)
    point.attributes.add(key=name).value.string_value = value
    read = pushed_of(data)
    assert (name in read.resource, read.resource["group_id"]) == (is_kept, "g")
    # without one of its labels a value could not be told from others
    assert [*read.points] == ([Point("a", ((name, value),), 1)] if is_kept else [])
    assert read.left_out == (0 if is_kept else 2)


@pytest.mark.parametrize("count", [ATTRIBUTES_MAX, ATTRIBUTES_MAX + 1])
def test_labels_of_a_value_are_bounded(count: int) -> None:
    data, scope = metrics()
    attributes = scope.add(name="a").gauge.data_points.add(as_int=1).attributes
    for number in range(count):
        attributes.add(key=f"k{number}").value.int_value = number
    read = pushed_of(data)
    assert len([*read.points]) == (count == ATTRIBUTES_MAX)
    assert read.left_out == (count > ATTRIBUTES_MAX)


def test_names_and_units_are_bounded_and_shared() -> None:
    data, scope = metrics()
    long = "n" * (VALUE_CHARACTERS_MAX + 1)
    for name, unit in ((long[1:], long[1:]), (long, ""), ("a", long)):
        points = scope.add(name=name, unit=unit).gauge.data_points
        for number in range(2):
            points.add(as_int=number)
    read = pushed_of(data)
    one, other = read.points
    assert one.name == long[1:]
    assert (one.name is other.name, one.unit is other.unit) == (True, True)
    assert read.left_out == 4


def test_the_values_of_a_push_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert POINTS_MAX == 20_000
    monkeypatch.setattr(otlp, "POINTS_MAX", 5)
    data, scope = metrics()
    for name in ("a", "b", "c"):
        points = scope.add(name=name).sum.data_points
        for number in range(3):
            points.add(as_int=number)
    read = pushed_of(data)
    assert [each.name for each in read.points] == ["a", "a", "a", "b", "b"]
    assert read.left_out == 4


def test_nested_values_are_not_told() -> None:
    data, scope = metrics()
    attributes = scope.add(name="a").gauge.data_points.add(as_int=1).attributes
    attributes.add(key="double").value.double_value = 0.5
    attributes.add(key="bytes").value.bytes_value = b"x"
    attributes.add(key="empty list").value.array_value.SetInParent()
    nested = attributes.add(key="map").value
    for _ in range(40):
        nested = nested.kvlist_value.values.add(key="k").value
    nested.string_value = "v"
    (point,) = pushed_of(data).points
    assert dict(point.labels) == {"double": "0.5", "bytes": "…", "empty list": "…", "map": "…"}


@pytest.mark.parametrize("codec", Codec)
def test_p156_every_codec(codec: Codec) -> None:
    data = compress(codec, pushed(30))
    read = read_push(codec, memoryview(data), bytes_max=LIMIT)
    assert len([*read.points]) == 30
    assert read.resource == {"client_rack": "r1"}


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_p156_what_is_not_compressed(codec: Codec) -> None:
    with pytest.raises(InvalidRecord):
        read_push(codec, b"garbage", bytes_max=LIMIT)


def test_p156_what_is_no_message() -> None:
    with pytest.raises(InvalidRecord, match="cannot be decoded"):
        read_push(0, b"\xff" * 20, bytes_max=LIMIT)


@pytest.mark.parametrize("codec", Codec)
def test_p156_the_size_after_decompression_is_bounded(codec: Codec) -> None:
    just, more = (compress(codec, unknown_field(size)) for size in (LIMIT, LIMIT + 1))
    assert [*read_push(codec, just, bytes_max=LIMIT).points] == []
    with pytest.raises(InvalidRecord, match="too large"):
        read_push(codec, more, bytes_max=LIMIT)


def test_p156_a_bomb_of_many_parts() -> None:
    with pytest.raises(InvalidRecord, match="too large"):
        read_push(Codec.GZIP, gzip.compress(b"") * 70_000, bytes_max=LIMIT)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_work_that_is_stopped(codec: Codec) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(WorkStopped):
        read_push(codec, compress(codec, pushed(1)), bytes_max=LIMIT, stop=stop)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.metrics.v1.metrics_pb2", None)
    otlp._parser.cache_clear()
    try:
        assert not is_imported()
        assert not is_readable()
        assert is_imported()
        assert read_push(0, b"\xff" * 20, bytes_max=LIMIT) == ({}, (), 0)
    finally:
        monkeypatch.undo()
        otlp._parser.cache_clear()
    assert is_readable()
