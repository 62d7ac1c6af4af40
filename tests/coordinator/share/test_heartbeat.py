"""Heartbeats of share groups, request by request, as measured on Kafka 4.3.1; and loading them.

Also tests: broker_lite.coordinator.share.changes, broker_lite.coordinator.share.group,
broker_lite.coordinator.share.member, broker_lite.coordinator.share.roster,
broker_lite.coordinator.share.describe, broker_lite.coordinator.share.records,
broker_lite.coordinator.share.replay.
"""

from struct import unpack_from
from typing import Any

import pytest

from broker_lite.coordinator.effects import NO_START, Caller, Effects
from broker_lite.coordinator.group_records import SHARE
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.share import changes
from broker_lite.coordinator.share.bounds import TOPICS_MAX
from broker_lite.coordinator.share.describe import describe
from broker_lite.coordinator.share.group import STATE_BYTES, ShareGroup, StatefulTopic
from broker_lite.coordinator.share.heartbeat import check_heartbeat, handle, put_out
from broker_lite.coordinator.share.member import ShareMember, size_of_member
from broker_lite.coordinator.share.records import STATE_PARTITIONS
from broker_lite.coordinator.share.replay import apply_record
from broker_lite.coordinator.timers import SESSION, TimerKey, Timers
from broker_lite.errors import ErrorCode, InvalidRequest
from broker_lite.wire import messages
from tests.coordinator.consumer.consumer_driver import FakeTopics

Request = messages.ShareGroupHeartbeatRequest
STATE = STATE_BYTES + len("g")
MEMBER = size_of_member(ShareMember(member_id="m", client_id="c", topic_names=("t",)))


class Driver:
    """One share group, its topics, and the records of its events."""

    def __init__(self, settings: GroupSettings | None = None, **counts: int) -> None:
        self.topics = FakeTopics(**counts)
        self.timers: Timers[TimerKey] = Timers()
        self.settings = settings or GroupSettings()
        self.group = ShareGroup("g", self.timers, self.settings, self.topics)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.effects = Effects()
        self.now_ms = 1000

    def beat(
        self, member: str, epoch: int, *names: str, rack: str | None = None, client: str = "c"
    ) -> Any:
        request = Request(
            group_id="g",
            member_id=member,
            member_epoch=epoch,
            rack_id=rack,
            subscribed_topic_names=list(names) or None,
        )
        check_heartbeat(request, client)
        self.effects = Effects()
        caller = Caller(1, client, "/127.0.0.1", object())
        handle(self.group, request, caller, self.effects, self.now_ms)
        self.log += self.effects.records
        ((_, response),) = self.effects.replies
        return response

    def given(self, response: Any) -> list[int] | None:
        if response.assignment is None:
            return None
        return [p for each in response.assignment.topic_partitions for p in each.partitions]

    def loaded(self) -> ShareGroup:
        group = ShareGroup("g", Timers(), self.settings, self.topics)
        for key, value in self.log:
            apply_record(group, unpack_from(">h", key)[0], key, value)
        group.loaded(self.now_ms)
        return group


def types(effects: Effects) -> list[int]:
    return [unpack_from(">h", each.key)[0] for each in effects.records]


def state_of(group: ShareGroup) -> tuple[Any, ...]:
    return (
        group.roster.members,
        group.group_epoch,
        group.metadata_hash,
        group.target_epoch,
        group.target_timestamp_ms,
        group.targets,
        group.stateful,
        group.state,
    )


def test_k02_k03_the_first_member_gets_all_partitions() -> None:
    driver = Driver(t=2)
    response = driver.beat("m", 0, "t")
    assert (response.error_code, response.member_epoch) == (0, 2)
    assert (response.heartbeat_interval_ms, driver.given(response)) == (5000, [0, 1])
    assert types(driver.effects) == [10, 11, 15, 13, 12, 14]
    topic_id = driver.topics.id("t")
    assert driver.effects.share_starts == [
        ("g", topic_id, 0, NO_START, 2),
        ("g", topic_id, 1, NO_START, 2),
    ]
    assert driver.group.stateful == {topic_id: StatefulTopic("t", frozenset((0, 1)))}
    assert driver.given(driver.beat("m", 2)) is None
    assert driver.effects.records == []
    assert driver.given(driver.beat("m", 2, "t")) == [0, 1]
    assert driver.given(driver.beat("m", 0, "t")) == [0, 1]


def test_k02_k05_members_share_partitions() -> None:
    driver = Driver(t=2)
    driver.beat("a", 0, "t")
    second = driver.beat("b", 0, "t")
    assert (second.member_epoch, driver.given(second)) == (3, [1])
    first = driver.beat("a", 2)
    assert (first.member_epoch, driver.given(first)) == (3, [0])
    assert driver.given(driver.beat("c", 0, "t")) == [0]
    assert driver.beat("a", 2).member_epoch == 4
    assert driver.given(driver.beat("a", 4)) is None


@pytest.mark.parametrize(
    ("epoch", "word"),
    [pytest.param(7, "greater", id="K-02"), pytest.param(1, "smaller", id="K-02 1")],
)
def test_a_wrong_epoch_is_fenced(epoch: int, word: str) -> None:
    driver = Driver(t=1)
    driver.beat("m", 0, "t")
    response = driver.beat("m", epoch)
    assert response.error_code == 110
    assert f"a {word} member epoch ({epoch})" in response.error_message


def test_topics_of_many_members_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(t=1, u=1)
    looked_up: list[str] = []
    get = driver.topics.get

    def counted(name: str) -> Any:
        looked_up.append(name)
        return get(name)

    monkeypatch.setattr(driver.topics, "get", counted)
    counts = []
    for number in range(10):
        looked_up.clear()
        assert driver.given(driver.beat(f"m{number}", 0, "t", "u")) == [0, 0]
        counts.append(len(looked_up))
    assert counts == [counts[0]] * 10


def test_k02_unknown_members_and_full_groups() -> None:
    driver = Driver(GroupSettings(share_size_max=1), t=1)
    driver.beat("m", 0, "t")
    assert driver.beat("n", 5).error_message == "Member n is not a member of group g."
    assert driver.beat("n", -1).error_code == 25
    assert driver.beat("n", 0, "t").error_code == 81
    assert driver.beat("m", 0, "t").error_code == 0
    small = Driver(GroupSettings(held_bytes_max=10), t=1)
    assert small.beat("m", 0, "t").error_code == 81
    assert small.group.is_unwritten


def test_k38_too_many_topics_are_refused_and_change_nothing() -> None:
    driver, many = Driver(t=1), [f"u{number}" for number in range(TOPICS_MAX)]
    epoch = driver.beat("m", 0, "t").member_epoch
    answer = driver.beat("m", epoch, *many, "t")
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert answer.error_message == f"The share group subscribes to more than {TOPICS_MAX} topics."
    assert driver.effects.records == []
    assert driver.group.subscribed_topics() == {"t"}
    assert driver.beat("m", epoch).error_code == 0
    assert driver.beat("n", 0, *many, "v").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert list(driver.group.roster.members) == ["m"]


def test_k37_the_states_of_partitions_take_memory() -> None:
    settings = GroupSettings(held_bytes_max=MEMBER + 3 * STATE)
    driver = Driver(settings, t=3, u=4)
    assert driver.beat("m", 0, "u").error_code == 81
    assert driver.group.is_unwritten
    assert driver.beat("m", 0, "t").error_code == 0
    assert driver.group.roster.held.count == MEMBER + 3 * STATE
    assert driver.loaded().roster.held.count == MEMBER + 3 * STATE
    assert driver.beat("m", 2, "t", "u").error_code == 81
    assert driver.group.roster.members["m"].topic_names == ("t",)
    driver.beat("m", -1)
    assert driver.beat("n", 0, "t").error_code == 0
    changes.end_topics(driver.group, [driver.topics.id("t")], driver.effects)
    assert driver.group.roster.held.count == MEMBER


def test_k37_states_of_deleted_topics_take_no_memory_in_a_group_without_members() -> None:
    driver = Driver(GroupSettings(held_bytes_max=MEMBER + 3 * STATE), t=3, u=1)
    driver.beat("m", 0, "t")
    driver.beat("m", -1)
    driver.group.topics_changed(["t", "u"])
    assert driver.group.roster.held.count == 3 * STATE
    driver.topics.delete("t")
    driver.group.topics_changed(["t"])
    assert driver.group.roster.held.count == 0
    loaded = driver.loaded()
    assert (loaded.stateful, loaded.roster.held.count) == ({}, 0)
    for group in (driver.group, loaded):
        driver.group = group
        assert driver.beat("n", 0, "t").error_code == 0
        assert types(driver.effects).count(STATE_PARTITIONS) == 1
        assert driver.beat("n", -1).error_code == 0
        assert driver.beat("n", 0, "t").error_code == 0
        assert STATE_PARTITIONS not in types(driver.effects)


def test_k37_partitions_of_a_topic_that_grows_may_have_no_state() -> None:
    driver = Driver(GroupSettings(held_bytes_max=MEMBER + 3 * STATE), t=2)
    driver.beat("m", 0, "t")
    driver.topics.grow("t", 9)
    driver.group.topics_changed(["t"])
    assert driver.beat("m", 2).error_code == 0
    topic_id = driver.topics.id("t")
    assert driver.group.stateful == {topic_id: StatefulTopic("t", frozenset((0, 1, 2)))}
    assert [start.partition for start in driver.effects.share_starts] == [2]


def test_a_member_leaves() -> None:
    driver = Driver(t=1)
    driver.beat("m", 0, "t")
    assert ("g", SESSION, "m") in driver.timers
    response = driver.beat("m", -1)
    assert (response.error_code, response.member_id, response.member_epoch) == (0, "m", -1)
    assert response.heartbeat_interval_ms == 0
    assert types(driver.effects) == [14, 13, 10, 11]
    assert driver.group.state.value == "Empty"
    assert len(driver.timers) == 0
    put_out(driver.group, "m", driver.effects)
    assert driver.group.group_epoch == 3


def test_k03_topics_grow_appear_and_go() -> None:
    driver = Driver(t=1)
    driver.beat("m", 0, "t", "u")
    driver.topics.grow("t", 2)
    driver.group.topics_changed(["x"])
    assert driver.given(driver.beat("m", 2)) is None
    driver.group.topics_changed(["t"])
    response = driver.beat("m", 2)
    assert (response.member_epoch, driver.given(response)) == (3, [0, 1])
    assert [each.partition for each in driver.effects.share_starts] == [1]
    driver.topics.make("u", 1)
    driver.topics.delete("t")
    driver.group.topics_changed(["t", "u"])
    assert driver.given(driver.beat("m", 3)) == [0]
    assert [*driver.group.stateful.values()] == [("u", {0})]
    driver.group.is_metadata_stale = True
    driver.beat("m", 4)
    assert driver.effects.records == []


def test_an_assignment_waits_for_its_interval() -> None:
    driver = Driver(GroupSettings(share_assignment_interval_ms=500), t=2)
    driver.beat("a", 0, "t")
    assert driver.given(driver.beat("b", 0, "t")) == []
    driver.now_ms += 500
    assert driver.given(driver.beat("b", 2)) == [1]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"group_id": " "}, "GroupId can't be empty.", id="G-113 group"),
        pytest.param({"member_id": ""}, None, id="G-113 member"),
        pytest.param({"rack_id": ""}, "RackId can't be empty.", id="G-113 rack"),
        pytest.param({"member_epoch": -2}, "MemberEpoch is invalid.", id="G-113 epoch"),
        pytest.param(
            {"subscribed_topic_names": []},
            "SubscribedTopicNames must be set in first request.",
            id="G-113 names",
        ),
        pytest.param({"member_id": "x" * 40_000}, "A text has more than 32767 bytes.", id="long"),
    ],
)
def test_what_is_wrong_by_itself(fields: dict[str, Any], text: str | None) -> None:
    given = {"group_id": "g", "member_id": "m", "member_epoch": 0, "subscribed_topic_names": ["t"]}
    with pytest.raises(InvalidRequest) as caught:
        check_heartbeat(Request(**{**given, **fields}), "c")
    assert caught.value.message == text


def test_a_group_is_loaded_as_it_was() -> None:
    driver = Driver(t=3, u=2)
    driver.beat("a", 0, "t")
    driver.beat("b", 0, "t", "u", rack="r")
    driver.beat("a", 2, client="other")
    driver.beat("b", -1)
    loaded = driver.loaded()
    assert state_of(loaded) == state_of(driver.group)
    assert loaded.roster.held.count == driver.group.roster.held.count
    loaded.loaded(5)
    assert loaded.timers.is_set(SESSION, "a")
    loaded.unload()
    assert not loaded.timers.is_set(SESSION, "a")


def test_records_may_lack_others() -> None:
    driver = Driver(t=1)
    driver.beat("m", 0, "t")
    group = ShareGroup("g", Timers(), driver.settings, driver.topics)
    current = next(each for each in driver.log if each[0][1] == SHARE.current)
    apply_record(group, SHARE.current, *current)
    assert group.roster.members["m"].member_epoch == 2
    member = next(each for each in driver.log if each[0][1] == SHARE.member)
    apply_record(group, SHARE.member, *member)
    assert group.roster.members["m"] == driver.group.roster.members["m"]
    apply_record(group, SHARE.current, current[0], None)
    assert group.roster.members["m"].member_epoch == 0
    apply_record(group, SHARE.member, member[0], None)
    apply_record(group, SHARE.current, current[0], None)
    apply_record(group, SHARE.target, SHARE.target_key("g", "m"), None)
    assert group.roster.members == {}


def test_k04_a_group_is_deleted_with_its_states() -> None:
    driver = Driver(t=2)
    driver.beat("m", 0, "t")
    effects = Effects()
    changes.drop_group(driver.group, effects)
    assert types(effects) == [14, 13, 12, 10, 15, 11]
    assert all(each.value is None for each in effects.records)
    assert [each.start_offset for each in effects.share_starts] == [None, None]
    assert driver.group.state.value == "Dead"
    driver.log += effects.records
    loaded = driver.loaded()
    assert (loaded.is_deleted, loaded.roster.members, loaded.stateful) == (True, {}, {})


def test_k04_the_states_of_a_topic_end() -> None:
    driver = Driver(t=1, u=1)
    driver.beat("m", 0, "t", "u")
    effects = Effects()
    changes.end_topics(driver.group, [driver.topics.id("t"), b"unknown"], effects)
    assert [each.topic_id for each in effects.share_starts] == [driver.topics.id("t")]
    assert [*driver.group.stateful] == [driver.topics.id("u")]


def test_k06_a_group_is_described() -> None:
    driver = Driver(t=2, u=1)
    driver.beat("m", 0, "t", "u", rack="r", client="probe")
    driver.topics.delete("u")
    described = describe(driver.group)
    assert (described.group_id, described.group_state, described.assignor_name) == (
        "g",
        "Stable",
        "simple",
    )
    assert (described.group_epoch, described.assignment_epoch) == (2, 2)
    (member,) = described.members
    assert (member.member_id, member.rack_id, member.member_epoch) == ("m", "r", 2)
    assert (member.client_id, member.client_host) == ("probe", "/127.0.0.1")
    assert member.subscribed_topic_names == ["t", "u"]
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("t", [0, 1])
