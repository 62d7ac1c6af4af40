"""OffsetCommit and TxnOffsetCommit."""

import pytest

from broker_lite.coordinator.offset_records import decode_offset_key, decode_offset_value
from broker_lite.errors import ErrorCode
from broker_lite.wire import ZERO_UUID, messages
from tests.coordinator.groups.groups_driver import START_MS, Driver, id_of

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE


@pytest.fixture
def driver() -> Driver:
    return Driver()


def code(found: list[tuple[str, int, ErrorCode]]) -> ErrorCode:
    (_, _, error_code), *others = found
    assert not others
    return error_code


@pytest.mark.parametrize("version", range(2, 11))
def test_g60_unknown_partitions_are_answered_first(driver: Driver, version: int) -> None:
    found = driver.commit(topics=[("t", (7, 0, 8, -1)), ("u", (1,))], version=version)
    unknown = [("t", index, UNKNOWN) for index in (7, 8, -1)]
    assert found == [*unknown, ("t", 0, NONE), ("u", 1, NONE)]


def test_g60_unknown_topics(driver: Driver) -> None:
    assert driver.commit(topics=[("x", (0, 1))]) == [("x", 0, UNKNOWN), ("x", 1, UNKNOWN)]
    found = driver.commit(topics=[("x", (0,))], version=10)
    assert code(found) is ErrorCode.UNKNOWN_TOPIC_ID
    assert driver.list() == set()


def test_g60_no_group_is_asked_when_nothing_is_left(driver: Driver) -> None:
    assert driver.commit(topics=[("x", (0,))], generation=3) == [("x", 0, UNKNOWN)]
    assert driver.commit(topics=[], generation=3) == []


@pytest.mark.parametrize(("version", "error_code"), [(8, 22), (9, 69), (10, 69)])
def test_g61_missing_group_with_a_generation(driver: Driver, version: int, error_code: int) -> None:
    assert code(driver.commit(generation=0, version=version)) == error_code
    assert driver.list() == set()


@pytest.mark.parametrize("group_id", ["g", ""])
def test_g61_a_group_is_made_of_who_uses_none(driver: Driver, group_id: str) -> None:
    assert code(driver.commit(5, group_id=group_id)) is NONE
    assert driver.list() == {(group_id, "", "Empty", "classic")}
    assert driver.fetch(("t", 0), group_id=group_id) == {("t", 0): 5}


def test_g61_nothing_is_made_when_nothing_is_stored(driver: Driver) -> None:
    assert code(driver.commit(metadata="x" * 4097)) is TOO_LARGE
    assert driver.list() == set()
    assert driver.log == []


def test_g62_members_of_a_classic_group(driver: Driver) -> None:
    member_id = driver.stable_member()
    assert code(driver.commit(member_id=member_id, generation=1)) is NONE
    for member, generation, expected in (
        (member_id, 2, ErrorCode.ILLEGAL_GENERATION),
        ("other", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        found = driver.commit(
            member_id=member, generation=generation, topics=[("t", (0, 1)), ("x", (0,))]
        )
        assert found == [("x", 0, UNKNOWN), ("t", 0, expected), ("t", 1, expected)]


def test_g30_a_commit_is_a_sign_of_life(driver: Driver) -> None:
    member_id = driver.stable_member(session_ms=10_000)
    for _ in range(3):
        driver.step(9_000)
        assert code(driver.commit(member_id=member_id, generation=1)) is NONE
    driver.step(10_000)
    assert driver.list() == {("g", "consumer", "Empty", "classic")}


def test_g63_members_of_a_consumer_group(driver: Driver) -> None:
    epoch = driver.consumer_heartbeat().member_epoch
    assert code(driver.commit(member_id="m", generation=epoch)) is NONE
    assert code(driver.commit(member_id="m", generation=epoch, version=8)) == 35
    assert code(driver.commit(member_id="m", generation=epoch + 1)) == 113
    assert code(driver.commit(member_id="m", generation=epoch - 1)) == 113
    assert code(driver.commit(member_id="z", generation=epoch)) == 25
    assert code(driver.commit()) == 25


def test_g63_an_older_epoch_is_good_for_what_was_kept(driver: Driver) -> None:
    old = driver.consumer_heartbeat()
    driver.consumer_heartbeat("m2")
    shrunk = driver.consumer_heartbeat("m", old.member_epoch)
    kept = {index for one in shrunk.assignment.topic_partitions for index in one.partitions}
    make = messages.ConsumerGroupHeartbeatRequest.TopicPartitions
    owned = [make(topic_id=id_of("t"), partitions=sorted(kept))]
    assert kept < {0, 1, 2}
    new = driver.consumer_heartbeat("m", old.member_epoch, topic_partitions=owned)
    assert new.member_epoch > old.member_epoch
    gone = {0, 1, 2} - kept
    for indexes, expected in ((kept, NONE), (gone, 113), ({0, 1, 2}, 113)):
        found = driver.commit(
            member_id="m", generation=old.member_epoch, topics=[("t", sorted(indexes))]
        )
        assert {result[2] for result in found} == {expected}
    # measured: what is refused for its metadata does not count
    found = driver.commit(
        member_id="m",
        generation=old.member_epoch,
        topics=[("t", sorted(gone))],
        metadata="x" * 4097,
    )
    assert {result[2] for result in found} == {12}
    for indexes, expected in ((kept, NONE), (gone, 22)):
        found = driver.commit_in_transaction(
            5, member_id="m", generation=old.member_epoch, topics=[("t", sorted(indexes))]
        )
        assert {result[2] for result in found} == {expected}
    # before the member had anything
    assert code(driver.commit(member_id="m", generation=0, topics=[("t", [min(kept)])])) == 113


def test_g63_empty_consumer_group(driver: Driver) -> None:
    epoch = driver.consumer_heartbeat().member_epoch
    driver.consumer_heartbeat("m", -1)
    assert epoch > 0
    assert code(driver.commit(member_id="z")) is NONE
    assert code(driver.commit(generation=3)) == 25


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("x" * 4096, NONE),
        ("x" * 4097, TOO_LARGE),
        ("\U0001f600" * 2048, NONE),
        ("\U0001f600" * 2048 + "x", TOO_LARGE),
        (None, NONE),
    ],
    ids=["G-65 limit", "G-65 over", "G-65 UTF-16 limit", "G-65 UTF-16 over", "G-65 null"],
)
def test_metadata(driver: Driver, metadata: str | None, expected: ErrorCode) -> None:
    assert code(driver.commit(metadata=metadata)) is expected


def test_ids_and_texts_that_fit_no_record_are_refused() -> None:
    driver = Driver(metadata_characters_max=100_000)
    long = "\ufffd" * 11_000
    assert code(driver.commit(group_id=long)) is ErrorCode.INVALID_GROUP_ID
    assert code(driver.commit_in_transaction(5, group_id=long)) is ErrorCode.INVALID_GROUP_ID
    assert driver.join(group_id=long).error_code == ErrorCode.INVALID_GROUP_ID
    assert code(driver.commit(metadata=long, retention_ms=5, version=4)) is TOO_LARGE
    assert code(driver.commit(metadata=long[:10_000], retention_ms=5, version=4)) is NONE


def test_g66_a_retention_that_overflows_is_over(driver: Driver) -> None:
    driver.commit(retention_ms=2**63 - 1, version=4)
    assert list(driver.expire()) == ["g"]


def test_g65_any_offset_is_stored(driver: Driver) -> None:
    for offset in (-(2**63), -77, 2**63 - 1):
        driver.commit(offset)
        assert driver.fetch(("t", 0)) == {("t", 0): offset}


@pytest.mark.parametrize(
    ("version", "retention_ms", "expire_ms"),
    [(4, -1, -1), (4, 0, START_MS), (2, 500, START_MS + 500), (9, -1, -1)],
)
def test_g66_what_is_stored(
    driver: Driver, version: int, retention_ms: int, expire_ms: int
) -> None:
    driver.commit(5, metadata="m", version=version, retention_ms=retention_ms)
    [(_, (_, [(key, value)]))] = driver.log  # type: ignore[misc, has-type]
    assert decode_offset_key(key) == ("g", "t", 0)
    stored = decode_offset_value(value)
    assert (stored.offset, stored.metadata, stored.commit_ms) == (5, "m", START_MS)
    assert stored.expire_ms == expire_ms
    assert stored.topic_id == (ZERO_UUID if expire_ms != -1 else id_of("t"))
    assert stored.leader_epoch == (-1 if expire_ms != -1 else 3)


# transactions


@pytest.mark.parametrize("version", range(7))
def test_t40_unknown_partitions(driver: Driver, version: int) -> None:
    found = driver.commit_in_transaction(5, topics=[("t", (7, 0)), ("x", (1,))], version=version)
    error_code = UNKNOWN if version < 6 else ErrorCode.UNKNOWN_TOPIC_ID
    name = "x" if version < 6 else ""
    assert found == [("t", 7, UNKNOWN), ("t", 0, NONE), (name, 1, error_code)]


def test_t40_empty_group_id(driver: Driver) -> None:
    assert code(driver.commit_in_transaction(5, group_id="")) is ErrorCode.INVALID_GROUP_ID


def test_t41_missing_group(driver: Driver) -> None:
    assert code(driver.commit_in_transaction(5, generation=0)) is ErrorCode.ILLEGAL_GENERATION
    assert driver.list() == set()
    assert code(driver.commit_in_transaction(5)) is NONE
    assert driver.list() == {("g", "", "Empty", "classic")}


def test_t41_simple_group(driver: Driver) -> None:
    driver.commit_in_transaction(5)
    assert code(driver.commit_in_transaction(5, generation=3)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code(driver.commit_in_transaction(5, member_id="m")) is NONE


def test_t41_classic_group_accepts_who_does_not_say_who_it_is(driver: Driver) -> None:
    member_id = driver.join().member_id
    assert driver.list() == {("g", "consumer", "CompletingRebalance", "classic")}
    assert code(driver.commit_in_transaction(5)) is NONE
    assert code(driver.commit_in_transaction(5, member_id=member_id, generation=1)) is NONE
    assert code(driver.commit_in_transaction(5, member_id=member_id, generation=2)) == 22
    assert code(driver.commit_in_transaction(5, member_id="z", generation=1)) == 25


def test_t41_consumer_group(driver: Driver) -> None:
    epoch = driver.consumer_heartbeat().member_epoch
    assert code(driver.commit_in_transaction(5)) is NONE
    assert code(driver.commit_in_transaction(5, member_id="m", generation=epoch)) is NONE
    assert code(driver.commit_in_transaction(5, member_id="m", generation=epoch - 1)) == 22
    assert code(driver.commit_in_transaction(5, member_id="z", generation=epoch)) == 25


def test_t43_metadata_too_long(driver: Driver) -> None:
    assert code(driver.commit_in_transaction(5, metadata="x" * 4097)) is TOO_LARGE
    assert driver.log == []


def test_t43_pending_until_the_transaction_ends(driver: Driver) -> None:
    driver.commit(1)
    driver.commit_in_transaction(5, topics=[("t", (0, 1))])
    assert driver.log[-1][1][0] == 7
    assert driver.offsets("g") == {"g": ({("t", 0): 1}, {("t", 0): 88})}
    driver.end(committed=True)
    both = {("t", 0): 5, ("t", 1): 5}
    assert driver.offsets("g") == {"g": (both, both)}


def test_t53_an_aborted_transaction_leaves_nothing(driver: Driver) -> None:
    driver.commit(1)
    driver.commit_in_transaction(5)
    driver.end(committed=False)
    assert driver.offsets("g") == {"g": ({("t", 0): 1}, {("t", 0): 1})}


def test_g72_a_plain_commit_within_is_stored_and_stays(driver: Driver) -> None:
    driver.commit_in_transaction(5)
    driver.commit(50)
    assert driver.fetch(("t", 0)) == {("t", 0): 50}
    driver.end(committed=True)
    assert driver.fetch(("t", 0)) == {("t", 0): 50}


def test_t45_a_member_that_leaves_does_not_take_its_transaction_along(driver: Driver) -> None:
    member_id = driver.stable_member()
    driver.commit_in_transaction(5, member_id=member_id, generation=1)
    driver.leave(member_id)
    driver.end(committed=True)
    assert driver.fetch(("t", 0)) == {("t", 0): 5}
