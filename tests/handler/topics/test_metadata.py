"""Metadata requests of every version, by name and by id."""

import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler.context import ListenerInfo
from broker_lite.wire import ZERO_UUID, messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.small_disk import files_end_at

VERSIONS = range(14)
ENTRY = messages.MetadataRequest.MetadataRequestTopic


@pytest.mark.parametrize("version", VERSIONS)
def test_p82_p83_every_version_describes_a_topic(broker: HandlerBroker, version: int) -> None:
    topic = broker.cluster.create_topic("t")
    response = broker.call("Metadata", version, topics=[ENTRY(name="t")])
    (node,) = response.brokers
    assert (node.node_id, node.host, node.port) == (1, "127.0.0.1", 9092)
    told = one(response.topics)
    assert (told.error_code, told.name) == (0, "t")
    assert told.topic_id == (topic.topic_id if version >= 10 else ZERO_UUID)
    partition = one(told.partitions)
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1], [1])
    assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert response.controller_id == (1 if version >= 1 else -1)
    assert response.cluster_id == (broker.cluster.cluster_id if version >= 2 else None)


@pytest.mark.parametrize("version", VERSIONS)
def test_p85_an_unknown_topic_is_created_on_demand(broker: HandlerBroker, version: int) -> None:
    told = one(broker.call("Metadata", version, topics=[ENTRY(name="new")]).topics)
    assert (told.error_code, len(told.partitions)) == (0, 1)
    assert list(broker.cluster.topics) == ["new"]
    assert broker.cluster.log("new", 0).log_end_offset == 0


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("wrong", [ENTRY(name=None), ENTRY(name="t", topic_id=b"i" * 16)])
def test_p88_null_names_and_ids_come_too_early(
    broker: HandlerBroker, version: int, wrong: messages.MetadataRequest.MetadataRequestTopic
) -> None:
    broker.cluster.create_topic("known")
    response = broker.call("Metadata", version, topics=[ENTRY(name="known"), wrong])
    assert [topic.error_code for topic in response.topics] == [42, 42]
    assert response.brokers == []


@pytest.mark.parametrize("version", [12, 13])
def test_p88_a_null_name_without_an_id_fails_every_topic(
    broker: HandlerBroker, version: int
) -> None:
    topic = broker.cluster.create_topic("known")
    response = broker.call("Metadata", version, topics=[ENTRY(name="known"), ENTRY(name=None)])
    assert [(topic.error_code, topic.name) for topic in response.topics] == [
        (-1, "known"),
        (-1, ""),
    ]
    by_id = ENTRY(name=None, topic_id=topic.topic_id)
    response = broker.call("Metadata", version, topics=[by_id, ENTRY(name=None)])
    assert [(topic.error_code, topic.name) for topic in response.topics] == [(0, "known")]


def test_p86_two_clients_at_once_get_one_topic(broker: HandlerBroker) -> None:
    first = broker.call("Metadata", 12, topics=[ENTRY(name="t"), ENTRY(name="t")])
    second = broker.call("Metadata", 12, topics=[ENTRY(name="t")])
    assert one(first.topics) == one(second.topics)


@pytest.mark.parametrize(("setting", "flag"), [("false", True), ("true", False)])
def test_p85_both_sides_have_to_want_it(open_broker: OpenBroker, setting: str, flag: bool) -> None:
    broker = open_broker(auto_create_topics_enable=setting)
    response = broker.call("Metadata", 12, topics=[ENTRY(name="t")], allow_auto_topic_creation=flag)
    assert one(response.topics).error_code == 3
    assert broker.cluster.topics == {}


@pytest.mark.parametrize(
    ("answer", "code"), [("UNKNOWN_TOPIC_OR_PARTITION", 3), ("LEADER_NOT_AVAILABLE", 5)]
)
@pytest.mark.parametrize("version", VERSIONS)
def test_p86_the_first_answer_may_be_kafkas(
    open_broker: OpenBroker, answer: str, code: int, version: int
) -> None:
    broker = open_broker(broker_lite_auto_create_answer=answer)
    broker.cluster.create_topic("there")
    asked = [messages.MetadataRequest.MetadataRequestTopic(name=name) for name in ("t", "there")]
    asked.append(messages.MetadataRequest.MetadataRequestTopic(name="a b"))

    def told() -> dict[str, tuple[int, int]]:
        topics = broker.call("Metadata", version, topics=asked).topics
        return {topic.name: (topic.error_code, len(topic.partitions)) for topic in topics}

    assert told() == {"t": (code, 0), "there": (0, 1), "a b": (17, 0)}
    assert told() == {"t": (0, 1), "there": (0, 1), "a b": (17, 0)}


def test_p85_the_brokers_settings_count(open_broker: OpenBroker) -> None:
    broker = open_broker(num_partitions="5")
    assert len(one(broker.call("Metadata", 9, topics=[ENTRY(name="t")]).topics).partitions) == 5


def test_p85_what_cannot_be_created_is_unknown(open_broker: OpenBroker) -> None:
    broker = open_broker(default_replication_factor="3")
    assert one(broker.call("Metadata", 9, topics=[ENTRY(name="t")]).topics).error_code == 3


def test_p85_topics_created_on_demand_are_one_change(broker: HandlerBroker) -> None:
    changes = len([*broker.cluster.metadata_log.replay()])
    entries = [ENTRY(name=name) for name in ("a", "..", "b", "a", "__consumer_offsets", "c")]
    told = broker.call("Metadata", 12, topics=entries).topics
    codes = {"a": 0, "..": 17, "b": 0, "__consumer_offsets": 3, "c": 0}
    assert {each.name: each.error_code for each in told} == codes
    assert len([*broker.cluster.metadata_log.replay()]) == changes + 1


def test_p85_a_disk_that_fails_makes_them_unknown(
    broker: HandlerBroker, caplog: pytest.LogCaptureFixture
) -> None:
    with files_end_at(0):
        assert one(broker.call("Metadata", 12, topics=[ENTRY(name="t")]).topics).error_code == 3
    assert "topics not created on demand: " in caplog.text


def test_p102_the_metadata_log_s_topic_is_not_created_on_demand(broker: HandlerBroker) -> None:
    entries = [ENTRY(name="__cluster_metadata")]
    assert one(broker.call("Metadata", 12, topics=entries).topics).error_code == 3
    assert broker.cluster.topics == {}


def test_p74_internal_topics_are_not_created_on_demand(broker: HandlerBroker) -> None:
    told = one(broker.call("Metadata", 9, topics=[ENTRY(name="__consumer_offsets")]).topics)
    assert (told.error_code, told.is_internal) == (3, True)


def test_p80_all_topics_create_nothing(broker: HandlerBroker) -> None:
    assert broker.call("Metadata", 0, topics=[]).topics == []
    assert broker.call("Metadata", 1, topics=None).topics == []
    broker.cluster.create_topic("t")
    assert len(broker.call("Metadata", 0, topics=[]).topics) == 1
    assert len(broker.call("Metadata", 1, topics=None).topics) == 1
    assert broker.call("Metadata", 1, topics=[]).topics == []


def test_p87_by_id(broker: HandlerBroker) -> None:
    topic = broker.cluster.create_topic("t")
    asked = [
        ENTRY(name=None, topic_id=topic.topic_id),
        ENTRY(name="other", topic_id=topic.topic_id),
        ENTRY(name="dropped"),
        ENTRY(name=None, topic_id=b"x" * 16),
    ]
    found, unknown = broker.call("Metadata", 12, topics=asked).topics
    assert (found.name, found.error_code, len(found.partitions)) == ("t", 0, 1)
    assert (unknown.name, unknown.error_code, unknown.topic_id) == (None, 100, b"x" * 16)
    assert list(broker.cluster.topics) == ["t"]


def test_p75_the_address_is_the_listeners(open_broker: OpenBroker) -> None:
    listener = ListenerInfo("OUTSIDE", advertised_host="broker.example", advertised_port=19092)
    node = one(open_broker(listener, broker_rack="r1").call("Metadata", 9, topics=[]).brokers)
    assert (node.host, node.port, node.rack) == ("broker.example", 19092, "r1")


@pytest.mark.parametrize("version", VERSIONS)
def test_p91_x45_operations_only_when_asked(broker: HandlerBroker, version: int) -> None:
    broker.cluster.create_topic("t")
    fields = {"include_topic_authorized_operations": True} if version >= 8 else {}
    if 8 <= version <= 10:
        fields["include_cluster_authorized_operations"] = True
    told = broker.call("Metadata", version, topics=[ENTRY(name="t")], **fields)
    not_asked = -(1 << 31)
    assert one(told.topics).topic_authorized_operations == (3576 if version >= 8 else not_asked)
    assert told.cluster_authorized_operations == (8096 if 8 <= version <= 10 else not_asked)


def test_many_partitions(broker: HandlerBroker) -> None:
    broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic("t", 300, 1))])
    told = one(broker.call("Metadata", 12, topics=[ENTRY(name="t")]).topics)
    assert [partition.partition_index for partition in told.partitions] == list(range(300))
