"""Streams groups beside groups of other types: who takes whose place, commits and deletions."""

from itertools import count
from typing import Any

import pytest

from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.groups.coordinator import GroupCoordinator
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.errors import NotCoordinator
from broker_lite.wire import messages
from tests.coordinator.consumer.consumer_driver import FakeTopics
from tests.coordinator.streams.streams_driver import PLAIN

Heartbeat = messages.StreamsGroupHeartbeatRequest
NOW_MS = 5000


class Coordinator:
    """All groups, and the records of their events."""

    def __init__(self) -> None:
        numbers = count()
        topics = FakeTopics(t=2)
        self.coordinator = GroupCoordinator(
            GroupSettings(), topics, lambda: f"u{next(numbers)}", lambda _: 0
        )
        self.records: list[tuple[bytes, bytes | None]] = []

    def ask(self, event: Any, request: Any, version: int = 9, **caller: Any) -> Any:
        effects: Effects = event(request, Caller(version, "c", "/h", "token", **caller), NOW_MS)
        self.records += effects.records
        return effects.replies[0][1]

    def join(self, group: str = "g", **fields: Any) -> Any:
        return self.beat(
            group,
            0,
            rebalance_timeout_ms=1000,
            topology=PLAIN,
            process_id="p",
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            **fields,
        )

    def beat(self, group: str, epoch: int, **fields: Any) -> Any:
        request = Heartbeat(group_id=group, member_id="m", member_epoch=epoch, **fields)
        return self.ask(self.coordinator.streams.heartbeat, request)

    def commit(self, member: str, epoch: int, topic: str = "t", version: int = 9) -> int:
        message = messages.OffsetCommitRequest
        partition = message.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        request = message(
            group_id="g",
            member_id=member,
            generation_id_or_member_epoch=epoch,
            topics=[message.OffsetCommitRequestTopic(name=topic, partitions=[partition])],
        )
        answer = self.ask(self.coordinator.commits.commit, request, version)
        return int(answer.topics[0].partitions[0].error_code)

    def commit_in_transaction(self, member: str, epoch: int) -> int:
        message = messages.TxnOffsetCommitRequest
        partition = message.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        request = message(
            group_id="g",
            member_id=member,
            generation_id_or_member_epoch=epoch,
            topics=[message.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])],
        )
        answer = self.ask(self.coordinator.commits.commit_transactional, request, 3)
        return int(answer.topics[0].partitions[0].error_code)

    def fetch(self, member: str | None, epoch: int) -> int:
        asked = messages.OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id="g", member_id=member, member_epoch=epoch, topics=None
        )
        request = messages.OffsetFetchRequest(groups=[asked])
        answer = self.coordinator.fetches.fetch(request, 9)
        return int(answer.groups[0].error_code)


@pytest.fixture
def groups() -> Coordinator:
    return Coordinator()


def test_u03_a_group_is_created_for_its_first_member(groups: Coordinator) -> None:
    assert groups.beat("g", 3).error_message == "Streams group g not found."
    assert groups.beat("g", -1).error_message == "Group g not found."
    assert groups.join().member_epoch == 2
    assert isinstance(groups.coordinator.registry.groups["g"], StreamsGroup)


def test_u06_a_member_that_is_refused_leaves_no_group(groups: Coordinator) -> None:
    answer = groups.beat("g", 0)
    assert answer.error_message == "RebalanceTimeoutMs must be provided in first request."
    assert groups.coordinator.registry.groups == {}


def test_u03_an_empty_classic_group_gives_way(groups: Coordinator) -> None:
    """Its offsets stay. U-04: the first answer has the endpoint epoch then."""
    assert groups.commit("", -1) == 0
    answer = groups.join(user_endpoint=Heartbeat.Endpoint(host="h", port=1))
    assert (answer.error_code, answer.endpoint_information_epoch) == (0, 1)
    assert groups.coordinator.registry.streams("g") is not None
    assert groups.coordinator.registry.offsets.of("g") is not None


def test_u03_a_refused_member_does_not_replace_a_classic_group(groups: Coordinator) -> None:
    groups.commit("", -1)
    before = groups.coordinator.registry.groups["g"]
    groups.coordinator.registry.settings = GroupSettings(streams_size_max=0)
    assert groups.join().error_code == 81
    assert groups.coordinator.registry.groups["g"] is before


def test_u03_groups_of_other_types_are_left_alone(groups: Coordinator) -> None:
    groups.coordinator.registry.make_share("g")
    answer = groups.join()
    assert (answer.error_code, answer.error_message) == (69, "Group g is not a streams group.")


def test_c60_another_broker_coordinates_the_group(groups: Coordinator) -> None:
    request = Heartbeat(group_id="g", member_id="m", member_epoch=1)
    with pytest.raises(NotCoordinator):
        groups.ask(groups.coordinator.streams.heartbeat, request, is_coordinator=False)


@pytest.mark.parametrize(
    ("member", "epoch", "version", "code"),
    [
        ("m", 2, 9, 0),
        ("m", 2, 8, 35),
        ("m", 3, 9, 113),
        ("m", 1, 9, 113),
        ("x", 2, 9, 25),
        ("", -1, 9, 25),
    ],
)
def test_u20_commits_of_members(
    groups: Coordinator, member: str, epoch: int, version: int, code: int
) -> None:
    groups.join()
    assert groups.commit(member, epoch, version=version) == code


def test_u20_an_older_epoch_counts_for_tasks_that_the_member_has_run_since(
    groups: Coordinator,
) -> None:
    groups.join()
    group = groups.coordinator.registry.streams("g")
    assert group is not None
    groups.beat("g", 2, rack_id="r")
    assert group.roster.members["m"].member_epoch == 3
    assert groups.commit("m", 2) == 0
    assert groups.commit("m", 1) == 113
    groups.coordinator.registry.topics.make("u", 1)  # type: ignore[attr-defined]
    assert groups.commit("m", 2, "u") == 113


def test_u20_commits_in_transactions(groups: Coordinator) -> None:
    groups.join()
    assert groups.commit_in_transaction("m", 2) == 0
    assert groups.commit_in_transaction("", -1) == 0
    assert groups.commit_in_transaction("m", 1) == 22


def test_u20_a_group_without_members_takes_commits_without_an_epoch(groups: Coordinator) -> None:
    groups.join()
    groups.beat("g", -1)
    assert groups.commit("", -1) == 0
    assert groups.commit("", 0) == 25


def test_u21_fetches_of_members(groups: Coordinator) -> None:
    groups.join()
    assert [groups.fetch("m", 2), groups.fetch(None, -1)] == [0, 0]
    assert [groups.fetch("m", 1), groups.fetch("x", 1)] == [113, 25]


def test_u22_a_classic_member_replaces_an_empty_group_only(groups: Coordinator) -> None:
    message = messages.JoinGroupRequest
    request = message(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[message.JoinGroupRequestProtocol(name="range")],
    )
    groups.join()
    join = groups.coordinator.members.join
    assert groups.ask(join, request, 4).error_code == 23
    groups.beat("g", -1)
    assert groups.ask(join, request, 4).error_code == 79
    assert groups.coordinator.registry.classic("g") is not None


def test_u22_requests_of_other_protocols(groups: Coordinator) -> None:
    groups.join()
    members = groups.coordinator.members
    sync = messages.SyncGroupRequest(group_id="g", member_id="m")
    assert groups.ask(members.sync, sync, 3).error_code == 25
    beat = messages.HeartbeatRequest(group_id="g", member_id="m")
    assert groups.ask(members.heartbeat, beat, 3).error_code == 25
    consumer = messages.ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1)
    assert groups.ask(members.consumer_heartbeat, consumer, 0).error_code == 69


def test_u22_u09_timers_and_deletion(groups: Coordinator) -> None:
    """A member that was silent is put out; then the group can be deleted, and loaded no more."""
    groups.join()
    delete = messages.DeleteGroupsRequest(groups_names=["g"])
    admin = groups.coordinator.admin
    assert admin.delete_groups(delete)[0].results[0].error_code == 68
    for _, effects in groups.coordinator.members.on_time(NOW_MS + 45_000):
        groups.records += effects.records
    response, deleted = admin.delete_groups(delete)
    assert response.results[0].error_code == 0
    groups.records += [record for _, effects in deleted for record in effects.records]
    other = Coordinator()
    other.coordinator.replay.batch(0, -1, groups.records)
    other.coordinator.replay.loaded(0, NOW_MS)
    assert other.coordinator.registry.groups == {}


def test_groups_are_loaded_and_unloaded(groups: Coordinator) -> None:
    groups.join()
    other = Coordinator()
    other.coordinator.replay.batch(0, -1, groups.records)
    other.coordinator.replay.loaded(0, NOW_MS)
    assert len(other.coordinator.timers) == 1
    assert other.beat("g", 2).error_code == 0
    other.coordinator.replay.unload(0)
    assert len(other.coordinator.timers) == 0


def test_u23_groups_are_listed_and_described(groups: Coordinator) -> None:
    groups.join()
    admin = groups.coordinator.admin
    (listed,) = admin.list_groups(messages.ListGroupsRequest()).groups
    assert (listed.group_type, listed.protocol_type, listed.group_state) == (
        "streams",
        "streams",
        "Stable",
    )
    found = [
        admin.describe_streams_group(each, is_foreign=each == "f") for each in ("g", "x", "", "f")
    ]
    assert [each.error_code for each in found] == [0, 69, 24, 16]
    groups.coordinator.registry.topics.delete("t")  # type: ignore[attr-defined]
    groups.coordinator.registry.topics_changed(["t"])
    groups.beat("g", 2)
    for states, expected in (["not_ready"], 1), (["NotReady"], 0):
        asked = messages.ListGroupsRequest(states_filter=states)
        assert len(admin.list_groups(asked).groups) == expected


def test_a_test_may_ask_for_a_new_assignment(groups: Coordinator) -> None:
    groups.join()
    effects = groups.coordinator.admin.rebalance("g", NOW_MS)
    assert effects is not None
    assert groups.beat("g", 2).member_epoch == 3
