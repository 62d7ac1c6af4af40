from typing import Any

import pytest

from broker_lite.coordinator.classic import records as classic_records
from broker_lite.coordinator.classic.member import ClassicMember
from broker_lite.wire import messages


def encoded(version: int, **fields: Any) -> bytes:
    value = messages.GroupMetadataValue(**fields)
    return version.to_bytes(2, "big") + messages.GroupMetadataValue.encode(value, version)


def test_g25_key() -> None:
    assert classic_records.encode_key("g1") == b"\x00\x02\x00\x02g1"


def test_g25_value_comes_back() -> None:
    member = ClassicMember(
        "m",
        instance_id="i",
        client_id="c",
        client_host="/h",
        session_timeout_ms=10,
        rebalance_timeout_ms=20,
        protocols=[("range", b"r"), ("sticky", b"s")],
        assignment=b"a",
    )
    data = classic_records.encode_value(
        protocol_type="consumer",
        protocol_name="sticky",
        generation=7,
        leader="m",
        state_changed_ms=99,
        members=[member],
    )
    assert data[:2] == b"\x00\x03"
    value = classic_records.decode_value(data)
    assert (value.protocol_type, value.protocol, value.generation) == ("consumer", "sticky", 7)
    assert (value.leader, value.current_state_timestamp) == ("m", 99)
    (loaded,) = classic_records.decode_members(value)
    assert loaded.protocols == [("sticky", b"s")]  # only the chosen one is written
    assert (loaded.instance_id, loaded.assignment) == ("i", b"a")
    assert (loaded.session_timeout_ms, loaded.rebalance_timeout_ms) == (10, 20)


@pytest.mark.parametrize("version", range(5), ids=lambda version: f"G-25-v{version}")
def test_older_and_newer_values_are_read(version: int) -> None:
    member = messages.GroupMetadataValue.MemberMetadata(member_id="m", session_timeout=10)
    data = encoded(version, protocol="range", members=[member])
    (loaded,) = classic_records.decode_members(classic_records.decode_value(data))
    assert loaded.member_id == "m"
    assert loaded.rebalance_timeout_ms == 10  # what v0 has instead
