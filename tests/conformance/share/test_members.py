"""Members of share groups get records, say what to do with them, die, and let their locks end."""

import pytest

from tests.conformance.share.scene import LOCK_MS, TURN_MS, Got, ShareScene, clients

pytestmark = [pytest.mark.client, pytest.mark.slow]


def numbers(count: int) -> list[str]:
    """So many values."""
    return [str(number) for number in range(count)]


def values(records: list[Got]) -> list[str]:
    """What some records say, in the order of the numbers."""
    return sorted((each.value for each in records), key=int)


@clients("franz", "confluent")
def test_k11_two_members_share_one_partition(scene: ShareScene) -> None:
    scene.begin(numbers(12))
    members = [scene.member(name, max=2) for name in ("one", "other")]
    read: dict[str, list[Got]] = {"one": [], "other": []}
    for member, got in scene.turns(*members):
        read[member.name] += got
        scene.told(member, "accept", got)
        if len(read["one"]) + len(read["other"]) == 12:
            break
    assert values(read["one"] + read["other"]) == numbers(12)
    assert all(read.values()), read
    scene.all_done()
    scene.programs.leave()


@clients("franz", "confluent", "java")
def test_k14_released_records_come_again_and_rejected_ones_do_not(scene: ShareScene) -> None:
    scene.begin(numbers(4))
    member = scene.member(max=4)
    released, rejected, *accepted = scene.take(member, 4)
    scene.told(member, "release", [released])
    scene.told(member, "reject", [rejected])
    scene.told(member, "accept", accepted)
    (again,) = scene.take(member)
    assert again == released._replace(deliveries=2)
    scene.told(member, "accept", [again])
    scene.all_done()
    scene.programs.leave()


@clients("franz", "confluent", "java")
def test_k14_k18_a_record_that_is_always_released_is_given_up(scene: ShareScene) -> None:
    """The poison is in one batch with others, which are not given up with it."""
    scene.begin([], share_delivery_count_limit=3)
    scene.cluster.produce(scene.topic, *numbers(8))
    poison, deliveries, accepted = "5", [], []
    member = scene.member(max=8)
    for _, got in scene.turns(member):
        bad = [each for each in got if each.value == poison]
        good = [each for each in got if each.value != poison]
        accepted += good
        deliveries += [each.deliveries for each in bad]
        scene.told(member, "accept", good)
        scene.told(member, "release", bad)
        if len(deliveries) == 3:
            break
    assert deliveries == [1, 2, 3]
    assert values(accepted) == [each for each in numbers(8) if each != poison]
    scene.all_done()
    scene.programs.leave()


@clients("franz", "java")
def test_k14_a_member_that_renews_keeps_its_records(scene: ShareScene) -> None:
    scene.begin(numbers(2), share_record_lock_duration_ms=LOCK_MS)
    member, other = scene.member("member", max=2), scene.member("other", max=2)
    records = scene.take(member, 2)
    for _ in range(8):  # longer than a lock, and often enough that a slow machine does not lose it
        scene.told(member, "renew", records)
        assert scene.poll(other, LOCK_MS // 6) == []
    scene.told(member, "accept", records)
    scene.all_done()
    scene.programs.leave()


@clients("franz", "confluent")
def test_k15_k31_a_lock_ends_and_who_had_it_is_refused(scene: ShareScene) -> None:
    scene.begin(numbers(2), share_record_lock_duration_ms=LOCK_MS)
    member, other = scene.member("member", max=2), scene.member("other", max=2)
    records = scene.take(member, 2)
    again = scene.take(other, 2)
    assert again == [each._replace(deliveries=2) for each in records]
    answer = scene.say(member, "accept", records)
    assert answer.kind == "failed"
    assert "INVALIDRECORDSTATE" in answer.words[-1].upper().replace("_", ""), answer
    scene.told(other, "accept", again)
    scene.all_done()
    scene.programs.leave()


@pytest.mark.parametrize("end", ["leave", "kill"])
@clients("franz", "confluent")
def test_k16_others_get_what_a_member_had_when_it_ended(scene: ShareScene, end: str) -> None:
    scene.begin(numbers(2))
    member, other = scene.member("member", max=2), scene.member("other", max=3)
    done, held = scene.take(member, 2)
    scene.told(member, "accept", [done])
    # franz-go may fetch once more as its poll ends: it would keep the next record for a poll that
    # never comes. Such a fetch has waited in vain when this poll is over.
    assert scene.poll(other, 5 * TURN_MS) == []
    scene.produce(["2"])
    (rest,) = scene.take(other)
    assert (rest.value, rest.deliveries) == ("2", 1)
    scene.told(other, "accept", [rest])
    getattr(member, end)()
    (again,) = scene.take(other)
    assert again == held._replace(deliveries=2)
    scene.told(other, "accept", [again])
    scene.all_done()
    scene.programs.leave()


@clients("franz", "confluent")
def test_k30_a_member_accepts_by_its_next_poll(scene: ShareScene) -> None:
    scene.begin([], partitions=2)
    scene.cluster.produce(scene.topic, *numbers(300), partition=0)
    member = scene.member(mode="implicit")
    read: list[Got] = []
    for _, got in scene.turns(member):
        read += got
        if got and len(read) == 300:
            scene.cluster.produce(scene.topic, "300", partition=1)
        if len(read) > 300:
            break
    # the last poll is accepted by what ends the member
    assert values(read) == numbers(301)
    member.do("commit")
    member.leave()
    scene.all_done()


@clients("franz", "confluent")
def test_k19_aborted_records_are_not_delivered(scene: ShareScene) -> None:
    scene.begin([], share_isolation_level="read_committed")
    writer = scene.start("transactor", "writer", transactional_id=scene.topic, timeout_ms=60_000)
    writer.do("init")
    for value, end in (("0", "commit"), ("1", "abort"), ("2", "commit")):
        writer.do("begin")
        writer.do("send", 0, value)
        writer.do(end)
    member = scene.member(max=10)
    read: list[Got] = []
    for _, got in scene.turns(member):
        read += got
        scene.told(member, "accept", got)
        if len(read) == 2:
            break
    assert values(read) == ["0", "2"]
    scene.all_done()
    scene.programs.leave()
