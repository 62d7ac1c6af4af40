"""R-45."""

from typing import Any

import pytest

from broker_lite.errors import InvalidRecord
from broker_lite.record import control_values as values
from broker_lite.record.control_values import (
    Endpoint,
    KraftVersion,
    KraftVoter,
    KraftVoters,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
)

DIRECTORY = bytes(range(16))
VOTER = KraftVoter(1, DIRECTORY, (Endpoint("CONTROLLER", "höst", 65535),), 0, 1)

CASES: list[tuple[Any, Any, str]] = [
    (
        LeaderChange(1, (Voter(1),), ()),
        values.decode_leader_change,
        "0000" "00000001" "02" "00000001" "00" "01" "00",
    ),
    (
        LeaderChange(1, (Voter(1, DIRECTORY),), (Voter(1, DIRECTORY),), 1),
        values.decode_leader_change,
        "0001" "00000001" + 2 * ("02" "00000001" + DIRECTORY.hex() + "00") + "00",
    ),
    (SnapshotHeader(258), values.decode_snapshot_header, "0000" "0000000000000102" "00"),
    (SnapshotFooter(), values.decode_snapshot_footer, "0000" "00"),
    (KraftVersion(1), values.decode_kraft_version, "0000" "0001" "00"),
    (
        KraftVoters((VOTER,)),
        values.decode_kraft_voters,
        "0000" "02" "00000001" + DIRECTORY.hex() + "02" "0b" + b"CONTROLLER".hex() + "06"
        + "höst".encode().hex() + "ffff" "00" "0000" "0001" "00" "00" "00",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("value", "decode", "text"), CASES)
def test_r_45_bytes(value: Any, decode: Any, text: str) -> None:
    assert value.encode().hex() == text
    assert decode(bytes.fromhex(text)) == value


@pytest.mark.parametrize(("value", "decode", "text"), CASES)
def test_r_45_each_prefix_is_refused(value: Any, decode: Any, text: str) -> None:
    data = bytes.fromhex(text)
    for size_bytes in range(len(data)):
        with pytest.raises(InvalidRecord):
            decode(data[:size_bytes])


def test_r_45_unknown_tags_are_skipped() -> None:
    assert values.decode_kraft_version(bytes.fromhex("00000001020502aabb0600")) == (KraftVersion(1))


def test_r_45_a_huge_count_allocates_nothing() -> None:
    with pytest.raises(InvalidRecord):
        values.decode_leader_change(bytes.fromhex("000000000001ffffffff0f00000001"))
