"""Topics: what there is of them, new ones, deletion, a wait for partitions and records."""

from typing import Final

import msgspec

from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import USE_DEFAULT, NewTopic
from broker_lite.errors import KafkaStorageError, NotLeaderOrFollower
from broker_lite.handler.large import in_slices
from broker_lite.handler.topics.create_topics import make_logs
from broker_lite.log.files.checkpoints import format_uuid
from broker_lite.log.read import seen_offsets
from broker_lite.server.life import Life
from broker_lite.testbench.alone import ELSEWHERE
from broker_lite.testbench.bounds import Limit, TimeoutMs
from broker_lite.testbench.control.resource import Call, Done, Resource
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.glob import glob
from broker_lite.testbench.turns import Turns

_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_CREATED_MAX: Final = 100_000


class TopicPage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which topics are listed.

    Attributes:
        after: only names behind this one.
        limit: at most so many.
        internal: whether topics of the broker itself are listed, too.
        match: only names like this; * and ? stand for any characters.
    """

    after: str = ""
    limit: Limit = 1000
    internal: bool = False
    match: str = "*"


class TopicSummary(msgspec.Struct, kw_only=True):
    """A topic.

    Attributes:
        name: of it.
        id: as Kafka prints it.
        partitions: how many it has.
        replication_factor: of its first partition.
        internal: whether it is one of Kafka's own.
        configs: those that are not default.
    """

    name: str
    id: str
    partitions: int
    replication_factor: int
    internal: bool
    configs: dict[str, str]


class PartitionOffsets(msgspec.Struct, omit_defaults=True, kw_only=True):
    """How far a partition goes; all numbers but the first two are -1 if its log cannot be read.

    Attributes:
        partition: its number.
        leader: the broker that leads it; -1 for none.
        start: the log start offset.
        end: the log end offset.
        high_watermark: consumers see what is below it.
        last_stable_offset: consumers of committed records see what is below it.
        size_bytes: of all its segments.
        error: why its log cannot be read; left out if it can.
    """

    partition: int
    leader: int
    start: int
    end: int
    high_watermark: int
    last_stable_offset: int
    size_bytes: int
    error: str = ""


class TopicView(TopicSummary, kw_only=True):
    """A topic with the offsets of its partitions."""

    offsets: list[PartitionOffsets]


class TopicWanted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A new topic.

    Attributes:
        name: of it.
        partitions: how many; the broker's default if it is left out.
        replication_factor: of each; the broker's default if it is left out.
        configs: by Kafka's names.
    """

    name: str
    partitions: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    configs: dict[str, str] = {}


class TopicWait(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a topic has to have, at least.

    Attributes:
        partitions: how many.
        partition: the only one that counts for end_offset and records; all if it is left out.
        end_offset: the high watermark of the partition, or of each.
        records: how many offsets consumers can read, of the partition or of all together.
        timeout_ms: how long to wait.
    """

    partitions: int = 1
    partition: int | None = None
    end_offset: int = 0
    records: int = 0
    timeout_ms: TimeoutMs = 30_000


async def list_topics(call: Call) -> list[TopicSummary]:
    """List the topics, in the order of their names."""
    page, topics = call.query, call.bench.life.cluster.topics
    assert isinstance(page, TopicPage)
    is_asked = glob(page.match, "?match")
    names = [
        name
        for name in sorted(topics)
        if name > page.after and (page.internal or not topics[name].is_internal) and is_asked(name)
    ]
    return [_summary(topics[name]) for name in names[: page.limit]]


async def get_topic(call: Call) -> TopicView:
    """Tell the configs of a topic that are not default, and the offsets of its partitions."""
    life = call.bench.life
    topic = find_topic(life, call.path["topic"])
    return await _told(life, topic, range(topic.partition_count))


async def _told(life: Life, topic: Topic, indexes: range) -> TopicView:
    """Return what is told of a topic and some of its partitions; other tasks run in between."""
    offsets, turns = list[PartitionOffsets](), Turns()
    for index in indexes:
        offsets.append(_offsets_of(life, topic, index))
        await turns.next()
    return TopicView(**msgspec.structs.asdict(_summary(topic)), offsets=offsets)


async def create_topic(call: Call) -> TopicView:
    """Create a topic, as CreateTopics does."""
    wanted, life = call.body, call.bench.life
    assert isinstance(wanted, TopicWanted)
    if wanted.partitions > _CREATED_MAX:
        raise ControlError(_BAD_REQUEST, f"at most {_CREATED_MAX} partitions", "partitions")
    new = NewTopic(
        wanted.name, wanted.partitions, wanted.replication_factor, (), (*wanted.configs.items(),)
    )
    new = new._replace(ahead=await in_slices(life.cluster.place_topic_ahead(new)))
    (topic,) = life.cluster.create_topics([life.cluster.plan_topic(new)])
    await make_logs(life.cluster, topic, 0)
    return await get_topic(call._replace(path={"topic": wanted.name}))


async def delete_topic(call: Call) -> Done:
    """Delete a topic with its records, as DeleteTopics does."""
    life = call.bench.life
    life.cluster.delete_topics([find_topic(life, call.path["topic"])])
    return Done()


async def wait_for_topic(call: Call) -> TopicView:
    """Wait until a topic is there, with so many partitions and records."""
    wanted, bench, name = call.body, call.bench, call.path["topic"]
    assert isinstance(wanted, TopicWait)

    async def is_met() -> bool:
        life = bench.life
        topic = find_topic(life, name)
        asked = _asked(topic, wanted.partition)
        if topic.partition_count < wanted.partitions or not asked:
            return False
        records, turns = 0, Turns()
        for index in asked:
            try:
                log = life.cluster.log(name, index)
            except (KafkaStorageError, NotLeaderOrFollower):
                return False
            seen = seen_offsets(log)
            if seen.high_watermark < wanted.end_offset:
                return False
            records += seen.high_watermark - seen.log_start_offset
            await turns.next()
        return records >= wanted.records

    async def tell() -> TopicView:
        topic = find_topic(bench.life, name)
        return await _told(bench.life, topic, _asked(topic, wanted.partition))

    return await bench.waits.until_all(is_met, tell, wanted.timeout_ms, f"topic {name}")


def _asked(topic: Topic, partition: int | None) -> range:
    """Return the partitions that are asked for and there; None asks for all."""
    count = topic.partition_count
    if partition is None:
        return range(count)
    return range(partition, partition + 1) if 0 <= partition < count else range(0)


def find_topic(life: Life, name: str) -> Topic:
    """Return the topic of a name.

    Raises:
        ControlError: 404, there is none.
    """
    topic = life.cluster.topics.get(name)
    if topic is None:
        raise ControlError(_NOT_FOUND, f"there is no topic {name!r}")
    return topic


def _summary(topic: Topic) -> TopicSummary:
    return TopicSummary(
        name=topic.name,
        id=format_uuid(topic.topic_id),
        partitions=topic.partition_count,
        replication_factor=len(topic.partitions[0].replicas),
        internal=topic.is_internal,
        configs=dict(topic.overrides),
    )


def _offsets_of(life: Life, topic: Topic, index: int) -> PartitionOffsets:
    leader = topic.partitions[index].leader
    try:
        log = life.cluster.log(topic.name, index)
    except (KafkaStorageError, NotLeaderOrFollower) as error:
        return PartitionOffsets(
            partition=index,
            leader=leader,
            start=-1,
            end=-1,
            high_watermark=-1,
            last_stable_offset=-1,
            size_bytes=-1,
            error=ELSEWHERE if isinstance(error, NotLeaderOrFollower) else str(error),
        )
    seen = seen_offsets(log)
    return PartitionOffsets(
        partition=index,
        leader=leader,
        start=seen.log_start_offset,
        end=seen.log_end_offset,
        high_watermark=seen.high_watermark,
        last_stable_offset=seen.last_stable_offset,
        size_bytes=log.segments.size_bytes,
    )


RESOURCES = (
    Resource("GET", "/v1/topics", list_topics, answer=list[TopicSummary], query=TopicPage),
    Resource("POST", "/v1/topics", create_topic, answer=TopicView, body=TopicWanted),
    Resource("GET", "/v1/topics/{topic}", get_topic, answer=TopicView),
    Resource("DELETE", "/v1/topics/{topic}", delete_topic),
    Resource("POST", "/v1/topics/{topic}/wait", wait_for_topic, answer=TopicView, body=TopicWait),
)
