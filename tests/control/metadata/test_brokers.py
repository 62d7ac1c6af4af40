from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.brokers import BrokerRegistration, BrokerRegistrations, Endpoint
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_records import MetadataRecord, decode, encode, make
from broker_lite.wire import ZERO_UUID, messages
from tests.control.registered import broker

DIRECTORY = b"d" * 16


def registered(node_id: int, epoch: int = 5, **fields: Any) -> MetadataRecord:
    endpoint = messages.RegisterBrokerRecord.BrokerEndpoint
    defaults: dict[str, Any] = {
        "end_points": [endpoint(name="PLAINTEXT", host="h", port=9092)],
        "rack": "r",
        "log_dirs": [DIRECTORY],
    }
    return make(kinds.REGISTER_BROKER, broker_id=node_id, broker_epoch=epoch, **(defaults | fields))


def changed(node_id: int, **fields: Any) -> MetadataRecord:
    return make(kinds.BROKER_REGISTRATION_CHANGE, broker_id=node_id, broker_epoch=5, **fields)


def brokers_of(*records: MetadataRecord) -> BrokerRegistrations:
    image = MetadataImage()
    image.apply(records)
    return image.brokers


def test_a_broker_is_what_its_record_says() -> None:
    found = brokers_of(registered(3))
    assert found.by_id == {
        3: BrokerRegistration(
            3, 5, "r", (Endpoint("PLAINTEXT", "h", 9092),), (DIRECTORY,), is_fenced=True
        )
    }
    assert not found.by_id[3].is_active
    assert found.alive() == []


def test_c20_a_broker_is_fenced_until_it_is_let_in() -> None:
    found = brokers_of(registered(3), changed(3, fenced=-1))
    assert found.by_id[3].is_active
    assert found.is_active(3)
    assert [one.node_id for one in found.alive()] == [3]


def test_c20_a_broker_that_registers_again_begins_anew() -> None:
    """Whatever it was before; a record without a word about its fence fences it."""
    found = brokers_of(
        registered(3),
        changed(3, fenced=-1, in_controlled_shutdown=1),
        registered(3, epoch=9, rack=None, end_points=[]),
    )
    assert found.by_id[3] == BrokerRegistration(3, 9, None, (), (DIRECTORY,), is_fenced=True)


def test_c21_a_fenced_broker_is_known_and_not_seen() -> None:
    found = brokers_of(registered(3), changed(3, fenced=-1), changed(3, fenced=1))
    assert found.by_id[3].is_fenced
    assert not found.is_active(3)
    assert found.alive() == []


def test_c22_a_broker_that_stops_is_seen_and_does_not_lead() -> None:
    found = brokers_of(registered(3), changed(3, fenced=-1), changed(3, in_controlled_shutdown=1))
    (one,) = found.alive()
    assert (one.is_fenced, one.is_stopping, one.is_active) == (False, True, False)
    assert not found.is_active(3)
    assert list(found.usable()) == []


def test_c22_a_broker_that_has_stopped_may_get_replicas_again() -> None:
    found = brokers_of(registered(3), changed(3, in_controlled_shutdown=1))
    assert [one.node_id for one in found.usable()] == [3]


def test_c23_a_broker_that_left_is_not_known() -> None:
    found = brokers_of(registered(3), make(kinds.UNREGISTER_BROKER, broker_id=3, broker_epoch=5))
    assert found.by_id == {}
    assert not found.is_active(3)


def test_records_from_before_kraft_3_3_fence_too() -> None:
    """FenceBrokerRecord and UnfenceBrokerRecord: Kafka reads them in old logs."""
    fence = make(kinds.FENCE_BROKER, id=3, epoch=5)
    unfence = make(kinds.UNFENCE_BROKER, id=3, epoch=5)
    assert brokers_of(registered(3), unfence).is_active(3)
    assert not brokers_of(registered(3), unfence, fence).is_active(3)


@pytest.mark.parametrize(
    "record",
    [
        changed(3, fenced=1),
        make(kinds.FENCE_BROKER, id=3, epoch=5),
        make(kinds.UNFENCE_BROKER, id=3, epoch=5),
        make(kinds.UNREGISTER_BROKER, broker_id=3, broker_epoch=5),
    ],
    ids=lambda record: type(record.value).__name__,
)
def test_records_of_a_broker_that_is_not_known_are_skipped(record: MetadataRecord) -> None:
    found = brokers_of(registered(2), record)
    assert list(found.by_id) == [2]


def test_a_change_leaves_what_it_does_not_name() -> None:
    before = brokers_of(registered(3)).by_id[3]
    assert brokers_of(registered(3), changed(3)).by_id[3] == before
    moved = brokers_of(registered(3), changed(3, log_dirs=[b"e" * 16, b"f" * 16])).by_id[3]
    assert moved == before._replace(directories=(b"e" * 16, b"f" * 16))


def test_the_brokers_that_are_alive_come_by_their_ids() -> None:
    records = [record for each in (30, 2, 10) for record in (registered(each), changed(each))]
    found = brokers_of(*records, changed(30, fenced=-1), changed(10, fenced=-1))
    assert [one.node_id for one in found.alive()] == [10, 30]


def test_each_change_is_another_version() -> None:
    image = MetadataImage()
    versions = [image.brokers.version]
    for record in (
        registered(3),
        changed(3, fenced=-1),
        make(kinds.UNREGISTER_BROKER, broker_id=3, broker_epoch=5),
    ):
        image.apply([record])
        versions.append(image.brokers.version)
    image.brokers.expect(broker(4))
    versions.append(image.brokers.version)
    assert versions == sorted(set(versions))


def test_new_replicas_go_into_the_only_directory() -> None:
    """Source: ClusterControlManager.defaultDir."""
    found = brokers_of(registered(3), registered(4, log_dirs=[b"e" * 16, b"f" * 16]))
    assert found.default_directory(3) == DIRECTORY
    assert found.default_directory(4) == ZERO_UUID
    assert found.default_directory(5) == ZERO_UUID


@given(
    st.lists(
        st.one_of(
            st.builds(registered, st.integers(1, 3), st.integers(0, 99), fenced=st.booleans()),
            st.builds(
                changed,
                st.integers(1, 3),
                fenced=st.sampled_from((-1, 0, 1)),
                in_controlled_shutdown=st.sampled_from((0, 1)),
            ),
            st.builds(lambda one: make(kinds.UNREGISTER_BROKER, broker_id=one), st.integers(1, 3)),
        )
    )
)
def test_the_log_makes_the_same_brokers_again(records: list[MetadataRecord]) -> None:
    """C-20 to C-23, with the bytes in between."""
    again = brokers_of(*(decode(encode(record, 30)) for record in records))
    assert again.by_id == brokers_of(*records).by_id
    for one in again.by_id.values():
        assert one.is_active == (one in again.alive() and not one.is_stopping)
        assert again.is_active(one.node_id) == one.is_active
