"""StreamsGroupHeartbeat and StreamsGroupDescribe through their handlers, with internal topics."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.streams.ahead import ConfiguredAhead
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.coordinator.topics import TopicsByName
from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import GROUP_OPERATIONS, NOT_ASKED
from broker_lite.handler.large import LARGE_BYTES
from broker_lite.handler.streams.groups import STREAMS_VERSION
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker, OpenBroker

Request = messages.StreamsGroupHeartbeatRequest


@pytest.fixture
def broker(broker: HandlerBroker) -> HandlerBroker:
    """It has topic t with two partitions."""
    cluster = broker.cluster
    cluster.create_topics([cluster.plan_topic(NewTopic("t", 2))])
    return broker


def topology(*changelogs: str, source: str = "t", **topic: Any) -> Any:
    infos = [Request.TopicInfo(name=name, partitions=0, **topic) for name in changelogs]
    part = Request.Subtopology(
        subtopology_id="0", source_topics=[source], state_changelog_topics=infos
    )
    return Request.Topology(epoch=0, subtopologies=[part])


def join(broker: HandlerBroker, told: Any, group: str = "g", member: str = "m") -> Any:
    return broker.call(
        "StreamsGroupHeartbeat",
        0,
        group_id=group,
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=1000,
        process_id=member,
        topology=told,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )


def beat(broker: HandlerBroker, epoch: int) -> Any:
    return broker.call("StreamsGroupHeartbeat", 0, group_id="g", member_id="m", member_epoch=epoch)


def test_u07_a_member_gets_its_tasks(broker: HandlerBroker) -> None:
    answer = join(broker, topology())
    assert (answer.error_code, answer.member_epoch, answer.status) == (0, 2, [])
    assert [(each.subtopology_id, each.partitions) for each in answer.active_tasks] == [
        ("0", [0, 1])
    ]
    assert beat(broker, 2).active_tasks is None


def test_u07_a_large_topology_is_prepared_before_the_group_is_asked(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its request is decoded in slices, and what the group needs of it is made in slices, too."""
    steps: list[int] = []
    make = ToldTopology.prepare

    def prepare(told: ToldTopology, topics: TopicsByName, **how: bool) -> Iterator[None]:
        for number, step in enumerate(make(told, topics, **how)):
            steps.append(number)
            yield step

    monkeypatch.setattr(ToldTopology, "prepare", prepare)
    names = [f"changelog-{number:020}" for number in range(LARGE_BYTES // 30)]
    answer = join(broker, topology(*names))
    assert (answer.error_code, answer.member_epoch) == (0, 2)
    assert [each.status_code for each in answer.status] == [3]
    assert len(steps) > 5
    steps.clear()
    assert join(broker, topology(*names), member="other").error_code == 0
    assert len(steps) == 2, "what the group has already is not made again"
    steps.clear()
    assert join(broker, topology(), group="small").error_code == 0
    assert not steps


def test_u12_a_large_topology_is_configured_before_the_group_is_asked(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a heartbeat that does not bring it, and for a member that joins again."""

    def at_once(*_: Any) -> Any:
        raise AssertionError("configured without a turn for others")

    monkeypatch.setattr("broker_lite.coordinator.streams.ahead.configure", at_once)
    steps: list[str] = []
    make = ConfiguredAhead.prepare

    def prepare(ahead: ConfiguredAhead, topics: TopicsByName) -> Iterator[None]:
        steps.append("ahead")
        yield from make(ahead, topics)

    monkeypatch.setattr(ConfiguredAhead, "prepare", prepare)
    told = topology(*(f"changelog-{number:020}" for number in range(LARGE_BYTES // 30)))
    assert join(broker, told).member_epoch == 2
    answer = beat(broker, 2)  # a new group has forgotten it
    assert (answer.error_code, answer.member_epoch, answer.status) == (0, 3, [])
    assert len(steps) == 2
    assert beat(broker, 3).error_code == 0
    assert len(steps) == 2, "it is known by now"
    broker.cluster.delete_topics([broker.cluster.topics[f"changelog-{7:020}"]])
    answer = beat(broker, 3)
    assert [each.status_code for each in answer.status] == [3]
    assert len(steps) == 3
    assert join(broker, told).error_code == 0  # the topic was created again
    assert len(steps) == 4
    broker.cluster.delete_topics([broker.cluster.topics[f"changelog-{7:020}"]])
    assert beat(broker, -1).member_epoch == -1
    assert len(steps) == 4, "who leaves does not need it"


@pytest.mark.parametrize("size_bytes", [1, LARGE_BYTES])
def test_u07_two_subtopologies_of_one_id_are_refused(
    broker: HandlerBroker, size_bytes: int
) -> None:
    config = Request.KeyValue(key="k", value="x" * size_bytes)
    told = topology("c", topic_configs=[config])
    told.subtopologies.append(Request.Subtopology(subtopology_id="0", source_topics=["t"]))
    answer = join(broker, told)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "settings",
    [
        {"group_coordinator_rebalance_protocols": "classic"},
        {"broker_lite_features": f"{STREAMS_VERSION}=0"},
    ],
)
def test_u01_streams_groups_may_be_off(open_broker: OpenBroker, settings: dict[str, str]) -> None:
    broker = open_broker(**settings)
    assert join(broker, topology()).error_code == 35
    (found,) = broker.call("StreamsGroupDescribe", 0, group_ids=["g"]).groups
    assert found.error_code == 35


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (
            topology(source="__consumer_offsets"),
            "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is "
            "prohibited.",
        ),
        (topology("?", "!"), "Topic names ?,! are not valid topic names."),
    ],
)
def test_u02_names_of_topics_are_checked(broker: HandlerBroker, told: Any, text: str) -> None:
    answer = join(broker, told)
    assert (answer.error_code, answer.error_message) == (130, text)


def test_u02_a_text_about_many_names_is_cut(broker: HandlerBroker) -> None:
    """An answer cannot have a text above 32,767 bytes."""
    answer = join(broker, topology(*(f"{each}?" * 100 for each in range(100, 200))))
    assert answer.error_code == 130
    assert answer.error_message.startswith("Topic names 100?100?")
    assert len(answer.error_message) == 8191


def test_u12_the_size_of_a_topology_is_looked_at_before_its_names(broker: HandlerBroker) -> None:
    answer = join(broker, topology(*["?"] * 5000))
    assert answer.error_code == 130
    assert answer.error_message.startswith("The topology has more than 5000 subtopologies")


def test_u24_internal_topics_are_created(broker: HandlerBroker) -> None:
    config = Request.KeyValue(key="cleanup.policy", value="compact")
    answer = join(broker, topology("c", topic_configs=[config]))
    assert [(each.status_code, each.status_detail) for each in answer.status] == [
        (3, "Internal topics are missing: c")
    ]
    topic = broker.cluster.topics["c"]
    assert topic.partition_count == 2
    answer = beat(broker, 2)
    assert (answer.status, answer.active_tasks[0].partitions) == ([], [0, 1])
    described = broker.call(
        "DescribeConfigs",
        4,
        resources=[
            messages.DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=2, resource_name="c", configuration_keys=["cleanup.policy"]
            )
        ],
    )
    assert described.results[0].configs[0].value == "compact"


def test_u24_what_cannot_be_created_is_told(broker: HandlerBroker) -> None:
    wrong = Request.KeyValue(key="retention.ms", value="x")
    names = [f"c{each}" for each in range(4)]
    answer = join(broker, topology(*names, topic_configs=[wrong]))
    (status,) = answer.status
    assert status.status_detail.startswith(
        "Internal topics are missing: c3, c0, c1 and 1 additional topics; Creation failed: c3 ("
    )
    assert status.status_detail.endswith(" and 1 more.")
    assert [*broker.cluster.topics] == ["t", "__consumer_offsets"]


def test_u24_a_client_needs_the_right_to_create_topics(broker: HandlerBroker) -> None:
    rights = [
        acl(Operation.READ, ResourceType.GROUP, "g"),
        *(acl(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in ("t", "c", "d")),
        acl(Operation.CREATE, ResourceType.TOPIC, "d"),
    ]
    apply_acls(broker.context, *rights)
    (status,) = join(broker, topology("c", "d")).status
    assert status.status_detail == (
        "Internal topics are missing: c, d; Unauthorized to CREATE on topics c."
    )
    assert "d" not in broker.cluster.topics
    apply_acls(broker.context, *rights, acl(Operation.CREATE, ResourceType.TOPIC, "c"))
    join(broker, topology("c", "d"))
    assert {"c", "d"} <= broker.cluster.topics.keys()


@pytest.mark.parametrize("asked", [False, True])
def test_u23_groups_are_described(broker: HandlerBroker, asked: bool) -> None:
    join(broker, topology())
    found = broker.call(
        "StreamsGroupDescribe",
        0,
        group_ids=["g", "nope", ""],
        include_authorized_operations=asked,
    ).groups
    assert [each.error_code for each in found] == [0, 69, 24]
    assert found[0].authorized_operations == (GROUP_OPERATIONS if asked else NOT_ASKED)
    assert found[1].error_message == "Group nope not found."
    (listed,) = broker.call("ListGroups", 5, types_filter=["streams"]).groups
    assert (listed.group_id, listed.group_state, listed.protocol_type) == (
        "g",
        "Stable",
        "streams",
    )


def test_u23_version_1_tells_the_assignor_and_that_no_description_is_stored(
    broker: HandlerBroker,
) -> None:
    join(broker, topology())
    for asked, status in (True, 1), (False, 0):
        (found,) = broker.call(
            "StreamsGroupDescribe", 1, group_ids=["g"], include_topology_description=asked
        ).groups
        assert (found.assignor_name, found.topology_description_status) == ("sticky", status)
        assert found.topology_description is None


def test_u23_rights_on_groups_and_their_topics(broker: HandlerBroker) -> None:
    join(broker, topology("c"))
    apply_acls(broker.context, acl(Operation.DESCRIBE, ResourceType.GROUP, "g"))
    found = broker.call("StreamsGroupDescribe", 0, group_ids=["g", "h"]).groups
    assert [(each.group_id, each.error_code) for each in found] == [("h", 30), ("g", 29)]
    assert found[1].error_message == (
        "The described group uses topics that the client is not authorized to describe."
    )


def test_g91_a_group_has_its_own_settings(broker: HandlerBroker) -> None:
    message = messages.IncrementalAlterConfigsRequest
    configs = {
        "streams.heartbeat.interval.ms": "7000",
        "streams.session.timeout.ms": "50000",
        "streams.num.standby.replicas": "1",
    }
    resource = message.AlterConfigsResource(
        resource_type=32,
        resource_name="g",
        configs=[
            message.AlterableConfig(name=name, config_operation=0, value=value)
            for name, value in configs.items()
        ],
    )
    broker.call("IncrementalAlterConfigs", 1, resources=[resource])
    assert join(broker, topology()).heartbeat_interval_ms == 7000
    group = broker.coordinators.groups.coordinator.registry.streams("g")
    assert group is not None
    assert group.last_configs == (("num.standby.replicas", "1"),)
    broker.clock.step(49_000)
    broker.coordinators.groups.on_time()
    assert beat(broker, 2).error_code == 0
    broker.clock.step(50_000)
    broker.coordinators.groups.on_time()
    assert beat(broker, 2).error_code == 25
