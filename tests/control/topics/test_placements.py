"""Places that are found ahead of a change, in slices."""

import random
from collections.abc import Generator
from typing import Any, TypeVar

import pytest

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_records import (
    OLDEST_METADATA_VERSION,
    PartitionRecords,
    encode_change,
)
from broker_lite.control.topics.placements import Ahead, added, ahead, assigned, chosen, found
from broker_lite.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from tests.control.registered import broker, image_of_brokers

T = TypeVar("T")


def in_slices(slices: Generator[None, None, T]) -> tuple[T, int]:
    """The result of all slices, and how many there were."""
    count = 0
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value, count
        count += 1


def placed(image: MetadataImage, slices: Any, **more: int) -> Ahead:
    known, _ = in_slices(ahead(image.brokers, slices, OLDEST_METADATA_VERSION, **more))
    return known


def test_c02_places_come_in_slices() -> None:
    image = image_of_brokers(1, 2, 3)
    places, count = in_slices(chosen(image.brokers, 100, 2, random.Random(1)))
    assert (len(places), count) == (100, 100)
    assert places == found(image.brokers, chosen(image.brokers, 100, 2, random.Random(1)), None)


def test_what_was_found_ahead_counts() -> None:
    image = image_of_brokers(1, 2, 3)
    known = placed(image, chosen(image.brokers, 10, 2, random.Random(1)))
    others = chosen(image.brokers, 10, 2, random.Random(2))
    assert found(image.brokers, others, known) is known.placements


def test_it_does_not_count_when_a_broker_has_changed() -> None:
    image = image_of_brokers(1, 2, 3)
    known = placed(image, chosen(image.brokers, 10, 3, random.Random(1)))
    image.brokers.expect(broker(4))
    now = found(image.brokers, chosen(image.brokers, 10, 4, random.Random(1)), known)
    assert {len(place.replicas) for place in now} == {4}


def test_it_does_not_count_when_the_topic_has_grown() -> None:
    image = image_of_brokers(1, 2, 3)
    known = placed(image, added(image.brokers, [[1], [2]], 4, 1), first_index=4)
    (now,) = found(image.brokers, added(image.brokers, [[3]], 5, 1), known, 5)
    assert now.replicas == (3,)


def test_p104_an_error_that_was_found_ahead_is_raised() -> None:
    image = image_of_brokers(1, 2, 3)
    known = placed(image, assigned(image.brokers, [(0, [1]), (1, [4])]))
    with pytest.raises(InvalidReplicaAssignment, match="includes broker 4"):
        found(image.brokers, assigned(image.brokers, [(0, [1])]), known)


def test_c01_an_error_that_is_found_now_is_raised() -> None:
    image = image_of_brokers(1)
    with pytest.raises(InvalidReplicationFactor):
        found(image.brokers, chosen(image.brokers, 1, 2, random.Random(1)), None)


@pytest.mark.parametrize("version", [OLDEST_METADATA_VERSION, OLDEST_METADATA_VERSION + 20])
def test_records_of_encoded_places_are_those_of_others(version: int) -> None:
    """Also where metadata.version has changed since they were encoded."""
    image = image_of_brokers(1, 2, 3)
    known = placed(image, chosen(image.brokers, 50, 2, random.Random(1)))
    fresh = PartitionRecords(b"i" * 16, 7, known.placements)
    encoded = PartitionRecords(b"i" * 16, 7, known.placements, known.encoded)
    assert encode_change(encoded, version) == encode_change(fresh, version)
    singly = [encode_change(each, version)[0] for each in fresh.each()]
    assert encode_change(encoded, version) == singly
